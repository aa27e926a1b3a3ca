//! The chain: nodes that run together, as instructions.

use super::instr::ChainInstr;
use super::values::ValueId;

/// Nodes that act on the rows of one domain, as instructions for these rows.
#[derive(Clone, Debug)]
pub struct RowChain<O> {
    /// Number of groups whose rows are never taken together; 1 where rows of all groups are.
    pub groups: usize,
    /// Rows per group.
    pub rows: usize,
    /// Blocks of each register.
    pub sizes: Vec<usize>,
    /// The instructions.
    pub code: Vec<ChainInstr<O>>,
    /// Sums over rows: the value that gets each, `[groups, size]`, and its size.
    pub terminals: Vec<(ValueId, usize)>,
    /// Rough number of operations per row.
    pub work: usize,
    /// Nesting of loops.
    pub depth: usize,
}
