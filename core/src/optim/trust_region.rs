//! Natural-gradient steps inside of a trust region, as TRPO makes them.

use super::conjugate_gradient::{conjugate_gradient, dot};
use crate::grad::value_and_grad;
use crate::nn::Layout;
use crate::tensor::{scan_tree, tree};
use crate::{Error, Result, Tensor};

/// How products with the constraint's Hessian are computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Hessian {
    /// By differentiating twice.
    #[default]
    Exact,
    /// (g(θ + εv) − g(θ − εv)) / 2ε with ε = 1e-5: as ProMP. Cheaper for second-order objectives, and in f32 noisy.
    FiniteDifferences,
}

/// Distance of the points of [`Hessian::FiniteDifferences`].
const EPSILON: f64 = 1e-5;

/// A trust region.
///
/// Schulman et al. 2015, arXiv:1502.05477, appendix C: s = H⁻¹ g by conjugate gradients, scaled to the boundary, then
/// the first of the steps 1, ρ, ρ², … that lowers the loss and keeps to the constraint; none if none does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TrustRegion {
    /// Largest constraint δ, above 0.
    pub delta: f64,
    /// Conjugate-gradient iterations.
    pub cg_iterations: usize,
    /// Added to the Hessian's diagonal.
    pub damping: f64,
    /// Most steps tried.
    pub backtracks: usize,
    /// ρ, in (0, 1).
    pub backtrack_ratio: f64,
    /// The Hessian's products.
    pub hessian: Hessian,
}

impl Default for TrustRegion {
    fn default() -> Self {
        TrustRegion {
            delta: 0.01,
            cg_iterations: 10,
            damping: 1e-5,
            backtracks: 15,
            backtrack_ratio: 0.8,
            hessian: Hessian::Exact,
        }
    }
}

/// A function of the slices of θ, → `[S, 1]`.
type Of<'a> = &'a dyn Fn(&[Tensor]) -> Tensor;

/// What a step did, each `[S, 1]`.
#[derive(Clone, Copy, Debug)]
pub struct TrustStep {
    /// θ after it, `[S, P]`.
    pub theta: Tensor,
    /// Loss before.
    pub loss_before: Tensor,
    /// Loss after.
    pub loss_after: Tensor,
    /// Constraint after.
    pub constraint: Tensor,
    /// 1 if a step was accepted, as f32.
    pub accepted: Tensor,
    /// Norm of the gradient.
    pub grad_norm: Tensor,
    /// Length of the accepted step relative to the first one tried, 0 if none was accepted.
    pub scale: Tensor,
    /// 1 if the gradient or the direction was not finite, as f32.
    pub broken: Tensor,
}

/// The best of the steps that were tried: its θ `[S, P]`, loss, constraint and length, `[S, 1]` each.
#[derive(Clone, Copy, Debug)]
struct Kept {
    theta: Tensor,
    loss: Tensor,
    constraint: Tensor,
    scale: Tensor,
}

tree!(Kept: theta, loss, constraint, scale);

impl TrustRegion {
    /// Every value; keys are those of the algorithms' settings.
    ///
    /// # Errors
    /// [`Error::Config`] with the first setting that cannot work.
    pub fn validate(&self) -> Result<()> {
        Error::in_range("max_kl", self.delta, self.delta > 0.0, "above 0")?;
        Error::in_range("damping", self.damping, self.damping >= 0.0, "0 or more")?;
        let ratio = self.backtrack_ratio;
        Error::in_range("backtrack_ratio", ratio, ratio > 0.0 && ratio < 1.0, "between 0 and 1")?;
        for (key, value) in [("cg_iterations", self.cg_iterations), ("backtracks", self.backtracks)] {
            if value == 0 || value > 1000 {
                return Err(Error::config(key, format!("{value} is not in 1 to 1000")));
            }
        }
        Ok(())
    }

    /// One step. `loss` and `constraint` are functions of the slices of θ, → `[S, 1]`; `theta: [S, P]`.
    #[track_caller]
    pub fn step(
        &self,
        layout: &Layout,
        theta: Tensor,
        loss: impl Fn(&[Tensor]) -> Tensor,
        constraint: impl Fn(&[Tensor]) -> Tensor,
    ) -> TrustStep {
        self.step_by(layout, theta, &loss, &constraint)
    }

    /// Without type parameters, so that it is compiled once and not for every loss.
    #[track_caller]
    fn step_by(&self, layout: &Layout, theta: Tensor, loss: Of<'_>, constraint: Of<'_>) -> TrustStep {
        let parts = layout.split(theta);
        let (_, grads) = value_and_grad(&parts, |p| loss(p).sum_all());
        let g = layout.join(&grads);
        let hessian = |v: Tensor| self.product(layout, theta, v, constraint) + v * self.damping;
        let direction = conjugate_gradient(g, self.cg_iterations, hessian);
        let none = Tensor::constant_f32(0.0);
        let curvature = dot(direction, hessian(direction)) + 1e-8;
        let scale = ((2.0 * self.delta) / curvature.max(Tensor::constant_f32(1e-12))).sqrt();
        let full = direction * scale;
        let finite = dot(full, full).non_finite().not();
        let full = finite.select(full, none);
        let before = loss(&parts);
        let ratios: Vec<f64> = (0..self.backtracks).map(|k| self.backtrack_ratio.powi(k as i32)).collect();
        let zero = Tensor::zeros(&before.shape());
        let init = Kept { theta, loss: before, constraint: zero, scale: zero };
        let (kept, _) = scan_tree(self.backtracks, &init, &Tensor::literal_f32(&ratios), |_, kept: Kept, ratio| {
            let tried = theta - full * ratio;
            let parts = layout.split(tried);
            let (loss, constraint) = (loss(&parts), constraint(&parts));
            let better = loss.lt(before).bit_and(constraint.gt(Tensor::constant_f32(self.delta)).not());
            let sound = loss.non_finite().bit_or(constraint.non_finite()).not();
            let open = kept.scale.gt(none).not();
            let take = open.bit_and(better).bit_and(sound).bit_and(finite);
            let next = Kept {
                theta: take.select(tried, kept.theta),
                loss: take.select(loss, kept.loss),
                constraint: take.select(constraint, kept.constraint),
                scale: take.select(ratio.broadcast_to(&kept.scale.shape()), kept.scale),
            };
            (next, ())
        });
        TrustStep {
            theta: kept.theta,
            loss_before: before,
            loss_after: kept.loss,
            constraint: kept.constraint,
            accepted: kept.scale.gt(none).to_f32(),
            grad_norm: dot(g, g).sqrt(),
            scale: kept.scale,
            broken: finite.not().to_f32(),
        }
    }

    /// The constraint's Hessian at θ times `v: [S, P]`.
    fn product(&self, layout: &Layout, theta: Tensor, v: Tensor, constraint: Of<'_>) -> Tensor {
        let gradient = |parts: &[Tensor]| value_and_grad(parts, |p| constraint(p).sum_all()).1;
        match self.hessian {
            Hessian::Exact => {
                let v = layout.split(v);
                let (_, products) = value_and_grad(&layout.split(theta), |parts| {
                    let along = gradient(parts).iter().zip(&v).map(|(g, v)| (*g * *v).sum_all()).reduce(|a, b| a + b);
                    along.unwrap_or(Tensor::poison())
                });
                layout.join(&products)
            }
            Hessian::FiniteDifferences => {
                let at = |sign: f64| layout.join(&gradient(&layout.split(theta + v * (sign * EPSILON))));
                (at(1.0) - at(-1.0)) * (0.5 / EPSILON)
            }
        }
    }
}
