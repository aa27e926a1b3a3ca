//! A plan: the kernels that compute a traced program, in order.

use std::collections::BTreeMap;

use crate::DType;
use crate::tensor::{Graph, NodeId};

/// What an argument is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// Only read.
    Input,
    /// Read and, if it has a result, overwritten.
    State,
    /// Only written, fresh at each run.
    Output,
}

/// An argument of a program.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Arg {
    /// Its name.
    pub name: String,
    /// Size of each axis.
    pub shape: Vec<usize>,
    /// Data type.
    pub dtype: DType,
    /// What it is for.
    pub role: Role,
}

/// A run-time scalar of a program.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ScalarSpec {
    /// Its name.
    pub name: String,
    /// Data type.
    pub dtype: DType,
}

/// The kinds of kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Each element of an index space on its own.
    Map,
    /// Sums or maxima along axes of an index space.
    Reduce,
    /// A batched matrix product.
    MatMul,
    /// A loop over a body schedule.
    Scan,
}

/// Where a value is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Place {
    /// In the argument of that number.
    Arg(usize),
    /// In the temporary of that number, of the schedule that the value belongs to.
    Slot(usize),
}

/// One unit of work.
///
/// A kernel computes `nodes` (in topological order; views and constants are not listed, a cheap node may be computed
/// by several kernels) from values that are arguments, parameters of the enclosing body or were written before, and
/// keeps those in `writes`. A kernel without nodes copies: its writes are of values that exist already.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// What kind of kernel.
    pub kind: Kind,
    /// The index space: of a Reduce or MatMul, that of its result.
    pub space: Vec<usize>,
    /// The nodes that it computes.
    pub nodes: Vec<NodeId>,
    /// The values that it keeps, and where.
    pub writes: Vec<(NodeId, Place)>,
    /// Of a Scan: its inside.
    pub body: Option<Box<Schedule>>,
}

/// The kernels of one scope: the whole program, or the body of a scan.
#[derive(Clone, Debug, Default)]
pub struct Schedule {
    /// Kernels in an order in which they can run.
    pub kernels: Vec<Kernel>,
    /// Where each kept value is.
    pub places: BTreeMap<NodeId, Place>,
    /// Number of elements of each temporary.
    pub slots: Vec<usize>,
}

/// A planned program.
#[derive(Debug)]
pub struct Plan {
    /// The traced expressions.
    pub graph: Graph,
    /// Arguments, in the order in which they are bound.
    pub args: Vec<Arg>,
    /// Run-time scalars.
    pub scalars: Vec<ScalarSpec>,
    /// Which value ends in which argument.
    pub results: Vec<(NodeId, usize)>,
    /// The kernels.
    pub schedule: Schedule,
}
