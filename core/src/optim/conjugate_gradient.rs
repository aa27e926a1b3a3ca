//! Conjugate gradients.

use crate::Tensor;
use crate::tensor::scan_tree;

/// Residual rᵀr below which the solution counts as found.
const RESIDUAL: f64 = 1e-10;

/// A search under way: the solution so far, its residual r and rᵀr, and the direction p.
#[derive(Clone, Copy, Debug)]
struct Search {
    x: Tensor,
    r: Tensor,
    p: Tensor,
    rr: Tensor,
}

crate::tree!(Search: x, r, p, rr);

/// Products of corresponding rows: `[S, P]` and `[S, P]` → `[S, 1]`.
#[track_caller]
pub fn dot(a: Tensor, b: Tensor) -> Tensor {
    (a * b).sum_keep(1)
}

/// x with A x = b for a positive definite A, after at most `iterations` steps from x = 0: `b: [S, P]` → `[S, P]`.
///
/// `product` is v ↦ A v, `[S, P]` → `[S, P]`. Stops per row once rᵀr < 1e-10.
///
/// Hestenes and Stiefel 1952; as used in Schulman et al. 2015, arXiv:1502.05477, appendix C.
#[track_caller]
pub fn conjugate_gradient(b: Tensor, iterations: usize, product: impl FnOnce(Tensor) -> Tensor) -> Tensor {
    let init = Search { x: Tensor::zeros(&b.shape()), r: b, p: b, rr: dot(b, b) };
    let (found, _) = scan_tree(iterations, &init, &(), |_, Search { x, r, p, rr }, ()| {
        let z = product(p);
        let going = rr.lt(Tensor::constant_f32(RESIDUAL)).not();
        // A direction of no curvature gives no step rather than an infinite one.
        let curvature = dot(p, z);
        let usable = going.bit_and(curvature.gt(Tensor::constant_f32(0.0)));
        let (none, one) = (Tensor::constant_f32(0.0), Tensor::constant_f32(1.0));
        let alpha = usable.select(rr / usable.select(curvature, one), none);
        let (next_x, next_r) = (x + p * alpha, r - z * alpha);
        let next_rr = usable.select(dot(next_r, next_r), rr);
        let beta = usable.select(next_rr / usable.select(rr, one), none);
        (Search { x: next_x, r: next_r, p: usable.select(next_r + p * beta, p), rr: next_rr }, ())
    });
    found.x
}
