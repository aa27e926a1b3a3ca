//! Replay memories: transitions that are learned from again and again.
//!
//! Lin 1992, doi:10.1007/BF00992699. A memory is rows of one array in an algorithm's state, [bulk](crate::Context::bulk): programs write the
//! rows that were played and read those that were drawn, and touch no others. Batches are drawn evenly or by [`Priorities`]; transitions of
//! several steps and [`Hindsight`] are made of the rows when they are drawn.

mod ahead;
mod batch;
mod drawn;
mod hindsight;
mod memory;
mod priorities;
mod transitions;

use ahead::Ahead;
pub use batch::{Batch, mean};
pub use drawn::Drawn;
pub use hindsight::Hindsight;
pub use memory::{ReplayMemory, Stored};
pub use priorities::{Priorities, SumTree};
pub use transitions::Transitions;

#[cfg(test)]
mod tests;
