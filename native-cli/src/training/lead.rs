//! Rank 0, which leads: whatever the others must do as well, it orders before it does it.

use crate::folder::segments::SegmentFolder;
use crate::metrics::Row;
use crate::outcome::Stop;
use crate::ranks::Team;
use crate::ranks::message::{Order, order};
use crate::training::run::{Copied, Encode, Training};
use quickstudy_core::env::Classes;
use quickstudy_core::train::{Episode, Evaluation, Session, Setup};
use std::rc::Rc;

/// A session that other ranks train with this one.
#[derive(Debug)]
pub(crate) struct Led<'a> {
    session: &'a mut Session,
    team: Rc<Team>,
}

impl<'a> Led<'a> {
    /// Lets the other ranks make their sessions: from these snapshots if there are some, otherwise as the command says.
    pub(crate) fn begin(session: &'a mut Session, team: Rc<Team>, snapshots: &[Vec<u8>], debug: bool) -> Self {
        let parts: Vec<&[u8]> = snapshots.iter().map(Vec::as_slice).collect();
        let first = match snapshots {
            [] => Order::Begin { debug },
            _ => {
                let lengths = snapshots.iter().map(Vec::len).collect();
                let &Setup { steps, iterations, .. } = session.setup();
                Order::Restore { lengths, steps, iterations, debug }
            }
        };
        order(&team, &first, &parts);
        Self { session, team }
    }

    /// Ends the training of all ranks.
    pub(crate) fn end(self) {
        order(&self.team, &Order::Leave, &[]);
    }
}

/// Snapshots that all ranks have made together.
struct Made(Vec<(usize, Vec<u8>)>);

impl Copied for Made {
    fn parts(&self, index: usize, segments: &mut SegmentFolder) -> Result<Vec<u8>, Stop> {
        segments.expect(Vec::new());
        self.whole(index)
    }

    fn whole(&self, index: usize) -> Result<Vec<u8>, Stop> {
        let found = self.0.iter().find(|(number, _)| *number == index);
        found.map(|(_, file)| file.clone()).ok_or_else(|| Stop::failure(format!("seed {index} was not saved")))
    }
}

impl Training for Led<'_> {
    fn step(&mut self) -> Result<Vec<(usize, Row)>, Stop> {
        order(&self.team, &Order::Step, &[]);
        Training::step(self.session)
    }

    fn steps_made(&self, index: usize) -> u64 {
        self.session.steps_made(index)
    }

    fn is_done(&self, index: usize) -> bool {
        self.session.is_done(index)
    }

    fn adapts(&self) -> bool {
        Training::adapts(self.session)
    }

    fn classes(&self) -> Option<&Classes> {
        Training::classes(self.session)
    }

    fn total_steps(&self) -> u64 {
        self.session.total_steps()
    }

    fn snapshots(&self, seeds: &[usize]) -> Result<Box<dyn Copied + '_>, Stop> {
        order(&self.team, &Order::Save(seeds.to_vec()), &[]);
        Ok(Box::new(Made(saved(self.session, seeds)?)))
    }

    fn policy_snapshots(&self, seeds: &[usize]) -> Result<Encode<'_>, Stop> {
        Training::policy_snapshots(self.session, seeds)
    }

    fn evaluate(&mut self, seeds: &[usize], played: Evaluation) -> Result<Vec<Vec<Episode>>, Stop> {
        Training::evaluate(self.session, seeds, played)
    }
}

/// Makes the snapshots of these seeds, which all ranks do at the same time.
pub(crate) fn saved(session: &Session, seeds: &[usize]) -> Result<Vec<(usize, Vec<u8>)>, Stop> {
    let copies = pollster::block_on(session.snapshots_of(seeds))?;
    seeds.iter().map(|seed| Ok((*seed, pollster::block_on(copies.encode(*seed))?))).collect()
}
