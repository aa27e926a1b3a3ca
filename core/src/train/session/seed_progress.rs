//! The progress of the run of one seed.

use crate::train::saved::finished::Finished;
use crate::train::saved::segments::Ring;

/// The progress of one seed of a session.
#[derive(Clone, Debug, Default)]
pub(in crate::train) struct SeedProgress {
    /// The number of iterations made.
    pub iteration: u64,
    /// The number of environment steps made.
    pub made: u64,
    /// The latest finished episodes.
    pub finished: Finished,
    /// The segments that the snapshot named from which the seed was restored.
    pub segments: Vec<Ring>,
    /// True if the seed's snapshot was written by an earlier version, for which it was finished: that version ended
    /// runs by planned steps.
    pub ended_as_planned: bool,
    /// True if the seed's snapshot was written by an earlier version, whose memories lack what the algorithm reads:
    /// [`Algorithm::reads_last_observations`](crate::algo::Algorithm::reads_last_observations).
    pub lacks_last_observations: bool,
}
