//! Environments that fail: what an executor puts up with, and what it has put up with.

use std::time::Duration;

use crate::Error;

/// How a [`ParallelExecutor`](super::ParallelExecutor) goes on when an environment panics, returns an error or nonsense, or hangs.
///
/// A new environment takes its place, with the same task. The step that failed counts as cut off where it began: no reward, the
/// observation from before it, and [`truncated`](super::Stepped::truncated); the next episode starts in the new environment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tolerance {
    /// How long one call of an environment may take. Then its thread is abandoned, as a thread cannot be ended from outside, and
    /// another one goes on with the other environments. Whatever it holds and computes stays until it returns or the process ends.
    pub time_limit: Duration,
    /// How often an environment may fail with no step in between. One time more is the executor's error.
    pub in_a_row: u32,
}

impl Default for Tolerance {
    /// A minute for each call, three failures in a row.
    fn default() -> Self {
        Tolerance { time_limit: Duration::from_secs(60), in_a_row: 3 }
    }
}

/// How often environments have failed and others taken their place.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Faults {
    /// Calls that panicked.
    pub panicked: u64,
    /// Calls that returned an error.
    pub failed: u64,
    /// Calls that returned what cannot be: too few numbers or too many, NaN, an infinity.
    pub nonsense: u64,
    /// Calls that took longer than the limit, each of which left an abandoned thread behind.
    pub hung: u64,
    /// One of the latest, with the environment's name and number.
    pub last: Option<Error>,
}

impl Faults {
    /// Faults of all kinds.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.panicked + self.failed + self.nonsense + self.hung
    }

    /// Those of one thread and of others.
    #[cfg(feature = "parallel")]
    pub(super) fn add(&mut self, more: &Faults) {
        self.panicked += more.panicked;
        self.failed += more.failed;
        self.nonsense += more.nonsense;
        self.hung += more.hung;
        self.last = more.last.clone().or(self.last.take());
    }

    /// One more.
    pub(super) fn count(&mut self, kind: FaultKind, error: Error) {
        let counter = match kind {
            FaultKind::Panicked => &mut self.panicked,
            FaultKind::Failed => &mut self.failed,
            FaultKind::Nonsense => &mut self.nonsense,
            #[cfg(feature = "parallel")]
            FaultKind::Hung => &mut self.hung,
        };
        *counter += 1;
        self.last = Some(error);
    }
}

/// How a call went wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FaultKind {
    Panicked,
    Failed,
    Nonsense,
    /// Only what a thread calls can be told to hang.
    #[cfg(feature = "parallel")]
    Hung,
}

/// A call that went wrong.
#[derive(Debug)]
pub(super) struct Fault {
    pub kind: FaultKind,
    pub problem: String,
}
