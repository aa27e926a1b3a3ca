//! Ranks: processes of this program that a launcher such as `mpirun` has started, on one machine or on many.
//!
//! Rank 0 reads the command, writes folders and speaks to people. The others follow its orders: they train a run
//! together with it ([`lead`], [`follow`]), or run trainings of a study or a sweep as processes of their own
//! ([`remote`]). The feature `mpi` has all of this; without it a program that finds itself among several ranks refuses,
//! as each of them would train the same.

pub(crate) mod job;
pub(crate) mod launch;
pub(crate) mod message;
mod team;

use crate::outcome::Stop;
use std::cell::RefCell;
use std::rc::Rc;
pub(crate) use team::Team;

thread_local! {
    /// The ranks, while a command runs that uses them.
    static TEAM: RefCell<Option<Rc<Team>>> = const { RefCell::new(None) };
}

/// Meets the other ranks, if a launcher has started several.
pub(crate) fn meet() -> Result<(), Stop> {
    let ranks = launch::ranks();
    if ranks > 1 {
        let team = Team::meet(ranks)?;
        TEAM.with(|known| *known.borrow_mut() = Some(Rc::new(team)));
    }
    Ok(())
}

/// The ranks that this process is among, if there are several.
pub(crate) fn team() -> Option<Rc<Team>> {
    TEAM.with(|known| known.borrow().clone())
}

/// The number of ranks.
pub(crate) fn count() -> usize {
    use quickstudy_core::backend::Ranks as _;
    team().map_or(1, |team| team.count())
}

/// Parts from the other ranks. Rank 0 lets them go first.
pub(crate) fn part() {
    use quickstudy_core::backend::Ranks as _;
    let Some(team) = TEAM.with(|known| known.borrow_mut().take()) else { return };
    if team.rank() == 0 {
        message::dismiss(&team);
    }
    team.part();
}
