//! Loops that apply a scalar operation to 16 lanes at a time.
//!
//! They take raw pointers, so that a result may overwrite an operand in place: each block of 16 is read whole before
//! it is written. The operation is a type with an `#[inline(always)]` function, not a closure, which Rust cannot be
//! told to inline.

use std::marker::PhantomData;

/// Lanes per block. Whatever the instruction set, 16 `f32` fill whole registers.
pub(crate) const LANES: usize = 16;

/// 16 values.
pub(crate) type Block = [f32; LANES];

/// An operation of one operand. u32 values travel as the `f32` of the same bits.
pub(crate) trait Lane1 {
    fn apply(x: f32) -> f32;
}

/// An operation of two operands.
pub(crate) trait Lane2 {
    fn apply(a: f32, b: f32) -> f32;
}

/// Where an operand's values come from.
pub(crate) trait LaneSource: Copy {
    /// The 16 values from `i` on.
    ///
    /// # Safety
    /// `i + 16` values must be readable.
    unsafe fn block(self, i: usize) -> Block;

    /// The `n` < 16 values from `i` on, the rest 1.
    ///
    /// # Safety
    /// `i + n` values must be readable.
    unsafe fn part(self, i: usize, n: usize) -> Block;
}

/// A contiguous operand.
#[derive(Clone, Copy)]
pub(crate) struct Contiguous(pub *const f32);

/// An operand whose value `i` is at distance `i · step`: contiguous with 1; with 0 one block of 16 stands for all.
#[derive(Clone, Copy)]
pub(crate) struct Spaced {
    /// The first value.
    pub values: *const f32,
    /// 0 or 1.
    pub step: usize,
}

impl LaneSource for Contiguous {
    #[inline(always)]
    unsafe fn block(self, i: usize) -> Block {
        // SAFETY: readable by the caller's promise; a `Block` is aligned as an `f32`.
        unsafe { self.0.add(i).cast::<Block>().read() }
    }

    #[inline(always)]
    unsafe fn part(self, i: usize, n: usize) -> Block {
        let mut block = [1.0; LANES];
        // SAFETY: readable by the caller's promise; the block has room for 16.
        unsafe { self.0.add(i).copy_to_nonoverlapping(block.as_mut_ptr(), n.min(LANES)) };
        block
    }
}

impl LaneSource for Spaced {
    #[inline(always)]
    unsafe fn block(self, i: usize) -> Block {
        // SAFETY: readable by the caller's promise, as are 16 values where one block stands for all.
        unsafe { Contiguous(self.values).block(i * self.step) }
    }

    #[inline(always)]
    unsafe fn part(self, i: usize, n: usize) -> Block {
        // SAFETY: as above.
        unsafe { Contiguous(self.values).part(i * self.step, n) }
    }
}

/// An operation applied to a source.
pub(crate) struct Map1<O, A>(pub A, pub PhantomData<O>);

/// An operation applied to two sources.
pub(crate) struct Map2<O, A, B>(pub A, pub B, pub PhantomData<O>);

/// The second source where the first (u32) is not 0, else the third.
#[derive(Clone, Copy)]
pub(crate) struct Choose<M, A, B>(pub M, pub A, pub B);

// Written out, because `derive` would ask for `O: Copy`.
impl<O, A: Copy> Copy for Map1<O, A> {}
impl<O, A: Copy> Clone for Map1<O, A> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}
impl<O, A: Copy, B: Copy> Copy for Map2<O, A, B> {}
impl<O, A: Copy, B: Copy> Clone for Map2<O, A, B> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

#[inline(always)]
pub(super) fn lanes1<O: Lane1>(a: Block) -> Block {
    let mut y = [0.0; LANES];
    for j in 0..LANES {
        y[j] = O::apply(a[j]);
    }
    y
}

#[inline(always)]
pub(super) fn lanes2<O: Lane2>(a: Block, b: Block) -> Block {
    let mut y = [0.0; LANES];
    for j in 0..LANES {
        y[j] = O::apply(a[j], b[j]);
    }
    y
}

#[inline(always)]
pub(crate) fn choose(mask: Block, a: Block, b: Block) -> Block {
    let mut y = [0.0; LANES];
    for j in 0..LANES {
        y[j] = if mask[j].to_bits() != 0 { a[j] } else { b[j] };
    }
    y
}

// SAFETY of all that follow: a source of sources reads what they read, so the caller's promise is passed on.
impl<O: Lane1, A: LaneSource> LaneSource for Map1<O, A> {
    #[inline(always)]
    unsafe fn block(self, i: usize) -> Block {
        unsafe { lanes1::<O>(self.0.block(i)) }
    }

    #[inline(always)]
    unsafe fn part(self, i: usize, n: usize) -> Block {
        unsafe { lanes1::<O>(self.0.part(i, n)) }
    }
}

impl<O: Lane2, A: LaneSource, B: LaneSource> LaneSource for Map2<O, A, B> {
    #[inline(always)]
    unsafe fn block(self, i: usize) -> Block {
        unsafe { lanes2::<O>(self.0.block(i), self.1.block(i)) }
    }

    #[inline(always)]
    unsafe fn part(self, i: usize, n: usize) -> Block {
        unsafe { lanes2::<O>(self.0.part(i, n), self.1.part(i, n)) }
    }
}

impl<M: LaneSource, A: LaneSource, B: LaneSource> LaneSource for Choose<M, A, B> {
    #[inline(always)]
    unsafe fn block(self, i: usize) -> Block {
        unsafe { choose(self.0.block(i), self.1.block(i), self.2.block(i)) }
    }

    #[inline(always)]
    unsafe fn part(self, i: usize, n: usize) -> Block {
        unsafe { choose(self.0.part(i, n), self.1.part(i, n), self.2.part(i, n)) }
    }
}

/// Keep the compiler from vectorising across blocks.
///
/// It turns the 16 lanes of a block into one register, as wanted, but for cheap operations it prefers to handle four
/// or more blocks at once, lane by lane, shuffling them in and out: ten times slower (measured). A loop with inline
/// assembly in it, even of no instructions, is left as it is.
#[inline(always)]
pub(crate) fn keep_blocks() {
    #[cfg(all(not(miri), any(target_arch = "x86_64", target_arch = "aarch64")))] // Miri knows no assembly.
    // SAFETY: does nothing.
    unsafe {
        std::arch::asm!("", options(nomem, nostack, preserves_flags));
    }
}

/// Write the `len` values of `source` to `dst`.
///
/// # Safety
/// `dst` must have room for `len` values and the source must have them. A contiguous operand of the source may be
/// `dst` itself but not overlap it otherwise.
///
/// WebAssembly has one instruction set: there each loop is a function of its own, which all kernels share, and which a
/// browser's optimiser has done in a millisecond instead of half a second for all of them.
#[cfg_attr(target_arch = "wasm32", inline(never))]
#[cfg_attr(not(target_arch = "wasm32"), inline(always))]
pub(crate) unsafe fn store(dst: *mut f32, source: impl LaneSource, len: usize) {
    let mut i = 0;
    while i + LANES <= len {
        keep_blocks();
        // SAFETY: i + 16 <= len.
        unsafe { dst.add(i).cast::<Block>().write(source.block(i)) };
        i += LANES;
    }
    if i < len {
        // SAFETY: len - i < 16 values remain.
        unsafe {
            let y = source.part(i, len - i);
            dst.add(i).copy_from_nonoverlapping(y.as_ptr(), len - i);
        }
    }
}
