//! A Gaussian squashed into −1 to 1.
//!
//! Haarnoja et al. 2018, arXiv:1801.01290, appendix C.

use super::{Gaussian, RowNoise};
use crate::Tensor;

/// Kept away from 0 in the logarithm of tanh's derivative, and from ±1 in the inverse of tanh (as garage's
/// `TanhNormal`).
const GUARD: f64 = 1e-6;

/// The distribution of tanh u, where u is a vector of independent Gaussians.
#[derive(Clone, Copy, Debug)]
pub struct SquashedGaussian {
    inner: Gaussian,
}

impl SquashedGaussian {
    /// From means and logarithms of standard deviations of u, `[S, B, A]` each; the latter are limited to
    /// [`LOG_STD_RANGE`](super::LOG_STD_RANGE).
    #[track_caller]
    pub fn new(mean: Tensor, log_std: Tensor) -> SquashedGaussian {
        SquashedGaussian { inner: Gaussian::with_log_std(mean, log_std) }
    }

    /// The Gaussian of u, before the tanh.
    #[must_use]
    pub(super) fn of(inner: Gaussian) -> SquashedGaussian {
        SquashedGaussian { inner }
    }

    /// u of a draw per row, `[S, B, A]`; the action is its tanh.
    #[track_caller]
    pub fn sample(&self, noise: &RowNoise) -> Tensor {
        self.inner.sample(noise)
    }

    /// u that standard normal numbers `[S, B, A]` lead to.
    #[track_caller]
    pub fn disturbed(&self, normal: Tensor) -> Tensor {
        self.inner.disturbed(normal)
    }

    /// The logarithm of u's standard deviation, `[S, B, A]`.
    #[must_use]
    pub fn log_std(&self) -> Tensor {
        self.inner.log_std()
    }

    /// u's mean, `[S, B, A]`.
    #[track_caller]
    pub fn middle(&self) -> Tensor {
        self.inner.mode()
    }

    /// tanh of u's mean, `[S, B, A]`.
    #[track_caller]
    pub fn mode(&self) -> Tensor {
        self.inner.mode().tanh()
    }

    /// Joint log-density of tanh u, `[S, B, A]` → `[S, B, 1]`: Σ ln N(u; μ, σ) − ln(1 − tanh² u + 10⁻⁶).
    #[track_caller]
    pub fn log_prob_before(&self, u: Tensor) -> Tensor {
        // 1 − tanh² u in a form that keeps its digits where tanh is close to 1, and cannot fall below 0.
        let e = (u.abs() * -2.0).exp();
        let derivative = e * 4.0 * (e + 1.0).square().recip();
        self.inner.log_prob(u) - (derivative + GUARD).log().sum_keep(2)
    }

    /// Joint log-density of an action whose u is not known, `[S, B, A]` → `[S, B, 1]`.
    #[track_caller]
    pub fn log_prob(&self, action: Tensor) -> Tensor {
        let u = (((1.0 + GUARD) + action) * ((1.0 + GUARD) - action).recip()).log() * 0.5;
        let derivative = (1.0 - action.square()).max(Tensor::constant_f32(0.0));
        self.inner.log_prob(u) - (derivative + GUARD).log().sum_keep(2)
    }

    /// Entropy of u, `[S, B, 1]`; that of tanh u has no closed form.
    #[track_caller]
    pub fn entropy_before(&self) -> Tensor {
        self.inner.entropy()
    }
}
