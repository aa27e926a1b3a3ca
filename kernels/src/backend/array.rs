//! Values on a device.

use std::rc::Rc;

use super::Buffer;
use crate::DType;

/// A tensor's value on a device. Clones share the memory.
#[derive(Clone, Debug)]
pub struct Array {
    /// Size of each axis.
    pub shape: Vec<usize>,
    /// The memory.
    pub buffer: Buffer,
}

impl Array {
    /// Data type of the elements.
    pub fn dtype(&self) -> DType {
        self.buffer.dtype
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        self.buffer.len
    }

    /// Always false: sizes are at least 1.
    pub fn is_empty(&self) -> bool {
        self.buffer.len == 0
    }

    /// Tells whether nobody else has this memory.
    pub(crate) fn is_unshared(&self) -> bool {
        Rc::strong_count(&self.buffer.data) == 1
    }
}
