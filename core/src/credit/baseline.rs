//! Baselines fitted to each batch by least squares.

use std::panic::Location;

use super::Paths;
use crate::tensor::fail;
use crate::{Error, Tensor};

/// Which baseline is subtracted from returns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Baseline {
    /// None: 0.
    Zero,
    /// Linear in 1, τ, τ², τ³ with τ = t/100.
    LinearTime,
    /// Linear in observations limited to ±10, their squares, and 1, τ, τ², τ³: Duan et al. 2016, arXiv:1604.06778.
    #[default]
    LinearFeature,
    /// Linear in observations limited to ±10, their squares, and 1: [`multi_feature`] of the observations alone.
    MultiFeature,
}

crate::words!(Baseline {
    LinearFeature = "linear_feature",
    LinearTime = "linear_time",
    MultiFeature = "multi_feature",
    Zero = "zero",
});

/// A named input of a baseline.
#[derive(Clone, Copy, Debug)]
pub struct Feature<'a> {
    /// Name in messages.
    pub name: &'a str,
    /// `[T, K, N, D]`
    pub values: Tensor,
}

/// Added to the diagonal of the normal equations.
pub const REGULARISATION: f64 = 1e-5;

impl Baseline {
    /// Predictions of `targets: [T, K, N, 1]` where steps are valid, 0 elsewhere; fitted per row of K on those targets.
    #[track_caller]
    pub fn fit_predict(self, paths: &Paths, targets: Tensor) -> Tensor {
        let shape = targets.shape();
        let t = targets.size(0);
        let time = || Tensor::iota(&[t, 1, 1, 1], 0).to_f32() * 0.01;
        let powers = || {
            let tau = time();
            [tau, tau.square(), tau * tau.square(), Tensor::ones(&[t, 1, 1, 1])].map(|x| x.broadcast_to(&shape))
        };
        let obs = Feature { name: "obs", values: paths.obs };
        let features = match self {
            Baseline::Zero => return Tensor::zeros(&shape),
            Baseline::MultiFeature => return multi_feature(paths, &[obs], targets),
            Baseline::LinearTime => powers().to_vec(),
            Baseline::LinearFeature => [&with_square(obs.values)[..], &powers()].concat(),
        };
        fit(paths, &features, targets)
    }
}

/// Features limited to ±10, and their squares.
fn with_square(values: Tensor) -> [Tensor; 2] {
    let limited = values.clamp(-10.0, 10.0);
    [limited, limited.square()]
}

/// Predictions of `targets: [T, K, N, 1]`, linear in each feature limited to ±10, its square, and 1; no terms of time.
///
/// As `LinearMultiFeatureBaseline` of garage. What depends on the action itself, such as the action, makes policy gradients biased. An
/// error of the trace if a feature has no number for each step.
#[track_caller]
pub fn multi_feature(paths: &Paths, features: &[Feature<'_>], targets: Tensor) -> Tensor {
    let shape = targets.shape();
    let mut columns = Vec::with_capacity(2 * features.len() + 1);
    for Feature { name, values } in features {
        let got = values.shape();
        if got.len() != shape.len() || got[..3] != shape[..3] {
            let at = Location::caller().to_string();
            let (got, expected) = (format!("{got:?} as feature `{name}`"), format!("{:?} and its width", &shape[..3]));
            fail(Error::Shape { op: "multi_feature", expected, got, at });
            return Tensor::poison();
        }
        columns.extend(with_square(*values));
    }
    columns.push(Tensor::ones(&shape));
    fit(paths, &columns, targets)
}

/// The least-squares fit of each row of K, over valid steps.
#[track_caller]
fn fit(paths: &Paths, features: &[Tensor], targets: Tensor) -> Tensor {
    let shape = targets.shape();
    let [t, k, n, _] = shape[..] else {
        return Tensor::poison();
    };
    let features = Tensor::concat(features, 3);
    let rows = |x: Tensor| {
        let width = x.size(3);
        let x = paths.valid.select(x, Tensor::constant_f32(0.0));
        x.permute(&[1, 0, 2, 3]).reshape(&[k, t * n, width])
    };
    let fitted = least_squares(rows(features), rows(targets), REGULARISATION);
    fitted.reshape(&[k, t, n, 1]).permute(&[1, 0, 2, 3])
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
