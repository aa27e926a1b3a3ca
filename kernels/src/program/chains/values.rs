//! The memory of a device, as chains ask for it: which nodes are there, and where.

use rustc_hash::FxHashSet;

use crate::Result;
use crate::program::layout::Access;
use crate::tensor::NodeId;

/// Number of a value: something that is in memory while a program runs. The device counts them.
pub type ValueId = usize;

/// The memory of a device for the nodes of one scope, while chains are formed of them.
pub trait Values {
    /// Tells whether a node is in memory.
    fn is_kept(&self, id: NodeId) -> bool;

    /// How a node lies in memory, if it is there.
    fn known(&self, id: NodeId) -> Option<Access>;

    /// The value that an access starts from, if it is in memory now.
    fn external(&mut self, root: NodeId) -> Option<ValueId>;

    /// Keep a node's elements one after the other.
    ///
    /// # Errors
    /// The node is not in memory yet.
    fn copy(&mut self, id: NodeId) -> Result<()>;

    /// Memory that belongs to no node yet.
    fn reserve(&mut self, len: usize) -> ValueId;

    /// Give up reserved memory.
    fn release(&mut self, value: ValueId);

    /// Reserved memory holds a node from now on.
    fn register(&mut self, id: NodeId, value: ValueId);

    /// Tells whether a node's value is read by any unit but these.
    fn used_outside(&self, id: NodeId, members: &FxHashSet<usize>) -> bool;
}
