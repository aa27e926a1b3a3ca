//! Baselines fitted to each batch by least squares.

use serde::{Deserialize, Serialize};

use super::Paths;
use crate::Tensor;

/// Which baseline is subtracted from returns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Baseline {
    /// None: 0.
    Zero,
    /// Linear in 1, τ, τ², τ³ with τ = t/100.
    LinearTime,
    /// Linear in observations limited to ±10, their squares, and 1, τ, τ², τ³: Duan et al. 2016, arXiv:1604.06778.
    #[default]
    LinearFeature,
}

/// Added to the diagonal of the normal equations.
pub const REGULARISATION: f64 = 1e-5;

impl Baseline {
    /// Predictions of `targets: [T, K, N, 1]` where steps are valid, 0 elsewhere; fitted per row of K on those targets.
    #[track_caller]
    pub fn fit_predict(self, paths: &Paths, targets: Tensor) -> Tensor {
        let shape = targets.shape();
        let [t, k, n, _] = shape[..] else {
            return Tensor::poison();
        };
        let time = || Tensor::iota(&[t, 1, 1, 1], 0).to_f32() * 0.01;
        let powers = || {
            let tau = time();
            [tau, tau.square(), tau * tau.square(), Tensor::ones(&[t, 1, 1, 1])].map(|x| x.broadcast_to(&shape))
        };
        let features = match self {
            Baseline::Zero => return Tensor::zeros(&shape),
            Baseline::LinearTime => Tensor::concat(&powers(), 3),
            Baseline::LinearFeature => {
                let obs = paths.obs.clamp(-10.0, 10.0);
                Tensor::concat(&[&[obs, obs.square()][..], &powers()].concat(), 3)
            }
        };
        let width = features.size(3);
        let rows = |x: Tensor, width: usize| {
            let x = paths.valid.select(x, Tensor::constant_f32(0.0));
            x.permute(&[1, 0, 2, 3]).reshape(&[k, t * n, width])
        };
        let fitted = least_squares(rows(features, width), rows(targets, 1), REGULARISATION);
        fitted.reshape(&[k, t, n, 1]).permute(&[1, 0, 2, 3])
    }
}

/// F w with the w that minimises ‖F w − y‖² + r ‖w‖²: `features: [K, B, n]`, `targets: [K, B, 1]` → `[K, B, 1]`.
///
/// By modified Gram–Schmidt on the features with √r · 1 below them. The normal equations FᵀF w = Fᵀy, of powers of
/// time, have a condition number that f32 cannot hold; that of F is its root.
#[track_caller]
pub fn least_squares(features: Tensor, targets: Tensor, regularisation: f64) -> Tensor {
    let (k, rows, n) = (features.size(0), features.size(1), features.size(2));
    let diagonal = Tensor::iota(&[1, n, n + 1], 1).eq(Tensor::iota(&[1, n, n + 1], 2)).to_f32();
    let below = (diagonal * regularisation.sqrt()).broadcast_to(&[k, n, n + 1]);
    // The targets are the last column: what remains of them is the residual.
    let mut rest = Tensor::concat(&[Tensor::concat(&[features, targets], 2), below], 1);
    for column in 0..n {
        let first = rest.slice(2, 0, 1);
        let others = rest.slice(2, 1, n + 1 - column);
        let square = first.square().sum_keep(1);
        let along = first.matmul_with(others, true, false) * square.recip();
        rest = others - first * along;
    }
    targets - rest.slice(1, 0, rows)
}
