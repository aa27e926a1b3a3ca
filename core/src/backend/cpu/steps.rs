//! The steps that a schedule is lowered to: they work on values in memory.

use super::buffer::Words;
use super::layout::{Access, row_major};
use super::tile::{Tile, Workspace};
use crate::tensor::{DType, NodeId, Op};

/// Number that no node has.
pub const NO_NODE: NodeId = NodeId::MAX;

/// Number of a value: something that is in memory while a schedule runs.
pub type ValueId = usize;

/// The memory of a value.
#[derive(Clone, Debug, PartialEq)]
pub enum Storage {
    /// The argument of that number.
    Arg(usize),
    /// A block of the schedule's own memory, this number of words long.
    Temp(usize),
    /// Fixed words.
    Static(Vec<u32>),
    /// Each element's index along an axis of a shape.
    Iota(Vec<usize>, usize),
    /// The run-time scalar of that number.
    Scalar(usize),
    /// A value of the schedule around this one.
    Outer(ValueId),
    /// A parameter of the body: its memory is set by the loop.
    Param,
    /// The memory of another value, whose old content nobody needs any more.
    Same(ValueId),
}

/// A strided view of a value.
#[derive(Clone, Debug, PartialEq)]
pub struct View {
    /// The value.
    pub value: ValueId,
    /// Position of the first element.
    pub offset: usize,
    /// Size of each axis.
    pub shape: Vec<usize>,
    /// Distance of neighbours along each axis.
    pub strides: Vec<usize>,
}

impl View {
    /// All of a dense value.
    pub fn whole(value: ValueId, shape: &[usize]) -> View {
        View { value, offset: 0, shape: shape.to_vec(), strides: row_major(shape) }
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        self.shape.iter().product()
    }

    fn as_access(&self) -> Access {
        Access { root: 0, offset: self.offset, strides: self.strides.clone() }
    }

    /// Tells whether the elements are one after the other.
    pub fn is_contiguous(&self) -> bool {
        self.as_access().is_contiguous(&self.shape)
    }
}

/// One step of a lowered schedule.
#[derive(Debug)]
pub enum LoweredStep {
    /// Write the elements of a view one after the other to a value.
    Copy {
        /// The elements to copy.
        src: View,
        /// Where to.
        dst: ValueId,
    },
    /// Compute one node for all its elements.
    Node(NodeStep),
    /// Run a loop.
    Scan(Box<ScanStep>),
    /// Run a group of nodes tile by tile.
    Tile(Box<Tile>),
}

/// One node, computed for all its elements at once.
#[derive(Debug)]
pub struct NodeStep {
    /// The node.
    pub id: NodeId,
    /// Its operation.
    pub op: Op,
    /// Data type of its first operand.
    pub dtype: DType,
    /// Its operands.
    pub src: Vec<View>,
    /// Where its results go, dense.
    pub dst: Vec<ValueId>,
    /// Its shape.
    pub shape: Vec<usize>,
    /// Of a call: the trailing sizes of its results.
    pub widths: Vec<usize>,
}

/// A loop over a lowered body.
#[derive(Debug)]
pub struct ScanStep {
    /// Number of steps.
    pub len: usize,
    /// Backwards.
    pub reverse: bool,
    /// Which carry stops it.
    pub until: Option<usize>,
    /// Carries.
    pub carries: Vec<Carry>,
    /// The body's index parameter.
    pub index: ValueId,
    /// Stacked inputs: view of the whole, body's parameter, elements of a row.
    pub xs: Vec<(View, ValueId, usize)>,
    /// Stacked outputs: value, body's view of a row.
    pub ys: Vec<(ValueId, View)>,
    /// The body.
    pub body: Lowered,
}

/// A carry of a loop.
#[derive(Debug)]
pub struct Carry {
    /// Its first value, in the schedule around.
    pub init: View,
    /// Where it is kept and ends up, in the schedule around.
    pub kept: ValueId,
    /// The body's parameter.
    pub param: ValueId,
    /// Its new value, in the body.
    pub next: View,
    /// Copy of the new value, made before any carry changes, where the new value is a view of a parameter.
    pub staged: Option<ValueId>,
    /// The new value is the old one.
    pub unchanged: bool,
}

/// A schedule ready to run.
#[derive(Debug, Default)]
pub struct Lowered {
    /// The steps, in order.
    pub steps: Vec<LoweredStep>,
    /// The values.
    pub storage: Vec<Storage>,
    /// The nodes that they hold; [`NO_NODE`] where that is not one.
    pub nodes: Vec<NodeId>,
    /// Memory of the values that have their own, made at the first run.
    pub words: Vec<Words>,
    /// Scratch of the tiles.
    pub space: Workspace,
}
