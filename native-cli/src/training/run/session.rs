//! A training session, as the loop around it needs it.

use crate::folder::segments::SegmentFolder;
use crate::metrics::Row;
use crate::outcome::Stop;
use quickstudy_core::env::Classes;
use quickstudy_core::train::{Episode, Evaluation};

/// Makes the policy's snapshot of one seed from a copy of the state.
///
/// It fails with code 1.
pub(crate) type Encode<'a> = Box<dyn Fn(usize) -> Result<Vec<u8>, Stop> + 'a>;

/// A copy of the state of all seeds, of which snapshots are made.
pub(crate) trait Copied {
    /// The snapshot of one seed in parts: rows of its replay buffer that are new go into segments, all else is the
    /// file.
    fn parts(&self, index: usize, segments: &mut SegmentFolder) -> Result<Vec<u8>, Stop>;
    /// The snapshot of one seed as one file.
    fn whole(&self, index: usize) -> Result<Vec<u8>, Stop>;
}

/// A training session of one or several stacked seeds, as the loop needs it.
pub(crate) trait Training {
    /// Runs one iteration; returns the number, from 0, of each seed that made it, and its row, with
    /// [`ENV_STEPS`](crate::metrics::ENV_STEPS). Seeds that are done make none.
    fn step(&mut self) -> Result<Vec<(usize, Row)>, Stop>;
    /// Environment steps that the seed of this number, from 0, has made.
    fn steps_made(&self, index: usize) -> u64;
    /// Tells whether the seed of this number, from 0, has made all of its steps.
    fn is_done(&self, index: usize) -> bool;
    /// True if policies adapt: their episodes after it are measured apart.
    fn adapts(&self) -> bool;
    /// The classes of tasks, where they have such.
    fn classes(&self) -> Option<&Classes> {
        None
    }
    /// Environment steps to make, per seed.
    fn total_steps(&self) -> u64;
    /// Everything needed to resume each of these seeds; what is small is read from the device once.
    fn snapshots(&self, seeds: &[usize]) -> Result<Box<dyn Copied + '_>, Stop>;
    /// Policy, normalisers and configuration of each of these seeds, read from the device once.
    fn policy_snapshots(&self, seeds: &[usize]) -> Result<Encode<'_>, Stop>;
    /// Episodes of the deterministic policy of each of these seeds, on random numbers of their own.
    fn evaluate(&mut self, seeds: &[usize], played: Evaluation) -> Result<Vec<Vec<Episode>>, Stop>;
}
