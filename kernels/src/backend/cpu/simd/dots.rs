//! Narrow products: fewer outputs than a register has lanes.
//!
//! Their sums have an order of their own, by which a register takes 16 inputs of one row: for each l below 16, all
//! inputs t with t % 16 = l are one chain of multiply-adds, and the 16 chains are added by the tree of
//! [`super::reduce`]. It depends on the sizes alone ([`in_lanes`]), so that every way to compute a product gives the
//! same bits.

use super::lanes::LANES;
use super::slice_len;
use super::strided::Strided;
use super::vector::{Vector, per_vector};
use crate::backend::cpu::simd::isa::Isa;

/// Tells whether sums of `k` inputs for `n` outputs have 16 chains, by t % 16. Those of weight gradients, whose summed
/// index is that of the rows, never do.
pub const fn in_lanes(k: usize, n: usize) -> bool {
    n < LANES && k >= 2 * LANES && k.is_multiple_of(LANES) && slice_len(k) >= k
}

/// The operands of a narrow product on rows.
#[derive(Clone, Copy, Debug)]
pub struct Dots<'a> {
    /// Inputs of a row next to each other; distance of rows.
    pub a: (&'a [f32], usize),
    /// Inputs of an output next to each other; distance of outputs.
    pub w: (&'a [f32], usize),
    /// Element (output, 0) is added to each row.
    pub bias: Option<Strided<'a>>,
    /// Rows, inputs and outputs.
    pub sizes: [usize; 3],
}

/// out\[r · row + n · col\] = Σ over k of a(r, k) · w(n, k) + bias(n), with (row, col) = `out_strides`.
///
/// # Panics
/// If sizes and lengths disagree, or sums have one chain ([`in_lanes`]).
pub fn dots(isa: Isa, out: &mut [f32], out_strides: [usize; 2], dots: Dots<'_>) {
    let Dots { a, w, bias, sizes: [rows, k, n] } = dots;
    assert!(in_lanes(k, n), "dots: {k} inputs and {n} outputs");
    Strided { values: a.0, row: a.1, col: 1 }.check("dots: inputs", rows, k);
    Strided { values: w.0, row: w.1, col: 1 }.check("dots: weights", n, k);
    Strided { values: out, row: out_strides[0], col: out_strides[1] }.check("dots: results", rows, n);
    if let Some(bias) = bias {
        bias.check("dots: bias", n, 1);
    }
    let raw = RawDots {
        rows,
        k,
        n,
        a: a.0.as_ptr(),
        a_row: a.1,
        w: w.0.as_ptr(),
        w_row: w.1,
        bias: bias.map_or(std::ptr::null(), |bias| bias.values.as_ptr()),
        bias_row: bias.map_or(0, |bias| bias.row),
        out: out.as_mut_ptr(),
        out_row: out_strides[0],
        out_col: out_strides[1],
    };
    // SAFETY of the body: all elements were checked above; `out` is borrowed mutably, so apart from the others.
    per_vector!(isa, body, (raw: RawDots));
}

#[derive(Clone, Copy)]
struct RawDots {
    rows: usize,
    k: usize,
    n: usize,
    a: *const f32,
    a_row: usize,
    w: *const f32,
    w_row: usize,
    /// Null for none.
    bias: *const f32,
    bias_row: usize,
    out: *mut f32,
    out_row: usize,
    out_col: usize,
}

#[inline(always)]
unsafe fn body<V: Vector>(p: RawDots) {
    for j in 0..p.n {
        let mut row = 0;
        // SAFETY: rows and outputs exist by the caller's promise.
        unsafe {
            // As many rows at a time as have their chains in registers.
            while V::LANES > 4 && row + 4 <= p.rows {
                some::<V, 4>(&p, row, j);
                row += 4;
            }
            while row < p.rows {
                some::<V, 1>(&p, row, j);
                row += 1;
            }
        }
    }
}

/// Output `j` of `R` rows from `row` on.
#[inline(always)]
#[allow(clippy::needless_range_loop, reason = "two indices name the registers")]
unsafe fn some<V: Vector, const R: usize>(p: &RawDots, row: usize, j: usize) {
    // SAFETY: rows and outputs exist by the caller's promise, and k is a multiple of 16.
    unsafe {
        let (a, w) = (p.a.add(row * p.a_row), p.w.add(j * p.w_row));
        let mut acc = [[V::splat(0.0); 4]; R];
        let mut t = 0;
        while t < p.k {
            for part in 0..LANES / V::LANES {
                let at = t + part * V::LANES;
                let w = V::load(w.add(at));
                for r in 0..R {
                    acc[r][part] = V::load(a.add(r * p.a_row + at)).mul_add(w, acc[r][part]);
                }
            }
            t += LANES;
        }
        for r in 0..R {
            let mut sum = V::tree(acc[r]);
            if !p.bias.is_null() {
                sum += *p.bias.add(j * p.bias_row);
            }
            *p.out.add((row + r) * p.out_row + j * p.out_col) = sum;
        }
    }
}

/// The operands of a narrow product on lanes.
#[derive(Clone, Copy, Debug)]
pub struct LaneDots<'a> {
    /// `[K][r]`
    pub a: &'a [f32],
    /// Element (k, n).
    pub w: Strided<'a>,
    /// Element (n, 0) is added to each lane.
    pub bias: Option<Strided<'a>>,
}

/// out\[n\]\[r\] = Σ over k of a\[k\]\[r\] · w(k, n) + bias(n): as [`dots`] to the bit, for operands on lanes. `r` is a
/// multiple of 16.
///
/// # Panics
/// If sizes and lengths disagree, or sums have one chain ([`in_lanes`]).
pub fn dots_of_lanes(isa: Isa, out: &mut [f32], operands: LaneDots<'_>, [k, n, r]: [usize; 3]) {
    let LaneDots { a, w, bias } = operands;
    assert!(in_lanes(k, n) && r.is_multiple_of(LANES), "dots: {k} inputs and {n} outputs of {r} lanes");
    assert!(out.len() == n * r && a.len() >= k * r, "dots: tiles of {} and {}", out.len(), a.len());
    w.check("dots: weights", k, n);
    if let Some(bias) = bias {
        bias.check("dots: bias", n, 1);
    }
    for (j, out) in out.chunks_exact_mut(r).enumerate() {
        let (to, a) = (out.as_mut_ptr(), a.as_ptr());
        let (w_row, w) = (w.row, w.values[j * w.col..].as_ptr());
        // SAFETY of the body: lengths checked above.
        per_vector!(isa, lane_body, (to: *mut f32, a: *const f32, w: *const f32, w_row: usize, k: usize, r: usize));
        if let Some(bias) = bias {
            let bias = bias.values[j * bias.row];
            out.iter_mut().for_each(|x| *x += bias);
        }
    }
}

#[inline(always)]
unsafe fn lane_body<V: Vector>(out: *mut f32, a: *const f32, w: *const f32, w_row: usize, k: usize, r: usize) {
    let mut lane = 0;
    while lane < r {
        // SAFETY: a register's lanes from `lane` on are within r, and t + l < k, a multiple of 16.
        unsafe {
            let mut acc = [V::splat(0.0); LANES];
            let mut t = 0;
            while t < k {
                for (l, acc) in acc.iter_mut().enumerate() {
                    let x = V::load(a.add((t + l) * r + lane));
                    *acc = x.mul_add(V::splat(*w.add((t + l) * w_row)), *acc);
                }
                t += LANES;
            }
            tree_of_lanes(acc).store(out.add(lane));
        }
        lane += V::LANES;
    }
}

/// The sum of 16 chains in each lane, by the tree.
///
/// # Safety
/// As of [`Vector`].
#[inline(always)]
pub(super) unsafe fn tree_of_lanes<V: Vector>(mut acc: [V; LANES]) -> V {
    let mut half = LANES / 2;
    while half > 0 {
        for l in 0..half {
            // SAFETY: by the caller's promise.
            acc[l] = unsafe { acc[l].add(acc[l + half]) };
        }
        half /= 2;
    }
    acc[0]
}

#[cfg(test)]
mod tests {
    use super::super::reduce::{Reduction, finish};
    use super::*;

    fn values(len: usize, step: f32) -> Vec<f32> {
        (0..len).map(|i| (i as f32 * step).sin()).collect()
    }

    #[test]
    fn sums_have_sixteen_chains_and_a_tree() {
        for isa in Isa::available() {
            for (k, n, rows) in [(32, 1, 1), (64, 1, 4), (64, 3, 5), (96, 15, 18), (256, 2, 37)] {
                if cfg!(miri) && k > 32 {
                    continue;
                }
                let (a, w, bias) = (values(rows * k, 0.7), values(n * k, 0.3), values(n, 0.9));
                let mut out = vec![f32::NAN; rows * n];
                let column = Strided { values: &bias, row: 1, col: 0 };
                let operands = Dots { a: (&a, k), w: (&w, k), bias: Some(column), sizes: [rows, k, n] };
                dots(isa, &mut out, [n, 1], operands);
                let lanes = rows.next_multiple_of(16);
                let turned: Vec<f32> =
                    (0..k * lanes).map(|i| a.get(i % lanes * k + i / lanes).copied().unwrap_or(2.0)).collect();
                let mut on_lanes = vec![f32::NAN; n * lanes];
                let strided = Strided { values: &w, row: 1, col: k };
                let operands = LaneDots { a: &turned, w: strided, bias: Some(column) };
                dots_of_lanes(isa, &mut on_lanes, operands, [k, n, lanes]);
                for (i, got) in out.iter().enumerate() {
                    let (r, j) = (i / n, i % n);
                    let mut acc = [0.0f32; 16];
                    for t in 0..k {
                        let (x, y) = (a[r * k + t], w[j * k + t]);
                        acc[t % 16] = if isa.fuses() { x.mul_add(y, acc[t % 16]) } else { x * y + acc[t % 16] };
                    }
                    let want = finish(Reduction::Sum, &acc) + bias[j];
                    assert_eq!(got.to_bits(), want.to_bits(), "{isa} {k} {n} at {r}, {j}");
                    assert_eq!(on_lanes[j * lanes + r].to_bits(), want.to_bits(), "{isa} {k} {n} on lanes {r}, {j}");
                }
            }
        }
    }

    #[test]
    fn general_products_have_the_same_order() {
        use super::super::gemm::{GemmDims, gemm};
        let (m, k, n) = if cfg!(miri) { (2, 32, 1) } else { (197, 64, 3) };
        let (a, w) = (values(m * k, 0.7), values(n * k, 0.3));
        for isa in Isa::available() {
            let mut want = vec![f32::NAN; m * n];
            dots(isa, &mut want, [n, 1], Dots { a: (&a, k), w: (&w, k), bias: None, sizes: [m, k, n] });
            let turned: Vec<f32> = (0..m * k).map(|i| a[i % m * k + i / m]).collect();
            let b = Strided { values: &w, row: 1, col: k };
            for a in [Strided { values: &a, row: k, col: 1 }, Strided { values: &turned, row: 1, col: m }] {
                let mut got = vec![f32::NAN; m * n];
                let dims = GemmDims { m, k, n, over_rows: false };
                gemm(isa, &mut got, n, a, b, dims, &mut Vec::new());
                assert!(got.iter().zip(&want).all(|(x, y)| x.to_bits() == y.to_bits()), "{isa}");
                gemm(isa, &mut got, n, a, b, GemmDims { over_rows: true, ..dims }, &mut Vec::new());
                assert!(got.iter().zip(&want).any(|(x, y)| x.to_bits() != y.to_bits()), "{isa}");
            }
        }
    }

    #[test]
    fn the_order_depends_on_sizes() {
        assert!(in_lanes(32, 1) && in_lanes(64, 15) && in_lanes(1024, 2));
        assert!(!in_lanes(16, 1) && !in_lanes(64, 16) && !in_lanes(65, 1) && !in_lanes(2048, 1));
    }
}
