//! Replay memories: transitions that are learned from again and again.
//!
//! Lin 1992, doi:10.1007/BF00992699. A memory is rows of one array in an algorithm's state, [bulk](crate::Context::bulk): programs write the
//! rows that were played and read those that were drawn, and touch no others.

mod memory;
mod transitions;

pub use memory::{ReplayMemory, Stored};
pub use transitions::Transitions;
