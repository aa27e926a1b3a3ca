//! Lines of `sweep --json`.

use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// A line of `sweep --json`.
#[derive(Debug, Serialize, schemars::JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum SweepLine {
    /// The first line: what is swept.
    Sweep {
        /// Version of these lines: 1
        version: u32,
        /// Algorithm
        algorithm: String,
        /// Environment
        environment: String,
        /// Number of trials
        trials: usize,
        /// Folder of their folders
        folder: String,
        /// Metric of which a trial's score is the value at its budget
        metric: String,
    },
    /// A trial, the best one first; in order of their names where nothing is trained.
    Trial {
        /// Name: `t07`
        trial: String,
        /// Settings that were tried, by their keys
        settings: BTreeMap<String, Value>,
        /// Environment steps after which the score is taken: the most that all trials of its rung reached
        budget: Option<f64>,
        /// Mean score over seeds; none without a score of each seed
        score: Option<f64>,
        /// Lower end of the score's 95 % bootstrap interval; none of a single seed
        low: Option<f64>,
        /// Upper end
        high: Option<f64>,
        /// Score of each seed
        scores: Vec<f64>,
        /// Environment steps that each seed has made
        steps: u64,
        /// Message of its failure, such as a value that became infinite
        failed: Option<String>,
        /// Run folder of each seed
        folders: Vec<String>,
    },
}
