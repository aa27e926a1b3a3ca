//! The CPU backend's memory: 64-byte aligned words.

use std::any::Any;
use std::cell::RefCell;

use super::halt::{Ran, zeros};
use crate::backend::BufferData;

/// One cache line.
#[derive(Clone, Copy, Debug, Default, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C, align(64))]
pub struct Line([u32; 16]);

/// `len` 32-bit words, aligned to a cache line.
#[derive(Debug, Default)]
pub struct Words {
    lines: Vec<Line>,
    len: usize,
}

impl Words {
    /// Zeros.
    pub fn new(len: usize) -> Ran<Words> {
        Ok(Words { lines: zeros(len.div_ceil(16))?, len })
    }

    /// The words of whole cache lines that hold so many.
    pub fn whole_lines(len: usize) -> usize {
        len.div_ceil(16).saturating_mul(16)
    }

    /// At least that many words; what they hold is of no value.
    pub fn grow(&mut self, len: usize) -> Ran<()> {
        if self.len < len {
            // The old ones first, so that there are never both.
            *self = Words::default();
            *self = Words::new(len)?;
        }
        Ok(())
    }

    /// The words.
    pub fn as_slice(&self) -> &[u32] {
        &bytemuck::cast_slice(&self.lines)[..self.len]
    }

    /// The words.
    pub fn as_mut_slice(&mut self) -> &mut [u32] {
        &mut bytemuck::cast_slice_mut(&mut self.lines)[..self.len]
    }
}

/// A buffer of the CPU backend.
#[derive(Debug)]
pub struct CpuBuffer {
    /// Its words.
    pub words: RefCell<Words>,
}

impl BufferData for CpuBuffer {
    fn as_any(&self) -> &dyn Any {
        self
    }
}
