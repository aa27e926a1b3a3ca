//! A program that was built without MPI knows no others.

use crate::outcome::Stop;
use crate::ranks::launch;
use quickstudy_core::backend::Ranks;

/// Ranks that cannot be met.
#[derive(Debug)]
pub(crate) enum NoTeam {}

impl NoTeam {
    /// Refuses to train the same on several ranks.
    pub(crate) fn meet(ranks: usize) -> Result<Self, Stop> {
        let message = format!("this is one of {ranks} ranks, and this program was built without MPI");
        // It is said once.
        if launch::rank() > 0 {
            std::process::exit(2);
        }
        Err(Stop::user(message)
            .hint("build it with `cargo build --release --features mpi`, or start it without a launcher"))
    }

    /// Sends a message to a rank.
    pub(crate) fn send(&self, _to: usize, _message: &[u8]) {
        match *self {}
    }

    /// The next message, and the rank that sent it, if there is one.
    pub(crate) fn receive(&self) -> Option<(usize, Vec<u8>)> {
        match *self {}
    }

    /// Ends all ranks at once, with this exit code.
    pub(crate) fn abort(&self, _code: u8) -> ! {
        match *self {}
    }

    /// Parts from the others.
    pub(crate) fn part(&self) {
        match *self {}
    }
}

impl Ranks for NoTeam {
    fn rank(&self) -> usize {
        match *self {}
    }

    fn count(&self) -> usize {
        match *self {}
    }

    fn gather(&self, _: &[u32], _: &mut [u32]) -> quickstudy_core::Result<()> {
        match *self {}
    }

    fn exchange(&self, _: &[u32], _: &mut [u32]) -> quickstudy_core::Result<()> {
        match *self {}
    }
}
