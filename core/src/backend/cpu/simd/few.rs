//! Dense layers of few rows: a register holds outputs of one row, not rows of one output.

use super::dense::{After, DenseDims, Strided};
use super::lanes::{Contiguous, LANES, Map1, store};
use super::sum::{Steps, sum};
use super::vector::{Vector, per_vector};
use super::{ops, slice_len};
use crate::backend::cpu::simd::isa::Isa;
use std::marker::PhantomData;

/// Most rows that this pays for: half of the lanes.
const MOST: usize = 8;
/// Rows in registers at a time.
const ROWS: usize = 4;
/// Outputs that are computed before they are turned into lanes.
const PANEL: usize = 64;

/// [`super::dense::dense`] where only the first `rows` lanes count, of 16; the others get copies of those. Does nothing
/// and returns false where this is not the faster way or not one: too many rows, or outputs that are not a multiple of
/// 16 or not next to each other.
///
/// # Panics
/// If sizes and lengths disagree.
#[allow(clippy::too_many_arguments, reason = "those of `dense`, and the rows")]
pub fn dense_few(
    isa: Isa,
    out: &mut [f32],
    a: &[f32],
    w: Strided<'_>,
    bias: Option<Strided<'_>>,
    dims: DenseDims,
    rows: usize,
    after: After<'_>,
) -> bool {
    let DenseDims { k, n, r } = dims;
    let plain = w.col == 1 && n % LANES == 0 && bias.is_none_or(|b| b.row == 1) && slice_len(k) >= k;
    let tanh = matches!(after, After::Tanh);
    if rows > MOST || r != LANES || !plain || matches!(after, After::Slope(_)) {
        return false;
    }
    assert!(out.len() == n * r && a.len() >= k * r, "dense: tiles of {} and {}", out.len(), a.len());
    w.check("dense weights", k, n);
    if let Some(bias) = bias {
        bias.check("dense bias", n, 1);
    }
    let few = Few {
        rows: rows.div_ceil(ROWS) * ROWS,
        k,
        n,
        a: a.as_ptr(),
        w: w.values.as_ptr(),
        w_row: w.row,
        bias: bias.map_or(std::ptr::null(), |b| b.values.as_ptr()),
        out: out.as_mut_ptr(),
        tanh,
    };
    // SAFETY of the body: lengths checked above; `out` is borrowed mutably, so apart from the others.
    per_vector!(isa, body, (few: Few));
    true
}

#[derive(Clone, Copy)]
struct Few {
    /// 4 or 8.
    rows: usize,
    k: usize,
    n: usize,
    /// `[k][16]`
    a: *const f32,
    w: *const f32,
    w_row: usize,
    /// Null for none.
    bias: *const f32,
    /// `[n][16]`
    out: *mut f32,
    tanh: bool,
}

#[inline(always)]
unsafe fn body<V: Vector>(p: Few) {
    // Results `[lane][output]`, where lane l is row l mod p.rows.
    let mut turned = [[0.0f32; PANEL]; LANES];
    let mut start = 0;
    while start < p.n {
        let cols = PANEL.min(p.n - start);
        let mut row = 0;
        while row < p.rows {
            let mut j = 0;
            // SAFETY: j + the registers' lanes <= cols <= 64, start + cols <= n, row + 4 <= 8.
            unsafe {
                while j < cols {
                    let left = (cols - j) / V::LANES;
                    let to = &mut turned[row..row + ROWS];
                    if V::REGISTERS >= 32 && left >= 4 {
                        tile::<V, 4>(&p, to, row, start, j);
                        j += 4 * V::LANES;
                    } else if left >= 2 {
                        tile::<V, 2>(&p, to, row, start, j);
                        j += 2 * V::LANES;
                    } else {
                        tile::<V, 1>(&p, to, row, start, j);
                        j += V::LANES;
                    }
                }
                for line in &mut turned[row..row + ROWS] {
                    if p.tanh {
                        let y = line.as_mut_ptr();
                        store(y, Map1::<ops::Tanh, _>(Contiguous(y), PhantomData), cols);
                    }
                }
            }
            row += ROWS;
        }
        for lane in p.rows..LANES {
            turned[lane] = turned[lane - p.rows];
        }
        let mut j = 0;
        while j < cols {
            // SAFETY: 16 outputs from start + j on exist.
            unsafe { V::transpose(p.out.add((start + j) * LANES), LANES, turned.as_ptr().cast::<f32>().add(j), PANEL) }
            j += LANES;
        }
        start += cols;
    }
}

/// Four rows from `row` on, `W` registers of outputs from `start + j` on.
// In wasm a function of its own, as the tile of `product`.
#[cfg_attr(not(target_arch = "wasm32"), inline(always))]
#[cfg_attr(target_arch = "wasm32", inline(never))]
#[allow(clippy::needless_range_loop, reason = "two indices name the register tile")]
unsafe fn tile<V: Vector, const W: usize>(p: &Few, to: &mut [[f32; PANEL]], row: usize, start: usize, j: usize) {
    // SAFETY: the caller has checked that rows and outputs exist.
    unsafe {
        let mut acc = [[V::splat(0.0); W]; ROWS];
        let (a, b) = (p.a.add(row), p.w.add(start + j));
        sum(&mut acc, &Steps { a, a_row: 1, a_inner: LANES, b, b_inner: p.w_row, count: p.k });
        for c in 0..W {
            let bias = match p.bias.is_null() {
                true => None,
                false => Some(V::load(p.bias.add(start + j + c * V::LANES))),
            };
            for r in 0..ROWS {
                let y = bias.map_or(acc[r][c], |b| acc[r][c].add(b));
                y.store(to[r].as_mut_ptr().add(j + c * V::LANES));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::dense::dense;
    use super::*;

    #[test]
    fn few_rows_give_the_same_bits_as_many() {
        let values = |n: usize, f: f32| (0..n).map(|i| (i as f32 * f).sin()).collect::<Vec<f32>>();
        for (k, n, rows) in [(1, 16, 1), (3, 32, 6), (4, 64, 4), (64, 64, 3), (64, 80, 8), (7, 208, 5)] {
            if cfg!(miri) && k > 3 {
                continue;
            }
            let (a, w, b) = (values(k * LANES, 0.7), values(k * n, 0.3), values(n, 0.9));
            let dims = DenseDims { k, n, r: LANES };
            let (w, b) = (Strided { values: &w, row: n, col: 1 }, Strided { values: &b, row: 1, col: 0 });
            for isa in Isa::available() {
                for (bias, after) in [(None, After::Linear), (Some(b), After::Linear), (Some(b), After::Tanh)] {
                    let (mut whole, mut few) = (vec![0.0; n * LANES], vec![f32::NAN; n * LANES]);
                    dense(isa, &mut whole, &a, w, bias, dims, after);
                    assert!(dense_few(isa, &mut few, &a, w, bias, dims, rows, after));
                    for (i, (x, y)) in whole.iter().zip(&few).enumerate() {
                        assert!(i % LANES >= rows || x.to_bits() == y.to_bits(), "{isa} {k} {n} {rows} {i}");
                        assert!(y.is_finite());
                    }
                }
            }
        }
    }

    #[test]
    fn what_does_not_suit_is_left_alone() {
        let x = vec![1.0; 16 * 64];
        let w = Strided { values: &x, row: 16, col: 1 };
        let mut out = vec![0.0; 16 * 16];
        let dims = DenseDims { k: 16, n: 16, r: LANES };
        assert!(!dense_few(Isa::detect(), &mut out, &x, w, None, dims, 9, After::Linear));
        let turned = Strided { values: &x, row: 1, col: 16 };
        assert!(!dense_few(Isa::detect(), &mut out, &x, turned, None, dims, 4, After::Linear));
        assert!(out.iter().all(|y| *y == 0.0));
    }
}
