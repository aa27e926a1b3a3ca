//! A run of a program: its arguments, threads and counts, which all of its steps share.

use std::sync::atomic::{AtomicU64, Ordering};

use super::memory::Span;
use super::simd::isa::Isa;
use crate::backend::Interrupt;

/// Data that all parts of a run share.
#[derive(Clone, Copy, Debug)]
pub struct Run<'a> {
    /// Addresses of the arguments.
    pub args: &'a [Span],
    /// Addresses of the run-time scalars.
    pub scalars: &'a [Span],
    /// Instruction set.
    pub isa: Isa,
    /// Threads.
    pub threads: usize,
    /// Asks for a stop.
    pub interrupt: &'a Interrupt,
    /// No loop is around.
    pub outermost: bool,
    /// Counts words that are copied outside of tiles.
    pub moved: &'a AtomicU64,
}

impl Run<'_> {
    /// Notes that so many words are copied.
    pub fn moves(&self, words: usize) {
        self.moved.fetch_add(words as u64, Ordering::Relaxed);
    }
}
