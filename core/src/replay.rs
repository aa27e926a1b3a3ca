//! Replay buffers, which keep transitions to learn from them again and again.
//!
//! Lin 1992, doi:10.1007/BF00992699. A memory is rows of one array in an algorithm's state,
//! [bulk](crate::Context::bulk): programs write the rows that were played, read the rows that were drawn, and touch
//! no others. Batches are drawn evenly or by [`Priorities`]. Transitions of several steps and [`Hindsight`] are
//! computed from the rows when a batch is drawn.

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
