//! Lines that `train --json` prints: an object of JSON each, whose `type` says what it is. `docs/json.md` describes
//! them.

use crate::output;
use serde::{Deserialize, Serialize};

/// The version of the lines: a change of what is there raises it, and more keys do not.
pub const VERSION: u32 = 1;

/// A line. A number that is not there, as a mean of no episodes, is `null`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum TrainLine {
    /// Training begins, or goes on.
    Training {
        /// [`VERSION`].
        version: u32,
        /// The algorithm.
        algorithm: String,
        /// The environment.
        environment: String,
        /// The seeds, which are trained together.
        seeds: Vec<u64>,
        /// Environment steps that each seed is to make in all.
        steps: u64,
        /// The device that computes.
        device: String,
        /// The run folder of each seed.
        folders: Vec<String>,
    },
    /// The runs have come so far.
    Progress {
        /// The algorithm, where several train in one command.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        algorithm: Option<String>,
        /// The environment, where several train in one command.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        environment: Option<String>,
        /// Environment steps made, of one seed in the mean.
        steps: u64,
        /// Environment steps that a seed is to make in all.
        total: u64,
        /// Mean return of recent training episodes over seeds.
        #[serde(rename = "return")]
        episode_return: Option<f64>,
        /// Mean return of the last evaluations over seeds.
        evaluation: Option<f64>,
        /// Environment steps of all seeds per second, lately.
        steps_per_second: Option<f64>,
    },
    /// A run has ended, and is saved.
    Trained {
        /// Its folder.
        folder: String,
        /// Its seed.
        seed: u64,
        /// Environment steps that it has made.
        steps: u64,
        /// True if it has made all its steps, false if it was stopped before.
        finished: bool,
        /// Mean return of its recent training episodes.
        #[serde(rename = "return")]
        episode_return: Option<f64>,
        /// Mean return of its last evaluation.
        evaluation: Option<f64>,
        /// Mean return of its best evaluation.
        best: Option<f64>,
    },
}

impl TrainLine {
    /// Reads a line; none if it is no such line.
    #[must_use]
    pub fn parse(line: &str) -> Option<Self> {
        serde_json::from_str(line).ok()
    }

    /// Prints the line, if lines are asked for.
    pub fn print(&self) {
        if output::is_json()
            && let Ok(text) = serde_json::to_string(self)
        {
            output::say_line(&text);
        }
    }
}

/// A number for JSON, which has no NaN and no infinities.
#[must_use]
pub fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

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
            r#"{"type":"progress","steps":10,"total":20,"return":null,"evaluation":1.5,"steps_per_second":null}"#
        );
        assert_eq!(TrainLine::parse(&text), Some(progress));
        assert_eq!(TrainLine::parse("note: something else"), None);
    }
}
