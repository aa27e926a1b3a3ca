//! The general matrix product, for whatever does not fit the tiles of [`super::dense`].

use super::dense::Strided;
use super::elementwise::{BinaryOp, Operand, binary};
use super::lanes::LANES;
use super::product::Product;
use super::slice_len;
use crate::backend::cpu::simd::isa::Isa;

/// Columns packed together.
const PANEL: usize = 64;
/// Summed indices packed together: a panel of 32 KiB stays in the first-level cache.
const DEPTH: usize = 128;

/// Sizes of a product: C `[m][n]` = A `[m][k]` · B `[k][n]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GemmDims {
    /// Rows of A and C.
    pub m: usize,
    /// Columns of A, rows of B: summed over.
    pub k: usize,
    /// Columns of B and C.
    pub n: usize,
}

/// c\[i\]\[j\] = Σ over t of a(i, t) · b(t, j), in the order that [`super::dense`] states. Rows of `c` are `c_row` apart; `a` and `b`
/// have any strides.
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
    let GemmDims { m, k, n } = dims;
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
    let panel = PANEL.min(n.next_multiple_of(LANES));
    let room = DEPTH.min(k) * panel;
    if scratch.len() < room + m * panel {
        scratch.resize(room + m * panel, 0.0);
    }
    let (packed, part) = scratch.split_at_mut(room);
    let slice = slice_len(k);
    for j in (0..n).step_by(PANEL) {
        let cols = PANEL.min(n - j);
        let width = cols.next_multiple_of(LANES);
        for start in (0..k).step_by(slice) {
            let end = k.min(start + slice);
            // The first slice goes straight to C unless its last register would not fit.
            let direct = start == 0 && width == cols;
            for t in (start..end).step_by(DEPTH) {
                let inner = DEPTH.min(end - t);
                pack(packed, width, b, (t, inner), (j, cols));
                let (to, to_row) = if direct { (c[j..].as_mut_ptr(), c_row) } else { (part.as_mut_ptr(), width) };
                let product = Product {
                    rows: m,
                    cols: width,
                    inner,
                    a: a.values[t * a.col..].as_ptr(),
                    a_row: a.row,
                    a_inner: a.col,
                    b: packed.as_ptr(),
                    b_inner: width,
                    c: to,
                    c_row: to_row,
                    resume: t > start,
                    bias: std::ptr::null(),
                    bias_row: 0,
                    tanh: false,
                };
                // SAFETY: A's elements were checked, `packed` is [inner][width], and the result is either `part`
                // [m][width] or `width` = `cols` columns of C.
                unsafe { product.run(isa) }
            }
            if direct {
                continue;
            }
            for i in 0..m {
                let (row, part) = (&mut c[i * c_row + j..][..cols], &part[i * width..][..cols]);
                if start == 0 {
                    row.copy_from_slice(part);
                } else {
                    binary(isa, BinaryOp::Add, row, Operand::Dst, Operand::Slice(part));
                }
            }
        }
    }
}

/// Copy rows `t..t + depth` and columns `j..j + cols` of `b` to rows of `width`, the rest 0.
fn pack(packed: &mut [f32], width: usize, b: Strided<'_>, (t, depth): (usize, usize), (j, cols): (usize, usize)) {
    for (d, row) in packed.chunks_exact_mut(width).take(depth).enumerate() {
        let from = (t + d) * b.row + j * b.col;
        row[cols..].fill(0.0);
        if b.col == 1 {
            row[..cols].copy_from_slice(&b.values[from..][..cols]);
        } else {
            for (c, y) in row[..cols].iter_mut().enumerate() {
                *y = b.values[from + c * b.col];
            }
        }
    }
}
