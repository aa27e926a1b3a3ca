//! Meta-testing: what a meta-trained policy does on tasks that it has not seen, before and after each inner step.

use super::config::MamlConfig;
use super::maml::Learner;
use crate::Tensor;
use crate::dist::fold_in;
use crate::env::EnvDef;
use crate::play::{Keys, Play, Steps, row_keys};
use crate::policy::{Acting, How};
use crate::rng::{stream, streams};
use crate::task::TaskSource;

/// The stream of episodes that only measure.
const MEASURED: u32 = stream("measured");

/// How much to collect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trial {
    /// Held-out tasks per seed.
    pub tasks: usize,
    /// Rollouts per task before each inner step.
    pub rollouts: usize,
    /// Inner steps.
    pub inner_steps: usize,
    /// Rollouts per task that measure a stage, apart from those that it adapts by; 0 for the latter to measure it.
    pub measured: usize,
    /// The most probable actions where a stage is measured; what adapts is always drawn.
    pub deterministic: bool,
    /// Measure the last stage only.
    pub last_only: bool,
}

/// What a trial saw.
#[derive(Clone, Debug)]
pub struct Tried {
    /// Task parameters `[S · M, D]`; none if the environment has a single task.
    pub tasks: Option<Tensor>,
    /// Episodes before each inner step, and after the last; or after the last only.
    pub stages: Vec<Steps>,
}

/// Adapt `theta: [S, P]` to held-out tasks that `key`, words `[S, 1]`, names, or to those `given`, `[S · M, D]`.
#[track_caller]
pub fn try_adapting(
    learner: &Learner,
    config: &MamlConfig,
    env: &EnvDef,
    theta: Tensor,
    key: [Tensor; 2],
    given: Option<Tensor>,
    trial: Trial,
) -> Tried {
    let (seeds, m) = (theta.size(0), trial.tasks);
    let width = env.spec().task.len();
    let drawn = || {
        let key = fold_in(key, Tensor::constant_u32(streams::HELD_OUT_TASK));
        TaskSource::Fresh.trace(env, key, Tensor::constant_u32(0), m).reshape(&[seeds * m, width])
    };
    let tasks = (width > 0).then(|| given.unwrap_or_else(drawn));
    let key = fold_in(key, Tensor::constant_u32(streams::HELD_OUT_EPISODES));
    let (mut parts, step_sizes) = learner.start(theta, m);
    let mut stages = Vec::with_capacity(trial.inner_steps + 1);
    for k in 0..=trial.inner_steps {
        let last = k == trial.inner_steps;
        let acting = Acting::of(&parts);
        let keys = row_keys(fold_in(key, Tensor::constant_u32(k as u32)), m);
        let exploring = Play {
            env,
            policy: &learner.policy,
            acting: &acting,
            how: How::Explore,
            rows: [seeds * m, trial.rollouts],
            tasks,
            keys: Keys::of(keys),
        };
        let steps = config.steps(env.spec().horizon);
        let explored = exploring.episodes(1, steps).steps;
        let paths = explored.paths();
        if last || !trial.last_only {
            stages.push(match trial.measured {
                0 => explored,
                rollouts => {
                    let keys = Keys::of(fold_in(keys, Tensor::constant_u32(MEASURED)));
                    let how = if trial.deterministic { How::Exploit } else { How::Explore };
                    Play { how, keys, rows: [seeds * m, rollouts], ..exploring }.episodes(1, steps).steps
                }
            });
        }
        if !last {
            let phase = learner.phase(config, &parts, &paths, seeds);
            parts = learner.adapt(&parts, &phase, &step_sizes);
        }
    }
    Tried { tasks, stages }
}
