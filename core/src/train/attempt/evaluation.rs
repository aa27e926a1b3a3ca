//! Evaluations: requests for episodes, and the episodes that they play.

use crate::meta::{EpisodeOutcome, TestSizes};
use crate::play::BROKEN;
use crate::rng::{self, Key, key_from_seed, streams};
use crate::{Error, Result};

/// An episode of an evaluation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Episode {
    /// The sum of rewards.
    pub ret: f64,
    /// The number of steps.
    pub length: u32,
    /// True if the episode ended in a final state instead of by the time limit.
    pub terminated: bool,
    /// The outcome of the episode after adaptation, if the policy adapts and is played by a program. It is the last
    /// episode of a trial, measured as by [`MetaEvaluator`](crate::meta::MetaEvaluator).
    pub adapted: Option<EpisodeOutcome>,
}

/// The episodes that an evaluation plays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Evaluation {
    /// A number of episodes. A policy that adapts plays one episode or trial on each of this number of tasks, after
    /// adaptation as in training.
    Episodes(usize),
    /// The test episodes of a meta-test, task by task, in the sizes given.
    MetaTest(TestSizes),
}

impl From<usize> for Evaluation {
    fn from(episodes: usize) -> Self {
        Evaluation::Episodes(episodes)
    }
}

impl From<TestSizes> for Evaluation {
    fn from(sizes: TestSizes) -> Self {
        Evaluation::MetaTest(sizes)
    }
}

impl Evaluation {
    /// The number of episodes that are measured.
    #[must_use]
    pub fn episodes(self) -> usize {
        match self {
            Evaluation::Episodes(episodes) => episodes,
            Evaluation::MetaTest(sizes) => sizes.episodes(),
        }
    }

    /// The sizes of the evaluation's program for `seeds` stacked policies.
    pub(in crate::train) fn of(self, seeds: usize, deterministic: bool) -> Episodes {
        let sizes = match self {
            Evaluation::Episodes(_) => None,
            Evaluation::MetaTest(sizes) => Some(sizes),
        };
        Episodes { seeds, episodes: self.episodes(), deterministic, record: false, sizes }
    }
}

/// The most episodes of an evaluation.
pub const MAX_EPISODES: usize = 1 << 20;

/// The sizes of a program that plays episodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::train) struct Episodes {
    /// S, the number of stacked policies.
    pub seeds: usize,
    /// E, the number of episodes of each policy.
    pub episodes: usize,
    /// True for the deterministic actions, false for drawn ones.
    pub deterministic: bool,
    /// True if every step is kept.
    pub record: bool,
    /// The sizes of the meta-test to which the test episodes belong, if they belong to one.
    pub sizes: Option<TestSizes>,
}

/// Fails at the first row in which an output was [lost](crate::play::Steps::lost), or whose return is not finite.
pub(in crate::train) fn expect_finite(lost: &[f64], returns: &[f64], place: impl Fn(usize) -> String) -> Result<()> {
    for (row, (code, ret)) in lost.iter().zip(returns).enumerate() {
        let problem = match (*code, ret.is_finite()) {
            (0.0, true) => continue,
            (0.0, false) => "the return is not finite; look at the environment's rewards",
            (2.0, _) => BROKEN,
            _ => "the environment shows NaN or infinite observations; try `check_env` on it",
        };
        return Err(Error::NonFinite(format!("{}: {problem}", place(row))));
    }
    Ok(())
}

/// The error about a meta-test of a policy that does not adapt.
pub(in crate::train) fn no_meta_test() -> Error {
    let problem = "the algorithm does not adapt to tasks, so that there is no meta-test; leave it out";
    Error::config("n_test_tasks", problem)
}

pub(in crate::train) fn bad_count(episodes: usize) -> Error {
    Error::config("episodes", format!("{episodes} is not in 1 to {MAX_EPISODES}"))
}

/// The key of the random numbers of evaluations, which training never draws.
pub(in crate::train) fn eval_key(seed: u64) -> Key {
    rng::fold_in(key_from_seed(seed), streams::EVAL)
}
