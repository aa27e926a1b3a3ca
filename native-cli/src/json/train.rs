//! Lines of `train --json`.

use serde::{Deserialize, Serialize};

/// A line of `train --json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum TrainLine {
    /// The first line.
    Train {
        /// Version of these lines: 1
        version: u32,
        /// Version of quickstudy
        quickstudy: String,
    },
    /// Runs begin, or go on: those of an algorithm on an environment.
    Training {
        /// Algorithm
        algorithm: String,
        /// Environment
        environment: String,
        /// Seeds, which are trained together
        seeds: Vec<u64>,
        /// Environment steps that each seed is to make in all
        steps: u64,
        /// Device that computes
        device: String,
        /// Run folder of each seed
        folders: Vec<String>,
    },
    /// How far the runs have come, some times a second at most.
    Progress {
        /// Algorithm; none where a command trains a single one
        algorithm: Option<String>,
        /// Environment; none where a command trains on a single one
        environment: Option<String>,
        /// Environment steps made, of one seed in the mean
        steps: u64,
        /// Environment steps that a seed is to make in all
        total: u64,
        /// Mean return of recent training episodes over seeds
        #[serde(rename = "return")]
        episode_return: Option<f64>,
        /// Mean return of the last evaluations over seeds
        evaluation: Option<f64>,
        /// Environment steps of all seeds per second, lately
        steps_per_second: Option<f64>,
    },
    /// A run that has ended, and is saved.
    Trained {
        /// Run folder
        folder: String,
        /// Seed
        seed: u64,
        /// Environment steps made
        steps: u64,
        /// True if all steps are made, false if the run was stopped before
        finished: bool,
        /// Mean return of recent training episodes
        #[serde(rename = "return")]
        episode_return: Option<f64>,
        /// Mean return of the last evaluation
        evaluation: Option<f64>,
        /// Mean return of the best evaluation
        best: Option<f64>,
    },
}

impl TrainLine {
    /// Reads a line; none if it is no such line.
    pub fn parse(line: &str) -> Option<Self> {
        serde_json::from_str(line).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::finite;

    #[test]
    fn lines_are_read_as_they_were_written() {
        let progress = TrainLine::Progress {
            algorithm: None,
            environment: None,
            steps: 10,
            total: 20,
            episode_return: finite(f64::NAN),
            evaluation: finite(1.5),
            steps_per_second: finite(f64::INFINITY),
        };
        let text = serde_json::to_string(&progress).unwrap();
        assert_eq!(
            text,
            concat!(
                r#"{"type":"progress","algorithm":null,"environment":null,"steps":10,"total":20,"#,
                r#""return":null,"evaluation":1.5,"steps_per_second":null}"#
            )
        );
        assert_eq!(TrainLine::parse(&text), Some(progress));
        assert_eq!(TrainLine::parse("note: something else"), None);
    }
}
