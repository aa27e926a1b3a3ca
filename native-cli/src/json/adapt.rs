//! Lines of `adapt --json`.

use super::eval::Trained;
use super::{ends, finite};
use crate::statistics;
use serde::Serialize;

/// A line of `adapt --json`.
#[derive(Debug, Serialize, schemars::JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum AdaptLine {
    /// The first line: the policy, and the tasks that it adapts to.
    Adaptation {
        /// Version of these lines: 1
        version: u32,
        /// The policy
        #[serde(flatten)]
        policy: Adapted,
        /// The unit that stages follow each other by: `gradient_steps`, `episodes`, or `steps` of a single episode
        unit: String,
        /// Rollouts of each task in each stage
        rollouts: usize,
    },
    /// The first line of a meta-test, with its sizes instead of stages.
    MetaTest {
        /// Version of these lines: 1
        version: u32,
        /// The policy
        #[serde(flatten)]
        policy: Adapted,
        /// Episodes of exploration on each task, in all
        exploration_episodes: usize,
        /// Episodes of the adapted policy on each task, which are measured
        test_episodes: usize,
    },
    /// The returns of one stage of adaptation, over the means of the tasks.
    Stage {
        /// Number of the stage, from 0
        stage: usize,
        /// Its name in tables: `before`, `step 1`, `episode 1`, `to step 10`
        name: String,
        /// The returns
        #[serde(flatten)]
        returns: Returns,
        /// Mean return of the worst task
        worst_task: Option<f64>,
        /// Share of episodes with a success, where the environment tells it
        success_rate: Option<f64>,
        /// Share of episodes that end with one
        success_at_end_rate: Option<f64>,
    },
    /// The returns of one class of tasks in a stage, where tasks have classes.
    Class {
        /// Number of the stage, from 0
        stage: usize,
        /// Name of the class
        class: String,
        /// Mean return
        return_mean: Option<f64>,
        /// Share of episodes with a success
        success_rate: Option<f64>,
        /// Share of episodes that end with one
        success_at_end_rate: Option<f64>,
    },
    /// The returns of whole trials, of policies that adapt by memory or inference.
    Trial {
        /// The returns
        #[serde(flatten)]
        returns: Returns,
    },
    /// A policy that needs no training, on the same tasks.
    Control {
        /// Its effect
        name: String,
        /// The returns
        #[serde(flatten)]
        returns: Returns,
    },
    /// A measure of a meta-test.
    Measure {
        /// Its name, as in metrics: `MetaTest/Average/AverageReturn`
        name: String,
        /// Its value
        value: Option<f64>,
    },
    /// The last line.
    Result {
        /// Mean return before adaptation, or in the first stage; none of a meta-test
        before: Option<f64>,
        /// Mean return after it, or in the last stage
        after: Option<f64>,
        /// Tasks
        tasks: usize,
    },
}

/// A policy that adapts, and its tasks.
#[derive(Debug, Serialize, schemars::JsonSchema)]
pub(crate) struct Adapted {
    /// The policy
    #[serde(flatten)]
    pub policy: Trained,
    /// True if measured actions were drawn, false if deterministic ones were taken
    pub sampled: bool,
    /// Held-out tasks
    pub tasks: usize,
    /// Seed of the tasks
    pub task_seed: u64,
    /// Where episodes are played
    pub device: String,
}

/// A mean return over tasks, with its interval.
#[derive(Debug, Serialize, schemars::JsonSchema)]
pub(crate) struct Returns {
    /// Mean return over the tasks
    pub return_mean: Option<f64>,
    /// Lower end of its 95 % bootstrap interval; none of a single task
    pub low: Option<f64>,
    /// Upper end
    pub high: Option<f64>,
}

impl Returns {
    /// The mean of these returns, one of each task.
    pub(crate) fn of(means: &[f64]) -> Self {
        let [low, high] = ends(statistics::bootstrap95(means, statistics::mean));
        Self { return_mean: finite(statistics::mean(means)), low, high }
    }
}
