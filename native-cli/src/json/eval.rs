//! Lines of `eval --json`.

use super::finite;
use crate::statistics;
use quickstudy_core::train::Episode;
use serde::Serialize;

/// A line of `eval --json`.
#[derive(Debug, Serialize, schemars::JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum EvalLine {
    /// The first line: what is done with each policy.
    Evaluation {
        /// Version of these lines: 1
        version: u32,
        /// Episodes of each policy
        episodes: usize,
        /// Seed of the first states
        seed: u64,
        /// Where episodes are played
        device: String,
    },
    /// A policy and its episodes; of several particles, each has a line.
    Policy {
        /// The policy
        #[serde(flatten)]
        policy: Trained,
        /// Number of the particle that was chosen, from 0
        particle: Option<usize>,
        /// True if actions were drawn, false if deterministic ones were taken
        sampled: bool,
        /// Its episodes
        #[serde(flatten)]
        played: Played,
    },
    /// All policies of one environment and algorithm, where there are several; statistics are over their means.
    Summary {
        /// Environment
        environment: String,
        /// Algorithm
        algorithm: String,
        /// `runs` or `particles`
        over: String,
        /// The number of them
        count: usize,
        /// Their episodes, added up
        episodes: usize,
        /// Mean of the means
        mean: Option<f64>,
        /// Standard error of that mean; none of a single one
        stderr: Option<f64>,
        /// Lowest mean
        lowest: Option<f64>,
        /// Highest mean
        highest: Option<f64>,
        /// Interquartile mean of the means
        iqm: Option<f64>,
    },
}

/// A policy that was trained.
#[derive(Debug, Serialize, schemars::JsonSchema)]
pub(crate) struct Trained {
    /// Snapshot file
    pub path: String,
    /// Environment
    pub environment: String,
    /// Algorithm that trained it
    pub algorithm: String,
    /// Seed of its training
    pub seed: u64,
    /// Environment steps of its training
    pub steps: u64,
}

/// Episodes of a policy, in numbers.
#[derive(Debug, Serialize, schemars::JsonSchema)]
pub(crate) struct Played {
    /// Episodes played
    pub episodes: usize,
    /// Mean return
    pub return_mean: Option<f64>,
    /// Standard error of the mean return; none of a single episode
    pub return_stderr: Option<f64>,
    /// Lowest return
    pub return_lowest: Option<f64>,
    /// Median return
    pub return_median: Option<f64>,
    /// Highest return
    pub return_highest: Option<f64>,
    /// Mean length in steps
    pub length_mean: Option<f64>,
    /// Episodes that ended by themselves, the others by the time limit
    pub terminated: usize,
}

impl Played {
    /// The numbers of these episodes.
    pub(crate) fn of(episodes: &[Episode]) -> Self {
        let mut returns: Vec<f64> = episodes.iter().map(|episode| episode.ret).collect();
        let lengths: Vec<f64> = episodes.iter().map(|episode| f64::from(episode.length)).collect();
        let (mean, error) = (statistics::mean(&returns), statistics::standard_error(&returns));
        returns.sort_by(f64::total_cmp);
        Self {
            episodes: episodes.len(),
            return_mean: finite(mean),
            return_stderr: error.and_then(finite),
            return_lowest: returns.first().copied().and_then(finite),
            return_median: finite(statistics::median(&returns)),
            return_highest: returns.last().copied().and_then(finite),
            length_mean: finite(statistics::mean(&lengths)),
            terminated: episodes.iter().filter(|episode| episode.terminated).count(),
        }
    }
}
