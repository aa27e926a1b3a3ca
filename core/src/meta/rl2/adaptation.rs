//! Meta-testing: trials on tasks that training has not seen.

use super::collect::Trials;
use super::config::Rl2Config;
use super::learner::Rl2Net;
use super::policy::TrialPolicy;
use crate::Tensor;
use crate::dist::fold_in;
use crate::env::EnvDef;
use crate::play::Play;
use crate::policy::{Acting, How};
use crate::rng::streams;
use crate::task::TaskSource;

/// How much to play.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrialSpec {
    /// Held-out tasks per seed.
    pub tasks: usize,
    /// Trials on each of them.
    pub rollouts: usize,
    /// Episodes of a trial.
    pub episodes: usize,
    /// The most probable actions instead of draws.
    pub deterministic: bool,
}

/// Trials with `theta: [S, P]` on held-out tasks that `key`, words `[S, 1]`, names, or on those `given`, `[M, D]` for all seeds; and the task of each, `[S, M, D]`: the
/// trials of a task are next to each other.
#[track_caller]
pub fn try_trials(
    net: &Rl2Net,
    config: &Rl2Config,
    env: &EnvDef,
    theta: Tensor,
    key: [Tensor; 2],
    given: Option<Tensor>,
    spec: TrialSpec,
) -> (Trials, Option<Tensor>) {
    let tasks = (!env.spec().task.is_empty()).then(|| {
        let key = fold_in(key, Tensor::constant_u32(streams::HELD_OUT_TASK));
        let tasks = match given {
            Some(tasks) => tasks.unsqueeze(0).broadcast_to(&[theta.size(0), spec.tasks, env.spec().task.len()]),
            None => TaskSource::Fresh.trace(env, key, Tensor::constant_u32(0), spec.tasks),
        };
        let (s, d) = (tasks.size(0), tasks.size(2));
        let repeated = tasks.unsqueeze(2).broadcast_to(&[s, spec.tasks, spec.rollouts, d]);
        repeated.reshape(&[s, spec.tasks * spec.rollouts, d])
    });
    let acting = Acting::of(&net.layout.split(theta));
    let policy = TrialPolicy { net, space: &env.spec().action, carry_over: config.carry_over };
    let (rows, key) =
        ([theta.size(0), spec.tasks * spec.rollouts], fold_in(key, Tensor::constant_u32(streams::HELD_OUT_EPISODES)));
    let how = if spec.deterministic { How::Exploit } else { How::Explore };
    let play = Play { how, ..policy.play(env, &acting, rows, tasks, key) };
    (Trials::from(&play.episodes(spec.episodes, spec.episodes * env.spec().horizon)), tasks)
}
