//! Ranks that speak by MPI.

use super::heartbeat::Heartbeat;
use crate::outcome::Stop;
use ::mpi::Threading;
use ::mpi::environment::{Universe, initialize_with_threading};
use ::mpi::topology::SimpleCommunicator;
use ::mpi::traits::{Communicator as _, CommunicatorCollectives as _, Destination as _, Equivalence as _, Source as _};
use quickstudy_core::backend::Ranks;
use quickstudy_core::{Error, Result};
use std::cell::RefCell;
use std::fmt;

/// The tag of messages; others belong to heartbeats.
const MESSAGE: i32 = 1;

/// A rank, and its connection to the others.
pub(crate) struct Team {
    world: SimpleCommunicator,
    rank: usize,
    count: usize,
    heartbeat: RefCell<Option<Heartbeat>>,
    /// Dropped last: MPI ends with it.
    universe: RefCell<Option<Universe>>,
}

impl fmt::Debug for Team {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rank {} of {}", self.rank, self.count)
    }
}

impl Team {
    /// Meets the other ranks: a launcher has started so many.
    pub(crate) fn meet(ranks: usize) -> std::result::Result<Self, Stop> {
        let (universe, threading) =
            initialize_with_threading(Threading::Multiple).ok_or_else(|| Stop::failure("MPI was begun twice"))?;
        let world = universe.world();
        let [rank, count] = [world.rank(), world.size()].map(|number| usize::try_from(number).unwrap_or(0));
        if count != ranks {
            let message = format!("the launcher has started {ranks} ranks, and MPI knows {count}");
            return Err(Stop::failure(message)
                .hint("start it by the launcher of the MPI that it was built with, such as that one's mpirun"));
        }
        // Without threads in MPI, a rank that hangs is waited for.
        let heartbeat = (threading == Threading::Multiple).then(|| Heartbeat::begin(rank, count));
        let (heartbeat, universe) = (RefCell::new(heartbeat), RefCell::new(Some(universe)));
        Ok(Self { world, rank, count, heartbeat, universe })
    }

    /// Sends a message to a rank.
    pub(crate) fn send(&self, to: usize, message: &[u8]) {
        self.world.process_at_rank(i32::try_from(to).unwrap_or(0)).send_with_tag(message, MESSAGE);
    }

    /// The next message, and the rank that sent it, if there is one.
    pub(crate) fn receive(&self) -> Option<(usize, Vec<u8>)> {
        let (message, status) = self.world.any_process().immediate_matched_probe_with_tag(MESSAGE)?;
        let mut bytes = vec![0u8; usize::try_from(status.count(u8::equivalent_datatype())).unwrap_or(0)];
        message.matched_receive_into(&mut bytes[..]);
        Some((usize::try_from(status.source_rank()).unwrap_or(0), bytes))
    }

    /// Ends all ranks at once, with this exit code.
    pub(crate) fn abort(&self, code: u8) -> ! {
        self.world.abort(i32::from(code))
    }

    /// Leaves the team, as all other ranks do at the same time.
    pub(crate) fn part(&self) {
        self.world.barrier();
        // The thread that listens must have ended before MPI has.
        drop(self.heartbeat.borrow_mut().take());
        drop(self.universe.borrow_mut().take());
    }
}

/// Checks that a list is not longer than MPI can count.
fn counted(words: usize) -> Result<()> {
    match i32::try_from(words) {
        Ok(_) => Ok(()),
        Err(_) => Err(Error::Program(format!("{words} numbers are more than ranks can exchange at once"))),
    }
}

impl Ranks for Team {
    fn rank(&self) -> usize {
        self.rank
    }

    fn count(&self) -> usize {
        self.count
    }

    fn gather(&self, words: &[u32], all: &mut [u32]) -> Result<()> {
        counted(all.len())?;
        self.world.all_gather_into(words, all);
        Ok(())
    }

    fn exchange(&self, words: &[u32], got: &mut [u32]) -> Result<()> {
        counted(words.len())?;
        self.world.all_to_all_into(words, got);
        Ok(())
    }
}
