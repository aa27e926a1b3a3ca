//! The connection of a rank to the others.

#[cfg(not(feature = "mpi"))]
mod alone;
#[cfg(feature = "mpi")]
mod heartbeat;
#[cfg(feature = "mpi")]
mod mpi;

#[cfg(not(feature = "mpi"))]
pub(crate) use alone::NoTeam as Team;
#[cfg(feature = "mpi")]
pub use mpi::Team;
