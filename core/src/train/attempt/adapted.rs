//! Results of meta-tests: what policies do on held-out tasks, before and after they have adapted to each.

use crate::Result;
use crate::backend::copied;
use crate::env::EnvDef;
use crate::meta::{EpisodeOutcome, Performance};

/// Sizes of a test on held-out tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MetaTest {
    /// Held-out tasks.
    pub tasks: usize,
    /// Rollouts per task and gradient step, or trials per task; none: as many as in training.
    pub rollouts: Option<usize>,
    /// Gradient steps of policies that adapt by these; none: as many as in training.
    pub inner_steps: Option<usize>,
    /// Episodes of a trial, of policies that adapt by their memory or by inference; none: as many as in training.
    pub episodes: Option<usize>,
    /// Names the tasks.
    pub seed: u64,
    /// Measure the most probable actions; what gradient steps learn from is always drawn.
    pub deterministic: bool,
}

impl Default for MetaTest {
    fn default() -> Self {
        MetaTest { tasks: 40, rollouts: None, inner_steps: None, episodes: None, seed: 0, deterministic: true }
    }
}

/// How a policy adapted to held-out tasks.
#[derive(Clone, Debug, PartialEq)]
pub struct Adaptation {
    /// Parameters of each task; empty ones if the environment has a single task.
    pub tasks: Vec<Vec<f32>>,
    /// The unit by which one stage follows another.
    pub unit: StageUnit,
    /// Episodes that are played one after the other on a task: 1, or as many as a trial has.
    pub episodes: usize,
    /// Steps after which an episode ends.
    pub horizon: usize,
    /// In order: before adaptation and after each step of it, or episode by episode.
    pub stages: Vec<AdaptationStage>,
}

/// The unit by which a policy adapts from one stage to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StageUnit {
    /// Gradient steps; the first stage is before them.
    GradientSteps,
    /// Episodes of a trial: it learns in the first one already, or infers after each.
    Episodes,
    /// Stretches of as many steps of the only episode of a trial.
    Steps(usize),
}

/// The episodes of a policy at one stage of adaptation.
#[derive(Clone, Debug, PartialEq)]
pub struct AdaptationStage {
    /// Return of each rollout, by task.
    pub returns: Vec<Vec<f64>>,
    /// Each task's first rollout, from its beginning to its end.
    pub paths: Vec<Vec<PathStep>>,
    /// Outcomes of the episodes that ended in this stage, all tasks and rollouts together.
    pub outcomes: Vec<EpisodeOutcome>,
}

/// A step of an episode.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PathStep {
    /// The environment's state in which it was made; of environments of the host, what the policy saw there.
    pub state: Vec<f32>,
    /// The action that the environment got.
    pub action: Vec<f32>,
    /// The reward.
    pub reward: f64,
}

impl PathStep {
    /// The step in that row of all states and actions.
    pub(in crate::train) fn of(
        env: &EnvDef,
        [states, actions]: [&[f32]; 2],
        row: usize,
        reward: f64,
    ) -> Result<PathStep> {
        let part = |of: &[f32], width: usize| copied(&of[row * width..][..width]);
        Ok(PathStep { state: part(states, env.state_len())?, action: part(actions, env.spec().action.dim())?, reward })
    }
}

impl AdaptationStage {
    /// How well the episodes went that ended in this stage, all tasks together; `iteration` is the number of the evaluation.
    pub fn performance(&self, iteration: u64) -> Performance {
        Performance::of(iteration, &self.outcomes)
    }

    /// Mean return of each task.
    pub fn task_means(&self) -> Vec<f64> {
        self.returns.iter().map(|r| r.iter().sum::<f64>() / r.len().max(1) as f64).collect()
    }
}
