//! The bridge to `quickstudy-core`: errors and sessions as the rest of the command line sees them.

use crate::folder::segments::SegmentFolder;
use crate::metrics::Row;
use crate::outcome::Stop;
use crate::training::run::{Copied, Encode, Training};
use quickstudy_core::algo::Family;
use quickstudy_core::env::Classes;
use quickstudy_core::train::{Episode, Evaluation, Session, Snapshots};

impl Training for Session {
    fn step(&mut self) -> Result<Vec<(usize, Row)>, Stop> {
        let rows = pollster::block_on(Session::step(self))?;
        Ok(self.running().iter().copied().zip(rows).collect())
    }

    fn steps_made(&self, index: usize) -> u64 {
        Session::steps_made(self, index)
    }

    fn is_done(&self, index: usize) -> bool {
        Session::is_done(self, index)
    }

    fn adapts(&self) -> bool {
        self.setup().algorithm.family != Family::SingleTask
    }

    fn classes(&self) -> Option<&Classes> {
        self.setup().env.spec().classes.as_ref()
    }

    fn total_steps(&self) -> u64 {
        Session::total_steps(self)
    }

    fn snapshots(&self, seeds: &[usize]) -> Result<Box<dyn Copied + '_>, Stop> {
        Ok(Box::new(pollster::block_on(Session::snapshots_of(self, seeds))?))
    }

    fn policy_snapshots(&self, seeds: &[usize]) -> Result<Encode<'_>, Stop> {
        let copy = pollster::block_on(Session::policy_snapshots_of(self, seeds))?;
        Ok(Box::new(move |index| Ok(pollster::block_on(copy.encode(index))?)))
    }

    fn evaluate(&mut self, seeds: &[usize], played: Evaluation) -> Result<Vec<Vec<Episode>>, Stop> {
        Ok(pollster::block_on(Session::evaluate_seeds(self, seeds, played))?)
    }
}

impl Copied for Snapshots<'_> {
    fn parts(&self, index: usize, segments: &mut SegmentFolder) -> Result<Vec<u8>, Stop> {
        let mut part = Snapshots::parts(self, index, segments.saved())?;
        while let Some(rows) = pollster::block_on(part.rows())? {
            segments.append(&rows)?;
        }
        let (file, rings) = pollster::block_on(part.encode())?;
        segments.expect(rings);
        Ok(file)
    }

    fn whole(&self, index: usize) -> Result<Vec<u8>, Stop> {
        Ok(pollster::block_on(self.encode(index))?)
    }
}
