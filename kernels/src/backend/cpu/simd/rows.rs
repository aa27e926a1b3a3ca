//! Dense layers on row-major tiles.
//!
//! A tile `[R][M]` has the M values of a row next to each other, so that a register holds outputs of one row. Weights
//! are then the contiguous operand of a product, rows need no padding, and a weight gradient, which sums over rows,
//! needs no transposition. Sums have the order of [`super::dense`] and [`super::reduce`]: the same bits.

use super::dense::Epilogue;
use super::lanes::LANES;
use super::pack::transpose;
use super::product::{Finish, Product};
use super::slice_len;
use super::strided::Strided;
use super::vector::{Vector, per_vector};
use crate::backend::cpu::simd::isa::Isa;

/// Sizes of a dense layer on rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowDims {
    /// Rows.
    pub rows: usize,
    /// Inputs.
    pub k: usize,
    /// Outputs, a multiple of 16.
    pub n: usize,
}

/// Tells whether row-major kernels compute `n` outputs of `k` inputs: outputs fill registers, and sums are one chain.
pub fn suits(k: usize, n: usize) -> bool {
    n > 0 && n.is_multiple_of(LANES) && slice_len(k) >= k
}

/// out\[r\]\[n\] = act(Σ over k of a(r, k) · w\[k\]\[n\] + bias\[n\]), as [`super::dense::dense`] to the bit.
///
/// Rows of `w` are `w_row` apart; act is what `after` says, whose other operands or results lie as `out`.
///
/// # Panics
/// If sizes and lengths disagree, or the kernel does not suit ([`suits`]).
#[allow(clippy::too_many_arguments, reason = "the operands of a layer, as `dense` has them")]
pub fn dense_rows(
    isa: Isa,
    out: &mut [f32],
    a: Strided<'_>,
    w: &[f32],
    w_row: usize,
    bias: Option<&[f32]>,
    dims: RowDims,
    mut after: Epilogue<'_>,
) {
    let RowDims { rows, k, n } = dims;
    assert!(suits(k, n), "rows: {k} inputs and {n} outputs");
    assert!(out.len() == rows.saturating_mul(n), "rows: {} results", out.len());
    assert!(bias.is_none_or(|bias| bias.len() >= n), "rows: a bias for each output");
    a.check("inputs of rows", rows, k);
    Strided { values: w, row: w_row, col: 1 }.check("weights of rows", k, n);
    let other = match &after {
        Epilogue::Slope(y) | Epilogue::Gate(y) => y.len(),
        Epilogue::Relu(Some(y)) => y.len(),
        Epilogue::Linear | Epilogue::Tanh | Epilogue::Relu(None) => out.len(),
    };
    assert!(other >= out.len(), "rows: values of the activation and results");
    let c = out.as_mut_ptr();
    let product = Product {
        rows,
        cols: n,
        inner: k,
        a: a.values.as_ptr(),
        a_row: a.row,
        a_inner: a.col,
        b: w.as_ptr(),
        b_inner: w_row,
        c,
        c_row: n,
        resume: false,
        bias: std::ptr::null(),
        bias_row: 0,
        col_bias: bias.map_or(std::ptr::null(), <[f32]>::as_ptr),
        after: match after {
            Epilogue::Linear => Finish::Linear,
            Epilogue::Tanh => Finish::Tanh,
            Epilogue::Slope(y) => Finish::Slope(y.as_ptr()),
            Epilogue::Relu(None) => Finish::Relu(c),
            Epilogue::Relu(Some(ref mut y)) => Finish::Relu(y.as_mut_ptr()),
            Epilogue::Gate(x) => Finish::Gate(x.as_ptr()),
        },
    };
    // SAFETY: lengths checked above; `out` is borrowed mutably, so apart from the others.
    unsafe { product.run(isa) }
}

/// The operands of a weight gradient, of which at least one is row-major.
#[derive(Clone, Copy, Debug)]
pub struct RowOuter<'a> {
    /// The layer's inputs: element (row, input).
    pub a: Strided<'a>,
    /// The cotangents of its outputs: element (row, output).
    pub g: Strided<'a>,
    /// Rows, inputs and outputs.
    pub dims: RowDims,
}

impl RowOuter<'_> {
    /// Tells whether its kernel computes it: the values of a row of one operand fill registers.
    pub fn suits(&self) -> bool {
        let full = |x: &Strided<'_>, m: usize| x.col == 1 && m.is_multiple_of(LANES);
        full(&self.a, self.dims.k) || full(&self.g, self.dims.n)
    }
}

/// dw\[k\]\[n\] = dw\[k\]\[n\] + Σ over rows of a(r, k) · g(r, n), the chain going on from what `dw` holds, as
/// [`super::dense::dense_accumulate_outer`] to the bit.
///
/// `scratch` is grown as needed and holds nothing of value between calls.
///
/// # Panics
/// If sizes and lengths disagree, or the kernel does not suit ([`RowOuter::suits`]).
pub fn outer_rows(isa: Isa, dw: &mut [f32], outer: RowOuter<'_>, scratch: &mut Vec<f32>) {
    let RowOuter { a, g, dims: RowDims { rows, k, n } } = outer;
    assert!(outer.suits() && dw.len() == k.saturating_mul(n), "rows: a gradient of {k} × {n} weights");
    a.check("inputs of rows", rows, k);
    g.check("cotangents of rows", rows, n);
    if rows == 0 {
        return;
    }
    let product = Product {
        rows: k,
        cols: n,
        inner: rows,
        a: a.values.as_ptr(),
        a_row: a.col,
        a_inner: a.row,
        b: g.values.as_ptr(),
        b_inner: g.row,
        c: dw.as_mut_ptr(),
        c_row: n,
        resume: true,
        bias: std::ptr::null(),
        bias_row: 0,
        col_bias: std::ptr::null(),
        after: Finish::Linear,
    };
    if g.col == 1 && n.is_multiple_of(LANES) {
        // SAFETY: elements checked above; `dw` is [k][n] and borrowed mutably.
        unsafe { product.run(isa) }
        return;
    }
    let turned = Product {
        rows: n,
        cols: k,
        a: g.values.as_ptr(),
        a_row: g.col,
        a_inner: g.row,
        b: a.values.as_ptr(),
        b_inner: a.row,
        c_row: k,
        ..product
    };
    if n == 1 {
        // SAFETY: elements checked above; `dw` is [k][1], which is [1][k].
        unsafe { turned.run(isa) }
        return;
    }
    if scratch.len() < n * k {
        scratch.resize(n * k, 0.0);
    }
    for (j, row) in scratch.chunks_exact_mut(k).take(n).enumerate() {
        row.iter_mut().enumerate().for_each(|(i, x)| *x = dw[i * n + j]);
    }
    // SAFETY: elements checked above; the scratch is [n][k].
    unsafe { Product { c: scratch.as_mut_ptr(), ..turned }.run(isa) }
    for (j, row) in scratch.chunks_exact(k).take(n).enumerate() {
        row.iter().enumerate().for_each(|(i, x)| dw[i * n + j] = *x);
    }
}

/// Add rows to accumulators: acc\[r % 16\]\[m\] = acc\[r % 16\]\[m\] + x\[r\]\[m\] in order of r: those of
/// [`super::reduce::accumulate_rows`], turned.
///
/// `x: [R][M]`, `acc: [16][M]`, M a multiple of 16. Rows may come in several calls if each but the last has a multiple
/// of 16.
///
/// # Panics
/// If `acc` is not 16 rows of whole registers.
pub fn sum_rows(isa: Isa, acc: &mut [f32], x: &[f32]) {
    let (len, all) = (acc.len(), x.len());
    assert!(len.is_multiple_of(LANES * LANES), "rows: accumulators of {len} values");
    let (acc, x) = (acc.as_mut_ptr(), x.as_ptr());
    per_vector!(isa, sum_body, (acc: *mut f32, len: usize, x: *const f32, all: usize));
}

#[inline(always)]
unsafe fn sum_body<V: Vector>(acc: *mut f32, len: usize, x: *const f32, all: usize) {
    let mut at = 0;
    while at < len {
        // SAFETY: a register from `at` on is within the accumulators, and one from `from` on within the rows, which are
        // whole registers long.
        unsafe {
            let mut sum = V::load(acc.add(at));
            let mut from = at;
            while from + V::LANES <= all {
                sum = sum.add(V::load(x.add(from)));
                from += len;
            }
            sum.store(acc.add(at));
        }
        at += V::LANES;
    }
}

/// Tells whether a chain sums rows of `m` numbers that lie row by row ([`super::chain::Work::Sums`]).
pub const fn whole_rows(m: usize) -> bool {
    m > 0 && m.is_multiple_of(LANES) && slice_len(m) >= m
}

/// Accumulators `[16][M]` of [`sum_rows`] as those of [`super::reduce::accumulate_rows`], `[M][16]`.
///
/// # Panics
/// If lengths disagree or M is no multiple of 16.
pub fn turn_sums(isa: Isa, turned: &mut [f32], acc: &[f32]) {
    assert!(turned.len() == acc.len() && acc.len().is_multiple_of(LANES * LANES), "rows: {} sums", acc.len());
    let n = acc.len() / LANES;
    transpose(isa, turned, LANES, acc, n, LANES, n);
}

/// A row-major tile as a lane-major one: out\[m\]\[r\] = x\[r\]\[m\], where lanes from `rows` on repeat the last row.
///
/// `out: [M][lanes]`, `x: [lanes][M]`, whose rows from `rows` to the next multiple of 16 are overwritten.
///
/// # Panics
/// If lengths disagree, or M or the lanes are no multiple of 16.
pub fn turn_rows(isa: Isa, out: &mut [f32], lanes: usize, x: &mut [f32], rows: usize) {
    let m = out.len() / lanes.max(1);
    let fits = lanes.is_multiple_of(LANES) && m.is_multiple_of(LANES) && x.len() >= m * lanes;
    assert!(fits && rows > 0 && rows <= lanes, "rows: a tile of {m} × {lanes} with {rows} rows");
    let padded = rows.next_multiple_of(LANES);
    for row in rows..padded {
        x.copy_within((rows - 1) * m..rows * m, row * m);
    }
    transpose(isa, out, lanes, x, m, padded, m);
    for out in out.chunks_exact_mut(lanes).filter(|_| padded < lanes) {
        let last = out[padded - 1];
        out[padded..].fill(last);
    }
}

#[cfg(test)]
mod tests {
    use super::super::dense::{DenseDims, Outer, dense, dense_accumulate_outer};
    use super::super::reduce::{Reduction, accumulate_rows};
    use super::*;

    fn values(len: usize, seed: u32) -> Vec<f32> {
        (0..len as u32)
            .map(|i| crate::rng::uniform(crate::rng::threefry2x32([seed, 7], [i, 3])[0]) * 2.0 - 1.0)
            .collect()
    }

    /// `[rows][m]` as `[m][lanes]`, lanes beyond the rows with other numbers.
    fn lanes_of(x: &[f32], m: usize, lanes: usize) -> Vec<f32> {
        let at = |i: usize| x.get(i % lanes * m + i / lanes).copied().unwrap_or(0.25);
        (0..m * lanes).map(at).collect()
    }

    fn same(got: &[f32], want: &[f32], what: &str) {
        for (i, (x, y)) in got.iter().zip(want).enumerate() {
            assert_eq!(x.to_bits(), y.to_bits(), "{what} at {i}: {x} {y}");
        }
        assert_eq!(got.len(), want.len(), "{what}");
    }

    const WIDTHS: &[usize] = if cfg!(miri) { &[16] } else { &[16, 32, 48, 64, 80, 128, 208, 304] };
    const INPUTS: &[usize] = if cfg!(miri) { &[2] } else { &[1, 2, 3, 4, 17, 64, 100, 300] };
    const ROWS: &[usize] = if cfg!(miri) { &[3] } else { &[1, 2, 3, 4, 5, 6, 7, 11, 12, 13, 16, 23, 100] };

    #[test]
    fn layers_equal_those_on_lanes() {
        for isa in Isa::available() {
            for (&n, &k) in WIDTHS.iter().flat_map(|n| INPUTS.iter().map(move |k| (n, k))) {
                for &rows in ROWS {
                    let lanes = rows.next_multiple_of(16);
                    let (x, w, bias) = (values(rows * k, 1), values(k * n, 2), values(n, 3));
                    let (turned, y) = (lanes_of(&x, k, lanes), values(rows * n, 4));
                    let y_lanes = lanes_of(&y, n, lanes);
                    let strided = Strided { values: &w, row: n, col: 1 };
                    let column = Strided { values: &bias, row: 1, col: 0 };
                    for name in ["linear", "tanh", "slope", "relu", "beside", "gate"] {
                        let with_bias = name != "slope";
                        let (mut beside, mut want_beside) = (vec![0.5; rows * n], vec![0.5; lanes * n]);
                        let (mut out, mut want) = (vec![f32::NAN; rows * n], vec![f32::NAN; lanes * n]);
                        let after = match name {
                            "tanh" => Epilogue::Tanh,
                            "slope" => Epilogue::Slope(&y_lanes),
                            "relu" => Epilogue::Relu(None),
                            "beside" => Epilogue::Relu(Some(&mut want_beside)),
                            "gate" => Epilogue::Gate(&y_lanes),
                            _ => Epilogue::Linear,
                        };
                        let dims = DenseDims { k, n, r: lanes };
                        dense(isa, &mut want, &turned, strided, with_bias.then_some(column), dims, after);
                        let own = Strided { values: &x, row: k, col: 1 };
                        let lane = Strided { values: &turned, row: 1, col: lanes };
                        for input in [own, lane] {
                            let after = match name {
                                "tanh" => Epilogue::Tanh,
                                "slope" => Epilogue::Slope(&y),
                                "relu" => Epilogue::Relu(None),
                                "beside" => Epilogue::Relu(Some(&mut beside)),
                                "gate" => Epilogue::Gate(&y),
                                _ => Epilogue::Linear,
                            };
                            let bias = with_bias.then_some(&bias[..]);
                            dense_rows(isa, &mut out, input, &w, n, bias, RowDims { rows, k, n }, after);
                            let what = format!("{isa} {name} {k} × {n}, {rows} rows");
                            let of =
                                |x: &[f32]| -> Vec<f32> { (0..rows * n).map(|i| x[i % n * lanes + i / n]).collect() };
                            same(&out, &of(&want), &what);
                            same(&beside, &of(&want_beside), &what);
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn weight_gradients_equal_those_on_lanes() {
        let mut scratch = Vec::new();
        for isa in Isa::available() {
            for (&n, &k) in WIDTHS.iter().flat_map(|n| INPUTS.iter().map(move |k| (n, k))) {
                for &rows in ROWS {
                    let lanes = rows.next_multiple_of(16);
                    // The wide one is row-major; the other lies either way.
                    let (wide, narrow) = (values(rows * n, 5), values(rows * k, 6));
                    let (wide_lanes, narrow_lanes) = (lanes_of(&wide, n, lanes), lanes_of(&narrow, k, lanes));
                    let row = |values, m| Strided { values, row: m, col: 1 };
                    let lane = |values| Strided { values, row: 1, col: lanes };
                    for other in [row(&narrow, k), lane(&narrow_lanes)] {
                        for backwards in [false, true] {
                            let (a, g) = if backwards { (row(&wide, n), other) } else { (other, row(&wide, n)) };
                            let (ka, ng) = if backwards { (n, k) } else { (k, n) };
                            let (al, gl) =
                                if backwards { (&wide_lanes, &narrow_lanes) } else { (&narrow_lanes, &wide_lanes) };
                            let mut want = values(ka * ng, 8);
                            let mut got = want.clone();
                            let on_lanes = Outer { a: al, g: gl, k: ka, n: ng, stride: lanes, rows };
                            dense_accumulate_outer(isa, &mut want, ng, on_lanes, &mut scratch);
                            let outer = RowOuter { a, g, dims: RowDims { rows, k: ka, n: ng } };
                            assert!(outer.suits());
                            outer_rows(isa, &mut got, outer, &mut scratch);
                            same(&got, &want, &format!("{isa} {ka} × {ng}, {rows} rows"));
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn sums_and_turned_tiles_equal_those_of_lanes() {
        for isa in Isa::available() {
            for &m in WIDTHS {
                for &rows in ROWS {
                    for lanes in [rows.next_multiple_of(16), 128] {
                        let mut x = values(lanes * m, 9);
                        let on_lanes = lanes_of(&x[..rows * m], m, lanes);
                        let (mut want, mut acc) = (values(16 * m, 10), vec![0.0; 16 * m]);
                        transpose(isa, &mut acc, m, &want, LANES, m, LANES);
                        accumulate_rows(isa, Reduction::Sum, &mut want, &on_lanes, lanes, 0..rows);
                        sum_rows(isa, &mut acc, &x[..rows * m]);
                        let mut turned = vec![0.0; 16 * m];
                        turn_sums(isa, &mut turned, &acc);
                        same(&turned, &want, &format!("{isa} sums of {m}, {rows} rows"));
                        let mut out = vec![f32::NAN; lanes * m];
                        turn_rows(isa, &mut out, lanes, &mut x, rows);
                        for (i, got) in out.iter().enumerate() {
                            let want = x[(i % lanes).min(rows - 1) * m + i / lanes];
                            assert_eq!(got.to_bits(), want.to_bits(), "{isa} {m} turned, {rows} rows, at {i}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn sizes_that_do_not_suit_are_told() {
        assert!(suits(1, 16) && suits(1024, 304));
        assert!(!suits(1025, 16) && !suits(4, 17) && !suits(4, 0));
    }
}
