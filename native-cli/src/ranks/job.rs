//! A training that is run as a process, by this rank or another one.

use crate::outcome::Stop;
use serde::{Deserialize, Serialize};
use std::ffi::OsString;

/// A training of some seeds.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Job {
    /// Its name in tables: `cartpole · ppo`.
    pub name: String,
    /// The algorithm.
    pub algorithm: String,
    /// The environment.
    pub environment: String,
    /// The number of runs that it trains.
    pub runs: usize,
    /// Environment steps that each of them is to make in all.
    pub steps: u64,
    /// True if it stops by itself before its runs have made all steps, and goes on later.
    pub pauses: bool,
    /// Arguments of the command line, from the verb on.
    pub arguments: Vec<OsString>,
}

/// How a job ended.
#[derive(Debug)]
pub(crate) enum JobEnd {
    /// Its runs have made all their steps.
    Finished,
    /// It was stopped before, with snapshots, or was not begun.
    Stopped,
    /// It failed.
    Failed(Stop),
}
