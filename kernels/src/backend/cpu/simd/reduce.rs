//! Sums and maxima in a fixed order, so that a result does not depend on tiles, threads or the instruction set.
//!
//! An axis of length L is cut into slices of [`slice_len`]`(L)`. In a slice, element 16 i + j goes to accumulator j, in
//! order of i, from 0; then accumulators are folded by a tree (j with j + 8, + 4, + 2, + 1), and the slices' results
//! are combined in order. A maximum takes the same path from −∞ and skips NaN.

use super::lanes::{Block, LANES, Lane2, keep_blocks};
use super::{ops, per_isa, slice_len};
use crate::backend::cpu::simd::isa::Isa;
use std::ops::Range;

/// The operation that combines the elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reduction {
    /// Σ x, from 0.
    Sum,
    /// The largest element that is not NaN, from −∞.
    Max,
}

impl Reduction {
    /// The value that accumulators start from: 0 or −∞.
    pub const fn start(self) -> f32 {
        match self {
            Reduction::Sum => ops::Add::START,
            Reduction::Max => ops::Max::START,
        }
    }

    /// Combine two partial results, the earlier first.
    #[inline(always)]
    pub fn combine(self, a: f32, b: f32) -> f32 {
        match self {
            Reduction::Sum => ops::Add::apply(a, b),
            Reduction::Max => ops::Max::apply(a, b),
        }
    }
}

/// An operation that accumulates.
trait Fold: Lane2 {
    const START: f32;
}

impl Fold for ops::Add {
    const START: f32 = 0.0;
}

impl Fold for ops::Max {
    const START: f32 = f32::NEG_INFINITY;
}

/// Reduce all of `x`.
pub fn reduce(isa: Isa, op: Reduction, x: &[f32]) -> f32 {
    let mut total = op.start();
    for (s, slice) in x.chunks(slice_len(x.len())).enumerate() {
        let mut block = [op.start(); LANES];
        accumulate_rows(isa, op, &mut block, slice, slice.len(), 0..slice.len());
        let part = finish(op, &block);
        total = if s == 0 { part } else { op.combine(total, part) };
    }
    total
}

/// Reduce over the outer axis: dst\[r\] = op over m of src\[m · stride + r\], m < `len`, r < `dst.len()`.
///
/// With a tile `[M][R]` this reduces the inner axis M for each lane.
///
/// # Panics
/// If `src` is too short.
pub fn reduce_outer(isa: Isa, op: Reduction, dst: &mut [f32], src: &[f32], len: usize, stride: usize) {
    let width = dst.len();
    if len == 0 || width == 0 {
        dst.fill(op.start());
        return;
    }
    assert!((len - 1) * stride + width <= src.len(), "reduce_outer: src has {} values", src.len());
    match op {
        Reduction::Sum => {
            per_isa!(isa, reduce_outer_body::<ops::Add>, (dst: &mut [f32], src: &[f32], len: usize, stride: usize))
        }
        Reduction::Max => {
            per_isa!(isa, reduce_outer_body::<ops::Max>, (dst: &mut [f32], src: &[f32], len: usize, stride: usize))
        }
    }
}

/// Add lanes of a tile to accumulators: acc\[m\]\[j\] = op(acc\[m\]\[j\], tile\[m · stride + l\]) for each l = 16
/// i + j + `lanes.start` in `lanes`, in order of i. `acc` is `[M][16]`, started from [`Reduction::start`].
///
/// A slice of rows may come in several calls if each but the last covers a multiple of 16 lanes.
///
/// # Panics
/// If `tile` is too short or `acc` is not whole blocks of 16.
pub fn accumulate_rows(isa: Isa, op: Reduction, acc: &mut [f32], tile: &[f32], stride: usize, lanes: Range<usize>) {
    let (blocks, rest) = acc.as_chunks_mut::<LANES>();
    assert!(rest.is_empty(), "accumulators come in blocks of 16");
    if blocks.is_empty() || lanes.is_empty() {
        return;
    }
    assert!((blocks.len() - 1) * stride + lanes.end <= tile.len(), "accumulate_rows: tile has {} values", tile.len());
    match op {
        Reduction::Sum => {
            per_isa!(
                isa,
                accumulate_body::<ops::Add>,
                (blocks: &mut [Block], tile: &[f32], stride: usize, lanes: Range<usize>)
            )
        }
        Reduction::Max => {
            per_isa!(
                isa,
                accumulate_body::<ops::Max>,
                (blocks: &mut [Block], tile: &[f32], stride: usize, lanes: Range<usize>)
            )
        }
    }
}

/// Fold 16 accumulators by the tree.
#[inline(always)]
pub fn finish(op: Reduction, acc: &[f32; 16]) -> f32 {
    match op {
        Reduction::Sum => tree::<ops::Add>(*acc),
        Reduction::Max => tree::<ops::Max>(*acc),
    }
}

/// Fold the accumulators `[M][16]` of a slice into dst `[M]`; slices after the `first` are combined with what is there.
///
/// # Panics
/// If `acc` is shorter than 16 values per result.
pub fn finish_rows(op: Reduction, dst: &mut [f32], acc: &[f32], first: bool) {
    let (blocks, _) = acc.as_chunks::<LANES>();
    assert!(blocks.len() >= dst.len(), "finish_rows: {} accumulators for {} results", blocks.len(), dst.len());
    for (y, block) in dst.iter_mut().zip(blocks) {
        let part = finish(op, block);
        *y = if first { part } else { op.combine(*y, part) };
    }
}

#[inline(always)]
fn tree<F: Fold>(acc: Block) -> f32 {
    let [sum] = halved::<F, 2, 1>(halved::<F, 4, 2>(halved::<F, 8, 4>(halved::<F, 16, 8>(acc))));
    sum
}

/// The first half combined with the second: a vector of known length, which stays in registers.
#[inline(always)]
fn halved<F: Fold, const N: usize, const HALF: usize>(x: [f32; N]) -> [f32; HALF] {
    std::array::from_fn(|j| F::apply(x[j], x[j + HALF]))
}

/// acc\[r\] = op(acc\[r\], x\[at + r\]).
#[inline(always)]
fn fold<F: Fold, const W: usize>(acc: &mut [f32; W], x: &[f32], at: usize) {
    let row = &x[at..at + W];
    for r in 0..W {
        acc[r] = F::apply(acc[r], row[r]);
    }
}

#[inline(always)]
fn accumulate_body<F: Fold>(acc: &mut [Block], tile: &[f32], stride: usize, lanes: Range<usize>) {
    for m in 0..acc.len() {
        let row = &tile[m * stride + lanes.start..m * stride + lanes.end];
        let mut sum = acc[m];
        let mut l = 0;
        while l + LANES <= row.len() {
            keep_blocks();
            fold::<F, LANES>(&mut sum, row, l);
            l += LANES;
        }
        acc[m] = sum;
        // In memory: indices that vary would keep the loop above out of registers.
        for j in 0..row.len() - l {
            acc[m][j] = F::apply(acc[m][j], row[l + j]);
        }
    }
}

#[inline(always)]
fn reduce_outer_body<F: Fold>(dst: &mut [f32], src: &[f32], len: usize, stride: usize) {
    let mut r = 0;
    // In WebAssembly the general loop does: what is written out for each length would be a hundredth of the package.
    while cfg!(not(target_arch = "wasm32")) && len <= LANES && r + LANES <= dst.len() {
        let sum = short::<F>(&src[r..], len, stride);
        dst[r..r + LANES].copy_from_slice(&sum);
        r += LANES;
    }
    while r + LANES <= dst.len() {
        let sum = column::<F, LANES>(&src[r..], len, stride);
        dst[r..r + LANES].copy_from_slice(&sum);
        r += LANES;
    }
    while r < dst.len() {
        dst[r] = column::<F, 1>(&src[r..], len, stride)[0];
        r += 1;
    }
}

/// Reduce 16 neighbouring columns of at most 16 values. Accumulators that no value goes to are what the others start
/// from, and combining with that changes nothing (a sum that starts from 0 is never −0), so they are left out.
#[inline(always)]
fn short<F: Fold>(src: &[f32], len: usize, stride: usize) -> Block {
    let mut acc = [[F::START; LANES]; LANES];
    for (j, acc) in acc.iter_mut().enumerate().take(len) {
        keep_blocks();
        fold::<F, LANES>(acc, src, j * stride);
    }
    let mut live = len;
    for width in [8, 4, 2, 1] {
        for j in width..live {
            let upper = acc[j];
            fold::<F, LANES>(&mut acc[j - width], &upper, 0);
        }
        live = live.min(width);
    }
    acc[0]
}

/// Reduce `W` neighbouring columns at once.
#[inline(always)]
fn column<F: Fold, const W: usize>(src: &[f32], len: usize, stride: usize) -> [f32; W] {
    let slice = slice_len(len);
    let mut total = [F::START; W];
    let mut start = 0;
    while start < len {
        let end = len.min(start + slice);
        let mut acc = [[F::START; W]; LANES];
        // One accumulator after the other: all sixteen would not fit the registers of AVX2.
        for (j, acc) in acc.iter_mut().enumerate() {
            let mut sum = [F::START; W];
            let mut m = start + j;
            while m < end {
                keep_blocks();
                fold::<F, W>(&mut sum, src, m * stride);
                m += LANES;
            }
            *acc = sum;
        }
        for width in [8, 4, 2, 1] {
            for j in 0..width {
                let upper = acc[j + width];
                fold::<F, W>(&mut acc[j], &upper, 0);
            }
        }
        if start == 0 {
            total = acc[0];
        } else {
            fold::<F, W>(&mut total, &acc[0], 0);
        }
        start = end;
    }
    total
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng;

    fn values(len: usize) -> Vec<f32> {
        (0..len as u32).map(|i| rng::uniform(rng::threefry2x32([1, 2], [i, 3])[0]) * 3.0 - 1.0).collect()
    }

    /// The order rule, literally.
    fn reference(op: Reduction, x: &[f32]) -> f32 {
        let parts = x.chunks(1024).map(|x| {
            let mut acc = [op.start(); 16];
            for (i, x) in x.iter().enumerate() {
                acc[i % 16] = op.combine(acc[i % 16], *x);
            }
            for w in [8, 4, 2, 1] {
                for j in 0..w {
                    acc[j] = op.combine(acc[j], acc[j + w]);
                }
            }
            acc[0]
        });
        parts.reduce(|a, b| op.combine(a, b)).unwrap_or(op.start())
    }

    /// Few for Miri, which takes ten thousand times as long.
    const LENGTHS: &[usize] =
        if cfg!(miri) { &[0, 1, 17, 1025] } else { &[0, 1, 2, 15, 16, 17, 40, 64, 345, 1024, 1025, 2500, 20_000] };
    const OPS: [Reduction; 2] = [Reduction::Sum, Reduction::Max];

    #[test]
    fn contiguous_reductions_follow_the_order_rule() {
        for isa in Isa::available() {
            for (op, len) in OPS.into_iter().flat_map(|op| LENGTHS.iter().map(move |&len| (op, len))) {
                let x = values(len);
                assert_eq!(reduce(isa, op, &x).to_bits(), reference(op, &x).to_bits(), "{isa} {op:?} {len}");
            }
        }
    }

    #[test]
    fn outer_reductions_follow_the_order_rule_in_every_column() {
        for isa in Isa::available() {
            for (op, len) in OPS.into_iter().flat_map(|op| LENGTHS.iter().map(move |&len| (op, len))) {
                for &width in if cfg!(miri) && len > 40 { &[1][..] } else { &[1, 5, 16, 35] } {
                    let stride = width + 2;
                    let x = values(len * stride);
                    let mut got = vec![7.0; width];
                    reduce_outer(isa, op, &mut got, &x, len, stride);
                    for r in 0..width {
                        let column: Vec<f32> = (0..len).map(|m| x[m * stride + r]).collect();
                        assert_eq!(got[r].to_bits(), reference(op, &column).to_bits(), "{isa} {op:?} {len} {width}");
                    }
                }
            }
        }
    }

    #[test]
    fn rows_accumulated_tile_by_tile_equal_the_whole() {
        for isa in Isa::available() {
            for op in OPS {
                // Three tiles, the last with 22 valid lanes.
                let (m, rows, lanes) = (if cfg!(miri) { 1 } else { 3 }, 150, 64);
                let x = values(m * rows);
                let (mut acc, mut got) = (vec![op.start(); m * 16], vec![0.0; m]);
                for start in (0..rows).step_by(lanes) {
                    let valid = lanes.min(rows - start);
                    let mut tile = vec![f32::NAN; m * lanes]; // lanes beyond the rows hold anything
                    for (i, row) in tile.chunks_mut(lanes).enumerate() {
                        row[..valid].copy_from_slice(&x[i * rows + start..][..valid]);
                    }
                    accumulate_rows(isa, op, &mut acc, &tile, lanes, 0..valid);
                }
                finish_rows(op, &mut got, &acc, true);
                for i in 0..m {
                    assert_eq!(got[i].to_bits(), reference(op, &x[i * rows..][..rows]).to_bits());
                }
                let before = got.clone();
                finish_rows(op, &mut got, &acc, false);
                for i in 0..m {
                    assert_eq!(got[i], op.combine(before[i], before[i]));
                }
            }
        }
    }

    #[test]
    fn a_maximum_skips_nan() {
        for isa in Isa::available() {
            assert_eq!(reduce(isa, Reduction::Max, &[1.0, f32::NAN, 3.0, -2.0]), 3.0);
            assert_eq!(reduce(isa, Reduction::Max, &[f32::NAN]), f32::NEG_INFINITY);
            assert!(reduce(isa, Reduction::Sum, &[1.0, f32::NAN]).is_nan());
        }
    }
}
