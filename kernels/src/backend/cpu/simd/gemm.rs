//! The general matrix product, for whatever does not fit the tiles of [`super::dense`].

use super::dots::{Dots, dots, in_lanes};
use super::elementwise::{BinaryOp, Operand, binary};
use super::lanes::LANES;
use super::pack::pack;
use super::product::{Finish, PANEL, Product};
use super::slice_len;
use super::strided::Strided;
use crate::backend::cpu::simd::isa::Isa;

/// Summed indices packed together: a panel of B, 32 KiB, stays in the first-level cache.
const DEPTH: usize = 128;
/// Rows of A packed together, if at all; a multiple of every register tile's rows.
const BLOCK: usize = 96;

/// Sizes of a product: C `[m][n]` = A `[m][k]` · B `[k][n]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GemmDims {
    /// Rows of A and C.
    pub m: usize,
    /// Columns of A, rows of B: summed over.
    pub k: usize,
    /// Columns of B and C.
    pub n: usize,
    /// The summed index is that of rows, as in weight gradients: sums never have the order of narrow products.
    pub over_rows: bool,
}

impl GemmDims {
    /// Words of scratch that a product takes at most.
    pub fn scratch(self) -> usize {
        let GemmDims { m, k, n, over_rows } = self;
        let padded = n.next_multiple_of(LANES);
        if !over_rows && in_lanes(k, n) {
            return k.saturating_mul(n + BLOCK.min(m).next_multiple_of(LANES));
        }
        let packed = DEPTH.min(k) * (padded + if n > PANEL { BLOCK } else { 0 });
        let part = if padded == n && slice_len(k) >= k { 0 } else { m.saturating_mul(padded) };
        packed.saturating_add(part)
    }
}

/// c\[i\]\[j\] = Σ over t of a(i, t) · b(t, j), in the order that [`super::dense`] states. Rows of `c` are
/// `c_row` apart; `a` and `b` have any strides.
///
/// `scratch` is grown as needed and holds nothing of value between calls.
///
/// # Panics
/// If sizes and lengths disagree.
pub fn gemm(
    isa: Isa,
    c: &mut [f32],
    c_row: usize,
    a: Strided<'_>,
    b: Strided<'_>,
    dims: GemmDims,
    scratch: &mut Vec<f32>,
) {
    let GemmDims { m, k, n, over_rows } = dims;
    a.check("gemm A", m, k);
    b.check("gemm B", k, n);
    if m == 0 || n == 0 {
        return;
    }
    let last = (m - 1).saturating_mul(c_row).saturating_add(n);
    assert!(last <= c.len() && (m == 1 || n <= c_row), "gemm: C has {} values", c.len());
    if k == 0 {
        for i in 0..m {
            c[i * c_row..][..n].fill(0.0);
        }
        return;
    }
    if !over_rows && in_lanes(k, n) {
        return narrow(isa, c, c_row, a, b, [m, k, n], scratch);
    }
    let padded = n.next_multiple_of(LANES);
    let slice = slice_len(k);
    let depth = DEPTH.min(k);
    // Packing A costs about a cycle per value and pays from two panels of B on.
    let packs_a = n > PANEL;
    let rows = if packs_a { BLOCK.min(m).next_multiple_of(LANES) } else { m };
    // The first slice goes straight to C unless its last register would not fit.
    let direct = padded == n;
    let sizes =
        [depth * padded, if packs_a { depth * rows } else { 0 }, if direct && slice >= k { 0 } else { m * padded }];
    if scratch.len() < sizes.iter().sum() {
        scratch.resize(sizes.iter().sum(), 0.0);
    }
    let (packed_b, rest) = scratch.split_at_mut(sizes[0]);
    let (packed_a, part) = rest.split_at_mut(sizes[1]);
    for start in (0..k).step_by(slice) {
        let end = k.min(start + slice);
        let to_c = direct && start == 0;
        for t in (start..end).step_by(DEPTH) {
            let inner = DEPTH.min(end - t);
            for j in (0..n).step_by(PANEL) {
                let cols = PANEL.min(n - j);
                pack(isa, &mut packed_b[j * inner..], cols.next_multiple_of(LANES), b, t..t + inner, j..j + cols);
            }
            for i in (0..m).step_by(rows) {
                let rows = rows.min(m - i);
                let mut product = Product {
                    rows,
                    cols: 0,
                    inner,
                    a: a.values[i * a.row + t * a.col..].as_ptr(),
                    a_row: a.row,
                    a_inner: a.col,
                    b: std::ptr::null(),
                    b_inner: 0,
                    c: std::ptr::null_mut(),
                    c_row: if to_c { c_row } else { padded },
                    resume: t > start,
                    bias: std::ptr::null(),
                    bias_row: 0,
                    col_bias: std::ptr::null(),
                    after: Finish::Linear,
                };
                if packs_a {
                    let width = rows.next_multiple_of(LANES);
                    let turned = Strided { values: a.values, row: a.col, col: a.row };
                    pack(isa, packed_a, width, turned, t..t + inner, i..i + rows);
                    product = Product { a: packed_a.as_ptr(), a_row: 1, a_inner: width, ..product };
                }
                for j in (0..n).step_by(PANEL) {
                    let cols = PANEL.min(n - j).next_multiple_of(LANES);
                    let b = packed_b[j * inner..].as_ptr();
                    let to = if to_c { &mut c[i * c_row + j..] } else { &mut part[i * padded + j..] };
                    // SAFETY: A's elements were checked or packed, B's panel is [inner][cols], and the result is
                    // `part` [m][padded] or, where `padded` = n, C.
                    unsafe { Product { cols, b, b_inner: cols, c: to.as_mut_ptr(), ..product }.run(isa) }
                }
            }
        }
        if to_c {
            continue;
        }
        for i in 0..m {
            let (row, part) = (&mut c[i * c_row..][..n], &part[i * padded..][..n]);
            if start == 0 {
                row.copy_from_slice(part);
            } else {
                binary(isa, BinaryOp::Add, row, Operand::Dst, Operand::Slice(part));
            }
        }
    }
}

/// A product of few columns, by [`dots`].
fn narrow(
    isa: Isa,
    c: &mut [f32],
    c_row: usize,
    a: Strided<'_>,
    b: Strided<'_>,
    [m, k, n]: [usize; 3],
    scratch: &mut Vec<f32>,
) {
    let turns_a = a.col != 1;
    let rows = if turns_a { BLOCK.min(m) } else { m };
    let sizes = [n * k, if turns_a { rows.next_multiple_of(LANES) * k } else { 0 }];
    if scratch.len() < sizes.iter().sum() {
        scratch.resize(sizes.iter().sum(), 0.0);
    }
    let (turned_b, turned_a) = scratch.split_at_mut(sizes[0]);
    let copy = |to: &mut [f32], x: Strided<'_>, first: usize| {
        for (i, row) in to.chunks_exact_mut(k).enumerate() {
            row.iter_mut().enumerate().for_each(|(t, y)| *y = x.values[(first + i) * x.row + t * x.col]);
        }
    };
    copy(turned_b, Strided { values: b.values, row: b.col, col: b.row }, 0);
    for first in (0..m).step_by(rows) {
        let rows = rows.min(m - first);
        let a = match turns_a {
            true => {
                copy(&mut turned_a[..rows * k], a, first);
                (&turned_a[..rows * k], k)
            }
            false => (&a.values[first * a.row..], a.row),
        };
        let operands = Dots { a, w: (&*turned_b, k), bias: None, sizes: [rows, k, n] };
        dots(isa, &mut c[first * c_row..], [c_row, 1], operands);
    }
}
