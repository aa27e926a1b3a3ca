//! Failing environments: the failures that an executor tolerates, and those that it has met.

use std::time::Duration;

use crate::Error;

/// How a [`ParallelExecutor`](super::ParallelExecutor) goes on when an environment panics,
/// hangs, or returns an error or nonsense.
///
/// A new environment takes its place, with the same task. The step that failed counts as cut off where it
/// began, with a reward of 0, the observation from before it, and [`truncated`](super::Stepped::truncated); the
/// next episode starts in the new environment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tolerance {
    /// The longest that one call of an environment may take. Its thread is then abandoned, as a thread cannot be ended
    /// from outside, and another one goes on with the other environments. Memory and computations of the abandoned
    /// thread stay until its call returns or the process ends.
    pub time_limit: Duration,
    /// Failures of one environment that are tolerated with no step in between; one more is the executor's error.
    pub in_a_row: u32,
}

impl Default for Tolerance {
    /// Allows a minute for each call, and three failures in a row.
    fn default() -> Self {
        Tolerance { time_limit: Duration::from_secs(60), in_a_row: 3 }
    }
}

/// Counts of environments that failed and were replaced.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Faults {
    /// Calls that panicked.
    pub panicked: u64,
    /// Calls that returned an error.
    pub failed: u64,
    /// Calls that returned invalid values: too few numbers or too many, NaN, or an infinity.
    pub nonsense: u64,
    /// Calls that took longer than the limit. Where environments are on threads, each left one behind.
    pub hung: u64,
    /// Processes of environments that ended by themselves.
    pub died: u64,
    /// One of the latest faults, with the environment's name and number.
    pub last: Option<Error>,
}

impl Faults {
    /// The number of faults of all kinds.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.panicked + self.failed + self.nonsense + self.hung + self.died
    }

    /// Adds the counts of another thread.
    #[cfg(feature = "parallel")]
    pub(super) fn add(&mut self, more: &Faults) {
        self.panicked += more.panicked;
        self.failed += more.failed;
        self.nonsense += more.nonsense;
        self.hung += more.hung;
        self.died += more.died;
        self.last = more.last.clone().or(self.last.take());
    }

    /// Counts one more fault. Executors of one's own may count theirs so.
    pub fn count(&mut self, kind: FaultKind, error: Error) {
        let counter = match kind {
            FaultKind::Panicked => &mut self.panicked,
            FaultKind::Failed => &mut self.failed,
            FaultKind::Nonsense => &mut self.nonsense,
            FaultKind::Hung => &mut self.hung,
            FaultKind::Died => &mut self.died,
        };
        *counter += 1;
        self.last = Some(error);
    }
}

/// The way in which a call went wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// It panicked.
    Panicked,
    /// It returned an error.
    Failed,
    /// It returned invalid values.
    Nonsense,
    /// It took longer than the limit. Only calls on a thread or in a process of their own can be found to hang.
    Hung,
    /// The process of the environment ended.
    Died,
}

/// A call that went wrong: how, and a description of the problem.
#[derive(Debug)]
pub(super) struct Fault {
    pub kind: FaultKind,
    pub problem: String,
}
