//! The values of a schedule: where each lies in memory, and how parts of it are read.

pub use crate::program::chains::ValueId;
use crate::program::layout::{Access, row_major};
use crate::tensor::NodeId;

/// Number that no node has.
pub const NO_NODE: NodeId = NodeId::MAX;

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
