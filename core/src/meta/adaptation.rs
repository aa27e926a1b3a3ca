//! Meta-testing in programs: a policy plays tasks that training did not see, before and after it adapts to them.

use crate::Tensor;
use crate::algo::{Held, Learned};
use crate::dist::fold_in;
use crate::env::EnvDef;
use crate::play::{Amount, Keys, Play, Steps, row_keys};
use crate::policy::{Acting, How};
use crate::rng::{stream, streams};
use crate::task::TaskSource;

/// The stream of random numbers for episodes that only measure.
pub(super) const MEASURED: u32 = stream("measured");

/// The size of a meta-test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trial {
    /// Held-out tasks per seed.
    pub tasks: usize,
    /// Rollouts on each task, before each adaptation and after the last one.
    pub rollouts: usize,
    /// The number of adaptations.
    pub rounds: usize,
    /// Episodes of a rollout, one after the other. The policy's memory lasts through them.
    pub episodes: usize,
    /// Further rollouts per task that measure a stage; 0: it is measured by the rollouts that the policy adapts by.
    pub measured: usize,
    /// Measures a stage by the deterministic actions. Rollouts that the policy adapts by always draw actions.
    pub deterministic: bool,
    /// Measures the last stage only.
    pub last_only: bool,
}

/// The outcome of a meta-test.
#[derive(Clone, Debug)]
pub struct Tried {
    /// Task parameters `[S, M, D]`; none if the environment has a single task.
    pub tasks: Option<Tensor>,
    /// Rollouts before each adaptation and after the last one, or only those after the last. Rows
    /// are in order of seed, task and rollout.
    pub stages: Vec<Steps>,
    /// The values by which the policy acted in each stage, the last one included.
    pub acting: Vec<Acting>,
}

/// Plays held-out tasks and adapts to them, by turns. `key`, words `[S, 1]`, names the tasks, unless
/// they are `given`, `[M, D]` for all seeds.
#[track_caller]
pub fn try_adapting(
    learned: &dyn Learned,
    env: &EnvDef,
    held: &Held,
    key: [Tensor; 2],
    given: Option<Tensor>,
    trial: Trial,
) -> Tried {
    try_in_rounds(learned, env, held, key, given, (trial, &|_| trial.rollouts))
}

/// [`try_adapting`] with as many rollouts on each task in a round as `rollouts_of` gives for the round's number; the
/// round after the last adaptation is one more.
#[track_caller]
pub(super) fn try_in_rounds(
    learned: &dyn Learned,
    env: &EnvDef,
    held: &Held,
    key: [Tensor; 2],
    given: Option<Tensor>,
    (trial, rollouts_of): (Trial, &dyn Fn(usize) -> usize),
) -> Tried {
    let (course, policy) = (learned.course(), learned.policy());
    let (seeds, m, width) = (key[0].size(0), trial.tasks, env.spec().task.len());
    let tasks = held_out(env, key, given, m);
    // The tasks of all environments: `[K, D]` if a group has a single task, else `[K, N, D]`.
    let of_rows = |rollouts: usize| {
        tasks.map(|tasks| match course.per_task() {
            true => tasks.reshape(&[seeds * m, width]),
            false => repeated(tasks, rollouts),
        })
    };
    let key = fold_in(key, Tensor::constant_u32(streams::HELD_OUT_EPISODES));
    let key_of = |round: usize| match course.per_task() {
        true => row_keys(fold_in(key, Tensor::constant_u32(round as u32)), m),
        false => key,
    };
    let mut acting = learned.start(held, m);
    let (mut stages, mut all) = (Vec::with_capacity(trial.rounds + 1), Vec::with_capacity(trial.rounds + 1));
    for round in 0..=trial.rounds {
        let (last, key) = (round == trial.rounds, key_of(round));
        let play = |key, rollouts: usize, how| {
            let rows = if course.per_task() { [seeds * m, rollouts] } else { [seeds, m * rollouts] };
            let (tasks, keys) = (of_rows(rollouts), Keys::of(key));
            let play = Play { env, policy: &*policy, acting: &acting, how, rows, tasks, keys };
            play.episodes(Amount::Episodes(trial.episodes), trial.episodes * course.steps).steps
        };
        let measuring = if trial.deterministic { How::Exploit } else { How::Explore };
        // A policy without rounds adapts by its memory, in the very episodes that measure it.
        let explored = play(key, rollouts_of(round), if trial.rounds == 0 { measuring } else { How::Explore });
        let paths = explored.paths();
        if last || !trial.last_only {
            stages.push(match trial.measured {
                0 => explored,
                rollouts => play(fold_in(key, Tensor::constant_u32(MEASURED)), rollouts, measuring),
            });
        }
        all.push(acting.clone());
        if !last {
            acting = learned.adapt(held, &acting, &paths);
        }
    }
    Tried { tasks, stages, acting: all }
}

/// Parameters `[S, M, D]` of held-out tasks: those `given`, `[M, D]`, or else drawn by `key`;
/// none if the environment has a single task.
pub(super) fn held_out(env: &EnvDef, key: [Tensor; 2], given: Option<Tensor>, m: usize) -> Option<Tensor> {
    let (seeds, width) = (key[0].size(0), env.spec().task.len());
    (width > 0).then(|| match given {
        Some(tasks) => tasks.unsqueeze(0).broadcast_to(&[seeds, m, width]),
        None => {
            let key = fold_in(key, Tensor::constant_u32(streams::HELD_OUT_TASK));
            TaskSource::Fresh.trace(env, key, Tensor::constant_u32(0), m)
        }
    })
}

/// Repeats each of the rows `[S, M, ·]` `times` times in a row: `[S, M · times, ·]`.
pub(super) fn repeated(rows: Tensor, times: usize) -> Tensor {
    let (seeds, m, width) = (rows.size(0), rows.size(1), rows.size(2));
    rows.unsqueeze(2).broadcast_to(&[seeds, m, times, width]).reshape(&[seeds, m * times, width])
}
