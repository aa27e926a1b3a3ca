//! Chains: which nodes act on the rows of one domain, and run together. Decided once, from shapes and operations alone,
//! so that they are the same for every device, but for what its [`ChainBudget`] has no room for.
//!
//! [`form`] is asked for one chain after the other. `group` chooses the nodes and, of their axes, the rows (`domain`).
//! `build`, `contract` and `scan` turn the nodes into instructions (`instr`): row values are registers, sums over rows
//! are terminals. The memory behind them is the device's ([`Values`]), and so is what becomes of the instructions: the
//! CPU runs a chain tile by tile.

mod budget;
mod build;
mod chain;
mod contract;
mod domain;
mod group;
mod instr;
mod scan;
mod scope;
mod table;
#[cfg(test)]
mod tests;
mod unit;
mod values;

pub use budget::ChainBudget;
pub use chain::RowChain;
pub use group::{Formed, form};
pub use instr::{ChainInstr, ChainLoop, ChainProduct, Mem, Opnd, Reg};
pub use scan::MOST_OF_CALL;
pub use scope::Scope;
pub use table::Table;
pub use unit::{Unit, Units, readers, reads};
pub use values::{ValueId, Values};
