//! Where values of a kernel are in memory.

use std::collections::HashMap;

use quickstudy_kernels::tensor::NodeId;

/// Where a value is: the words of a bound buffer from `first` on, in row-major order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Words {
    /// Number of the buffer's binding.
    pub binding: usize,
    /// The value's first word.
    pub first: usize,
}

/// Where values of a kernel are: the memory behind its reads, and the bindings that it writes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Memory {
    /// The memory of each node that is read.
    pub leaves: HashMap<NodeId, Leaf>,
    /// For each write: where to, and the loop level whose step selects the row of a stacked output.
    pub writes: Vec<(NodeId, Words, Option<usize>)>,
    /// Bindings that are written.
    pub written: Vec<bool>,
}

/// Where a value that is not computed comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Leaf {
    /// A bound buffer.
    Buffer(Words),
    /// The row of another value that belongs to the current step of the loop at that level; none for the first row.
    Row(NodeId, Option<usize>),
    /// The current step of the loop at that level; none for the first.
    Step(Option<usize>),
    /// This row's elements in an array of that name.
    Private(String),
    /// This row's elements in workgroup memory.
    Shared(SharedRows),
}

/// The rows of a value in workgroup memory: each row of the workgroup has so many words, the first from there on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SharedRows {
    /// The array's name.
    pub array: String,
    /// The first word.
    pub first: usize,
    /// Words of a row.
    pub width: usize,
}
