//! Sets of nodes and values of nodes, by their numbers.

use crate::tensor::NodeId;

/// A set of nodes of one graph.
#[derive(Clone, Debug, Default)]
pub(super) struct Marks(Vec<bool>);

impl Marks {
    /// An empty set, for a graph of so many nodes.
    pub fn none(nodes: usize) -> Marks {
        Marks(vec![false; nodes])
    }

    /// Adds a node; true if it was not there.
    pub fn insert(&mut self, id: NodeId) -> bool {
        !std::mem::replace(&mut self.0[id as usize], true)
    }

    /// Removes a node; true if it was there.
    pub fn remove(&mut self, id: NodeId) -> bool {
        std::mem::replace(&mut self.0[id as usize], false)
    }

    /// Tells whether a node is in the set.
    pub fn contains(&self, id: NodeId) -> bool {
        self.0[id as usize]
    }

    /// The nodes, in order.
    pub fn nodes(&self) -> Vec<NodeId> {
        (0..self.0.len()).filter(|id| self.0[*id]).map(|id| id as NodeId).collect()
    }
}
