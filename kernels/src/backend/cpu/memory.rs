//! The values of a running schedule as slices.
#![allow(unsafe_code, reason = "values of one schedule are borrowed one by one from one table of addresses")]

use std::marker::PhantomData;

use super::values::ValueId;

/// Address and length of a value.
#[derive(Clone, Copy, Debug)]
pub struct Span {
    ptr: *mut u32,
    len: usize,
}

// SAFETY: a span is only an address; who makes slices of it says why they do not overlap.
unsafe impl Send for Span {}
// SAFETY: as above.
unsafe impl Sync for Span {}

impl Span {
    /// The span of a slice that is borrowed for as long as the memory that it becomes part of.
    pub fn of(words: &mut [u32]) -> Span {
        Span { ptr: words.as_mut_ptr(), len: words.len() }
    }

    /// A part of it.
    pub fn part(self, offset: usize, len: usize) -> Span {
        assert!(offset + len <= self.len, "a part of a value lies within it");
        // SAFETY: within the same allocation by the check above.
        Span { ptr: unsafe { self.ptr.add(offset) }, len }
    }

    /// Its address.
    pub fn as_ptr(self) -> *mut u32 {
        self.ptr
    }

    /// Tells whether both start at the same address.
    pub fn same_start(self, other: Span) -> bool {
        std::ptr::eq(self.ptr, other.ptr)
    }

    /// Its words.
    ///
    /// # Safety
    /// The memory is alive and nobody writes it while the slice is used.
    pub unsafe fn words<'a>(self) -> &'a [u32] {
        // SAFETY: by the caller's promise.
        unsafe { std::slice::from_raw_parts(self.ptr, self.len) }
    }

    /// Its words, to write.
    ///
    /// # Safety
    /// The memory is alive and nobody else uses these words while the slice is used.
    pub unsafe fn words_mut<'a>(self) -> &'a mut [u32] {
        // SAFETY: by the caller's promise.
        unsafe { std::slice::from_raw_parts_mut(self.ptr, self.len) }
    }
}

/// The values of a schedule while it runs.
#[derive(Debug)]
pub struct Memory<'a> {
    spans: Vec<Span>,
    alive: PhantomData<&'a mut [u32]>,
}

impl<'a> Memory<'a> {
    /// Values at these addresses, which stay valid for `'a`.
    pub fn new(spans: Vec<Span>) -> Memory<'a> {
        Memory { spans, alive: PhantomData }
    }

    /// Address of a value.
    pub fn span(&self, value: ValueId) -> Span {
        self.spans[value]
    }

    /// Move a parameter to another address.
    pub fn set(&mut self, value: ValueId, span: Span) {
        self.spans[value] = span;
    }

    /// Words of a value.
    pub fn words(&self, value: ValueId) -> &[u32] {
        // SAFETY: writing needs `&mut self`.
        unsafe { self.spans[value].words() }
    }

    /// Elements of an f32 value.
    pub fn floats(&self, value: ValueId) -> &[f32] {
        bytemuck::cast_slice(self.words(value))
    }

    /// Words of a value, to write, and those of others.
    ///
    /// # Panics
    /// If the others are not apart from it.
    pub fn apart<const N: usize>(&mut self, dst: ValueId, src: [ValueId; N]) -> (&mut [u32], [&[u32]; N]) {
        let dst = self.spans[dst];
        let src = src.map(|value| self.spans[value]);
        let ends = |span: Span| span.ptr.wrapping_add(span.len);
        let is_apart = |other: &Span| ends(*other) <= dst.ptr || ends(dst) <= other.ptr;
        assert!(src.iter().all(is_apart), "a result lies apart from what it is computed from");
        // SAFETY: they are apart, and `&mut self` is held as long as the slices.
        unsafe { (dst.words_mut(), src.map(|span| span.words())) }
    }

    /// Words of a value, to write.
    pub fn words_mut(&mut self, value: ValueId) -> &mut [u32] {
        // SAFETY: `&mut self` is held as long as the slice.
        unsafe { self.spans[value].words_mut() }
    }
}
