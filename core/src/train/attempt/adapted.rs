//! Results of meta-tests: the performance of policies on held-out tasks, before and after adaptation to each.

use crate::Result;
use crate::backend::copied;
use crate::env::EnvDef;
use crate::meta::{EpisodeOutcome, Performance};

/// The sizes of a test on held-out tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MetaTest {
    /// The number of held-out tasks.
    pub tasks: usize,
    /// Rollouts per task and gradient step, or trials per task; none for the number of training.
    pub rollouts: Option<usize>,
    /// Gradient steps of policies that adapt by these; none for the number of training.
    pub inner_steps: Option<usize>,
    /// Episodes of a trial, of policies that adapt by their memory or by inference; none for the number of training.
    pub episodes: Option<usize>,
    /// The seed that names the tasks.
    pub seed: u64,
    /// True to measure the deterministic actions. Gradient steps always learn from drawn actions.
    pub deterministic: bool,
}

impl Default for MetaTest {
    fn default() -> Self {
        MetaTest { tasks: 40, rollouts: None, inner_steps: None, episodes: None, seed: 0, deterministic: true }
    }
}

/// The course of a policy's adaptation to held-out tasks.
#[derive(Clone, Debug, PartialEq)]
pub struct Adaptation {
    /// The parameters of each task; empty if the environment has a single task.
    pub tasks: Vec<Vec<f32>>,
    /// The unit by which stages follow each other.
    pub unit: StageUnit,
    /// The number of episodes that are played one after the other on a task: those of a trial, or 1.
    pub episodes: usize,
    /// The number of steps after which an episode ends.
    pub horizon: usize,
    /// The stages in order: before adaptation and after each step of it, or episode by episode.
    pub stages: Vec<AdaptationStage>,
}

/// The unit by which a policy adapts from one stage to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StageUnit {
    /// Gradient steps; the first stage comes before them.
    GradientSteps,
    /// Episodes of a trial, in the first of which a policy already learns, or after each of which it infers.
    Episodes,
    /// Stretches of this number of steps, of a trial's only episode.
    Steps(usize),
}

/// The episodes of a policy at one stage of adaptation.
#[derive(Clone, Debug, PartialEq)]
pub struct AdaptationStage {
    /// The return of each rollout, by task.
    pub returns: Vec<Vec<f64>>,
    /// Each task's first rollout, from its beginning to its end.
    pub paths: Vec<Vec<PathStep>>,
    /// Outcomes of the episodes that ended in this stage, over all tasks and rollouts.
    pub outcomes: Vec<EpisodeOutcome>,
}

/// A step of an episode.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PathStep {
    /// The environment's state before the step; in environments of the host, the observation that the policy saw.
    pub state: Vec<f32>,
    /// The action that the environment got.
    pub action: Vec<f32>,
    /// The reward.
    pub reward: f64,
}

impl PathStep {
    /// The step in row `row` of all states and actions.
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
    /// The performance in the episodes that ended in this stage, over all tasks; `iteration` is the number of the
    /// evaluation.
    pub fn performance(&self, iteration: u64) -> Performance {
        Performance::of(iteration, &self.outcomes)
    }

    /// The mean return of each task.
    pub fn task_means(&self) -> Vec<f64> {
        self.returns.iter().map(|r| r.iter().sum::<f64>() / r.len().max(1) as f64).collect()
    }
}
