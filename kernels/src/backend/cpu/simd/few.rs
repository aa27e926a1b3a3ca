//! Dense layers of few rows: a register holds outputs of one row, not rows of one output.

use super::dense::DenseDims;
use super::lanes::LANES;
use super::slice_len;
use super::strided::Strided;
use super::sum::{SumOperands, sum};
use super::vector::{Vector, per_vector};
use crate::backend::cpu::simd::isa::Isa;

/// Most rows that this pays for: half of the lanes.
const MOST: usize = 8;
/// Rows in registers at a time.
const ROWS: usize = 4;

/// How many rows [`dense_few`] computes where only the first `rows` lanes of 16 count, 4 or 8. None where it is not the
/// faster way or not one: too many rows, or outputs that are not a multiple of 16 or not next to each other.
pub fn few(w: Strided<'_>, bias: Option<Strided<'_>>, dims: DenseDims, rows: usize) -> Option<usize> {
    let DenseDims { k, n, r } = dims;
    let plain = w.col == 1 && n % LANES == 0 && bias.is_none_or(|b| b.row == 1) && slice_len(k) >= k;
    (rows <= MOST && r == LANES && plain).then_some(rows.div_ceil(ROWS) * ROWS)
}

/// [`super::dense::dense`] of as many of the lanes as [`few`] says, turned: out\[row\]\[output\].
///
/// # Panics
/// If sizes and lengths disagree.
pub fn dense_few(
    isa: Isa,
    out: &mut [f32],
    a: &[f32],
    w: Strided<'_>,
    bias: Option<Strided<'_>>,
    dims: DenseDims,
    rows: usize,
) {
    let DenseDims { k, n, r } = dims;
    assert_eq!((r, rows % ROWS, n % LANES, w.col), (LANES, 0, 0, 1), "dense: not for few rows");
    assert!(rows <= MOST && out.len() >= n * rows && a.len() >= k * r, "dense: tiles of {} and {}", out.len(), a.len());
    w.check("dense weights", k, n);
    if let Some(bias) = bias {
        bias.check("dense bias", n, 1);
    }
    let few = Few {
        rows,
        k,
        n,
        a: a.as_ptr(),
        w: w.values.as_ptr(),
        w_row: w.row,
        bias: bias.map_or(std::ptr::null(), |b| b.values.as_ptr()),
        out: out.as_mut_ptr(),
    };
    // SAFETY of the body: lengths checked above; `out` is borrowed mutably, so apart from the others.
    per_vector!(isa, body, (few: Few));
}

/// The results of [`dense_few`] as lanes: out\[output\]\[lane\]. Lanes beyond the rows get copies of those;
/// `few` has room for as many rows as lanes.
///
/// # Panics
/// If sizes and lengths disagree.
pub fn turn(isa: Isa, out: &mut [f32], few: &mut [f32], rows: usize) {
    let n = out.len() / LANES;
    assert!(n.is_multiple_of(LANES) && few.len() >= out.len(), "dense: {n} outputs of {rows} rows");
    for row in (rows..LANES).step_by(rows) {
        few.copy_within(..rows.min(LANES - row) * n, row * n);
    }
    let (out, few) = (out.as_mut_ptr(), few.as_ptr());
    per_vector!(isa, turn_body, (out: *mut f32, few: *const f32, n: usize));
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
    /// `[rows][n]`
    out: *mut f32,
}

#[inline(always)]
unsafe fn body<V: Vector>(p: Few) {
    let mut row = 0;
    while row < p.rows {
        let mut j = 0;
        // SAFETY: j + the registers' lanes <= n, row + 4 <= 8.
        unsafe {
            while j < p.n {
                let left = (p.n - j) / V::LANES;
                if V::REGISTERS >= 32 && left >= 4 {
                    tile::<V, 4>(&p, row, j);
                    j += 4 * V::LANES;
                } else if left >= 2 {
                    tile::<V, 2>(&p, row, j);
                    j += 2 * V::LANES;
                } else {
                    tile::<V, 1>(&p, row, j);
                    j += V::LANES;
                }
            }
        }
        row += ROWS;
    }
}

#[inline(always)]
unsafe fn turn_body<V: Vector>(out: *mut f32, few: *const f32, n: usize) {
    let mut start = 0;
    while start < n {
        // SAFETY: 16 outputs from `start` on exist, in 16 rows.
        unsafe { V::transpose(out.add(start * LANES), LANES, few.add(start), n) }
        start += LANES;
    }
}

/// Four rows from `row` on, `W` registers of outputs from `j` on.
// In wasm a function of its own, as the tile of `product`.
#[cfg_attr(not(target_arch = "wasm32"), inline(always))]
#[cfg_attr(target_arch = "wasm32", inline(never))]
#[allow(clippy::needless_range_loop, reason = "two indices name the register tile")]
unsafe fn tile<V: Vector, const W: usize>(p: &Few, row: usize, j: usize) {
    // SAFETY: the caller has checked that rows and outputs exist.
    unsafe {
        let mut acc = [[V::splat(0.0); W]; ROWS];
        let (a, b) = (p.a.add(row), p.w.add(j));
        sum(&mut acc, &SumOperands { a, a_row: 1, a_inner: LANES, b, b_inner: p.w_row, count: p.k });
        for c in 0..W {
            let bias = match p.bias.is_null() {
                true => None,
                false => Some(V::load(p.bias.add(j + c * V::LANES))),
            };
            for r in 0..ROWS {
                let y = bias.map_or(acc[r][c], |b| acc[r][c].add(b));
                y.store(p.out.add((row + r) * p.n + j + c * V::LANES));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::dense::{Epilogue, dense};
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
                for bias in [None, Some(b)] {
                    let (mut whole, mut turned) = (vec![0.0; n * LANES], vec![f32::NAN; n * LANES]);
                    dense(isa, &mut whole, &a, w, bias, dims, Epilogue::Linear);
                    let lanes = few(w, bias, dims, rows).unwrap();
                    assert!(lanes >= rows && lanes < rows + ROWS);
                    let mut results = vec![f32::NAN; LANES * n];
                    dense_few(isa, &mut results, &a, w, bias, dims, lanes);
                    turn(isa, &mut turned, &mut results, lanes);
                    for (i, (x, y)) in whole.iter().zip(&turned).enumerate() {
                        assert!(i % LANES >= rows || x.to_bits() == y.to_bits(), "{isa} {k} {n} {rows} {i}");
                        assert!(y.is_finite());
                    }
                }
            }
        }
    }

    #[test]
    fn what_does_not_suit_is_told() {
        let x = vec![1.0; 16 * 64];
        let (plain, turned) = (Strided { values: &x, row: 16, col: 1 }, Strided { values: &x, row: 1, col: 16 });
        let dims = DenseDims { k: 16, n: 16, r: LANES };
        assert_eq!([4, 5, 9].map(|rows| few(plain, None, dims, rows)), [Some(4), Some(8), None]);
        assert_eq!([few(turned, None, dims, 4), few(plain, None, DenseDims { n: 15, ..dims }, 4)], [None, None]);
        assert_eq!(few(plain, None, DenseDims { r: 32, ..dims }, 4), None);
    }
}
