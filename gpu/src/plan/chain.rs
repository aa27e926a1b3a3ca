//! A chain as it is planned.

use quickstudy_kernels::tensor::NodeId;

use crate::tile::Tile;

/// A chain of a plan.
#[derive(Clone, Debug)]
pub struct PlannedChain {
    /// How workgroups compute it.
    pub(crate) tile: Tile,
    /// The nodes that it computes, in order.
    pub(crate) nodes: Vec<NodeId>,
    /// The values in memory that it reads.
    pub(crate) reads: Vec<NodeId>,
    /// The values that it leaves in memory.
    pub(crate) outs: Vec<NodeId>,
    /// The node of each value that its instructions name.
    pub(crate) values: Vec<NodeId>,
    /// The sums over rows, and where each goes, if it is read as it is.
    pub(crate) sums: Vec<(NodeId, Option<SumPlace>)>,
    /// Nodes that are computed from sums and written in their stead.
    pub(crate) after: Vec<AfterSums>,
}

/// A place in a value.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SumPlace {
    /// The value.
    pub node: NodeId,
    /// Position of the first number, of the first group.
    pub offset: usize,
    /// Distance of groups.
    pub group: usize,
}

/// A node that follows from sums over rows, element by element, and where it goes.
#[derive(Clone, Debug)]
pub(crate) struct AfterSums {
    /// The node.
    pub value: NodeId,
    /// All nodes from the sums to it.
    pub nodes: Vec<NodeId>,
    /// The sums that it follows from. Each has as many numbers, or one.
    pub sums: Vec<NodeId>,
    /// Its place.
    pub place: SumPlace,
    /// Numbers of a group.
    pub len: usize,
}

impl PlannedChain {
    /// Tells whether a second dispatch finishes the sums: it adds those of several workgroups, and computes what
    /// follows from them.
    pub(crate) fn has_end(&self) -> bool {
        self.tile.workgroups > 1 || !self.after.is_empty()
    }
}
