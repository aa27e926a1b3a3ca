//! Products of rows with matrices of their own: small ones, such as the linear policies of a population's candidates.

use super::dots::{in_lanes, tree_of_lanes};
use super::lanes::LANES;
use super::slice_len;
use super::vector::{Vector, per_vector};
use crate::backend::cpu::simd::isa::Isa;

/// out\[n\]\[r\] = Σ over k of a\[k\]\[r\] · w\[k\]\[n\]\[r\], the same bits as
/// [`super::dense::dense`] with the matrix of each lane, or [`super::dots::dots_of_lanes`] where that is the order.
///
/// # Panics
/// If sizes and lengths disagree, `r` is no multiple of 16, or k is so large that sums are cut into slices.
pub fn row_product(isa: Isa, out: &mut [f32], a: &[f32], w: &[f32], [k, n]: [usize; 2], r: usize) {
    assert!(r.is_multiple_of(LANES) && slice_len(k) >= k, "row product: {k} × {n} on {r} lanes");
    assert!(out.len() == n * r && a.len() >= k * r && w.len() == k * n * r, "row product: tiles of other sizes");
    let rows = RowProduct { k, n, r, a: a.as_ptr(), w: w.as_ptr(), out: out.as_mut_ptr() };
    // SAFETY of the body: lengths checked above; `out` is borrowed mutably, so apart from the others.
    per_vector!(isa, body, (rows: RowProduct));
}

#[derive(Clone, Copy)]
struct RowProduct {
    k: usize,
    n: usize,
    r: usize,
    a: *const f32,
    w: *const f32,
    out: *mut f32,
}

#[inline(always)]
unsafe fn body<V: Vector>(RowProduct { k, n, r, a, w, out }: RowProduct) {
    for lane in (0..r).step_by(V::LANES) {
        for j in 0..n {
            // SAFETY: i < k, j < n, and a register's lanes from `lane` on are within r, a multiple of 16.
            unsafe {
                // One chain, or as many as [`in_lanes`] asks for.
                let mut acc = [V::splat(0.0); LANES];
                let chains = if in_lanes(k, n) { LANES } else { 1 };
                for t in (0..k).step_by(chains) {
                    for (l, acc) in acc.iter_mut().take(chains).enumerate() {
                        let i = t + l;
                        let x = V::load(a.add(i * r + lane));
                        *acc = V::load(w.add((i * n + j) * r + lane)).mul_add(x, *acc);
                    }
                }
                let sum = if chains > 1 { tree_of_lanes(acc) } else { acc[0] };
                sum.store(out.add(j * r + lane));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::cpu::simd::dense::{DenseDims, Epilogue, dense};
    use crate::backend::cpu::simd::dots::{LaneDots, dots_of_lanes};
    use crate::backend::cpu::simd::strided::Strided;

    #[test]
    fn each_lane_equals_a_layer_with_its_matrix() {
        for (k, n, r) in [(5, 3, 32), (48, 2, 16), (32, 16, 16)] {
            check(k, n, r);
        }
    }

    fn check(k: usize, n: usize, r: usize) {
        let values = |len: usize, step: f32| (0..len).map(|i| (i as f32 * step).sin()).collect::<Vec<f32>>();
        let (a, w) = (values(k * r, 0.7), values(k * n * r, 0.3));
        for isa in Isa::available() {
            let mut out = vec![f32::NAN; n * r];
            row_product(isa, &mut out, &a, &w, [k, n], r);
            for lane in 0..r {
                let own: Vec<f32> = w.iter().skip(lane).step_by(r).copied().collect();
                let mut one = vec![f32::NAN; n * r];
                let matrix = Strided { values: &own, row: n, col: 1 };
                match in_lanes(k, n) {
                    true => dots_of_lanes(isa, &mut one, LaneDots { a: &a, w: matrix, bias: None }, [k, n, r]),
                    false => dense(isa, &mut one, &a, matrix, None, DenseDims { k, n, r }, Epilogue::Linear),
                }
                for j in 0..n {
                    assert_eq!(
                        out[j * r + lane].to_bits(),
                        one[j * r + lane].to_bits(),
                        "{isa} output {j} lane {lane}"
                    );
                }
            }
        }
    }
}
