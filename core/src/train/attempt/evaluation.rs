//! Episodes that evaluations play, and how they are asked for.

use crate::meta::{EpisodeOutcome, TestSizes};
use crate::play::BROKEN;
use crate::rng::{self, Key, key_from_seed, streams};
use crate::{Error, Result};

/// One evaluation episode.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Episode {
    /// Sum of rewards.
    pub ret: f64,
    /// Steps.
    pub length: u32,
    /// True if it ended by itself and not by the time limit.
    pub terminated: bool,
    /// The episode after adaptation, of policies that adapt, in programs: the last one of a trial, as
    /// [`MetaEvaluator`](crate::meta::MetaEvaluator) measures it.
    pub adapted: Option<EpisodeOutcome>,
}

/// The episodes that an evaluation plays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Evaluation {
    /// A number of episodes; of policies that adapt, a number of tasks, each with one episode or trial after adaptation
    /// as in training.
    Episodes(usize),
    /// The test episodes of a meta-test, task by task, in its own sizes.
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
    /// How many episodes are measured.
    #[must_use]
    pub fn episodes(self) -> usize {
        match self {
            Evaluation::Episodes(episodes) => episodes,
            Evaluation::MetaTest(sizes) => sizes.episodes(),
        }
    }

    /// Its program's sizes for so many stacked policies.
    pub(in crate::train) fn of(self, seeds: usize, deterministic: bool) -> Episodes {
        let sizes = match self {
            Evaluation::Episodes(_) => None,
            Evaluation::MetaTest(sizes) => Some(sizes),
        };
        Episodes { seeds, episodes: self.episodes(), deterministic, record: false, sizes }
    }
}

/// Most episodes of one evaluation.
pub const MAX_EPISODES: usize = 1 << 20;

/// Sizes of a program of episodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::train) struct Episodes {
    /// Stacked policies (S).
    pub seeds: usize,
    /// Episodes of each (E).
    pub episodes: usize,
    /// The most probable actions instead of draws.
    pub deterministic: bool,
    /// Keep every step.
    pub record: bool,
    /// Sizes of the meta-test whose test episodes these are.
    pub sizes: Option<TestSizes>,
}

/// An error for the first row in which something was [lost](crate::play::Steps::lost), or whose return is no number.
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

/// The error that a policy which does not adapt has no meta-test.
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
