//! How far the run of one seed has come.

use crate::train::saved::finished::Finished;
use crate::train::saved::segments::Ring;

/// The progress of one seed of a session.
#[derive(Clone, Debug, Default)]
pub(in crate::train) struct SeedProgress {
    /// Iterations made.
    pub iteration: u64,
    /// Environment steps made.
    pub made: u64,
    /// The latest finished episodes.
    pub finished: Finished,
    /// The segments that the snapshot named from which it was restored.
    pub segments: Vec<Ring>,
    /// Its snapshot was written by an earlier version, for which it was finished: that ended runs by the steps that were planned.
    pub ended_as_planned: bool,
}
