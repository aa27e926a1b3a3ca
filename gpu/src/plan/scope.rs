//! A scope (the program, or the body of a loop), and the values that it must leave behind.

use quickstudy_kernels::program::chains::Units;
use quickstudy_kernels::tensor::{Graph, NodeId};
use rustc_hash::FxHashMap;

use super::kernel::Place;
use super::options::PlanOptions;

/// A value that must be in a certain place at the end of a schedule.
#[derive(Clone, Debug)]
pub(super) struct Want {
    /// The value.
    pub(super) node: NodeId,
    /// The place where it must be at the end.
    pub(super) place: Place,
    /// The leaf that is in this place at the start, if it may be read.
    pub(super) old: Option<NodeId>,
}

/// A scope to be planned.
#[derive(Clone, Copy)]
pub(super) struct Scope<'a> {
    pub(super) graph: &'a Graph,
    pub(super) scope: u32,
    /// The `Op::Out` nodes of each scan and call, in order.
    pub(super) outs: &'a FxHashMap<NodeId, Vec<NodeId>>,
    /// The units of all scopes, of which chains are formed.
    pub(super) units: &'a Units,
    pub(super) options: &'a PlanOptions,
}
