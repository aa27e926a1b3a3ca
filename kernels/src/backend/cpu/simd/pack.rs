//! Copies that turn matrices into the rows that [`super::product`] wants.

use super::lanes::LANES;
use super::strided::Strided;
use super::vector::{Vector, per_vector};
use crate::backend::cpu::simd::isa::Isa;
use std::ops::Range;

/// dst `[rows][cols]` from a tile src `[valid or more][stride]`; columns from `valid` on get 0. `cols` is a
/// multiple of 16.
///
/// `dst` must have room for `rows` rounded up to 16: lanes beyond `rows` are read and written too.
pub(crate) fn pack_tile(isa: Isa, dst: &mut [f32], cols: usize, src: &[f32], stride: usize, valid: usize, rows: usize) {
    let (padded, valid) = (rows.next_multiple_of(LANES), valid.min(cols));
    transpose(isa, dst, cols, src, stride, valid, padded);
    clear(dst, cols, valid, rows);
}

/// dst `[depth][width]` = x(t, j) for t and j in the ranges; columns beyond `j` get 0.
pub(crate) fn pack(isa: Isa, dst: &mut [f32], width: usize, x: Strided<'_>, t: Range<usize>, j: Range<usize>) {
    let (depth, cols) = (t.len(), j.len());
    let src = &x.values[t.start * x.row + j.start * x.col..];
    if x.col == 1 {
        for (d, row) in dst.chunks_exact_mut(width).take(depth).enumerate() {
            row[..cols].copy_from_slice(&src[d * x.row..][..cols]);
        }
    } else if x.row == 1 {
        transpose(isa, dst, width, src, x.col, cols, depth);
    } else {
        for (d, row) in dst.chunks_exact_mut(width).take(depth).enumerate() {
            for (c, y) in row[..cols].iter_mut().enumerate() {
                *y = src[d * x.row + c * x.col];
            }
        }
    }
    clear(dst, width, cols, depth);
}

/// Columns `from..width` of `rows` rows become 0.
fn clear(dst: &mut [f32], width: usize, from: usize, rows: usize) {
    if from < width {
        for row in dst.chunks_exact_mut(width).take(rows) {
            row[from..].fill(0.0);
        }
    }
}

/// dst\[r · width + c\] = src\[c · stride + r\] for c < `cols`, r < `rows`.
///
/// # Panics
/// If either is too short.
pub(crate) fn transpose(isa: Isa, dst: &mut [f32], width: usize, src: &[f32], stride: usize, cols: usize, rows: usize) {
    if cols == 0 || rows == 0 {
        return;
    }
    assert!(cols <= width && (rows - 1) * width + cols <= dst.len(), "transpose: {} values to fill", dst.len());
    assert!((cols - 1) * stride + rows <= src.len(), "transpose: {} values to read", src.len());
    let (whole_cols, whole_rows) = (cols / LANES * LANES, rows / LANES * LANES);
    let (to, from) = (dst.as_mut_ptr(), src.as_ptr());
    // Whole blocks only, whose elements were checked above.
    per_vector!(
        isa,
        blocks,
        (to: *mut f32, width: usize, from: *const f32, stride: usize, whole_cols: usize, whole_rows: usize)
    );
    for c in 0..cols {
        for r in if c < whole_cols { whole_rows } else { 0 }..rows {
            dst[r * width + c] = src[c * stride + r];
        }
    }
}

/// Transpose `cols` × `rows` values, both multiples of 16.
#[inline(always)]
unsafe fn blocks<V: Vector>(dst: *mut f32, width: usize, src: *const f32, stride: usize, cols: usize, rows: usize) {
    let mut c = 0;
    while c < cols {
        let mut r = 0;
        while r < rows {
            // SAFETY: by the caller's promise.
            unsafe { V::transpose(dst.add(r * width + c), width, src.add(c * stride + r), stride) }
            r += LANES;
        }
        c += LANES;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packing_reads_every_layout() {
        let x: Vec<f32> = (0..70 * 90).map(|i| i as f32).collect();
        let layouts = [(90, 1), (1, 70), (90, 2)].map(|(row, col)| Strided { values: &x, row, col });
        for isa in Isa::available() {
            for x in layouts {
                for (t, j) in [(0..1, 0..1), (2..19, 1..41), (3..37, 5..38), (0..64, 0..16)] {
                    if cfg!(miri) && t.len() > 17 {
                        continue;
                    }
                    let width = j.len().next_multiple_of(16);
                    let mut dst = vec![-1.0; t.len() * width];
                    pack(isa, &mut dst, width, x, t.clone(), j.clone());
                    for (d, row) in dst.chunks(width).enumerate() {
                        for (c, y) in row.iter().enumerate() {
                            let at = (t.start + d) * x.row + (j.start + c) * x.col;
                            assert_eq!(*y, if c < j.len() { x.values[at] } else { 0.0 }, "{isa} {d} {c}");
                        }
                    }
                }
            }
        }
    }
}
