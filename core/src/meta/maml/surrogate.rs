//! Policy-gradient losses, one per task.

use crate::Tensor;
use crate::learn::log_ratio;
use crate::policy::{Distribution, PolicyNet};

/// Data of K tasks, with the policy that collected it. Rows are in order of time, then of rollout: B = T · N.
#[derive(Clone, Copy, Debug)]
pub struct Phase {
    /// Observations `[K, B, O]`.
    pub obs: Tensor,
    /// Actions as they were drawn, `[K, B, A]`.
    pub action: Tensor,
    /// The distribution that the actions were drawn from, a constant.
    pub old: Distribution,
    /// Advantages, `[K, B, 1]`; for the DICE surrogate discounted rewards less a baseline.
    pub advantage: Tensor,
    /// Rewards standardised over all tasks of a seed, `[K, B, 1]`, for E-MAML.
    pub adj_reward: Tensor,
    /// Weights of rows in averages, `[K, B, 1]`: 1/n of n valid rows, 0 of padding.
    pub weight: Tensor,
    /// T, the steps of a rollout.
    pub steps: usize,
}

impl Phase {
    /// Log-probabilities of the actions when they were drawn, `[K, B, 1]`.
    #[track_caller]
    pub fn logp_old(&self) -> Tensor {
        self.old.log_prob(self.action).stop_gradient()
    }

    /// Mean KL(old ‖ new) of each task, `[K, 1]`.
    #[track_caller]
    pub fn kl(&self, new: &Distribution) -> Tensor {
        weighted(self.old.kl(new), self.weight)
    }
}

/// The inner losses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Surrogate {
    /// −mean(π/π_old · A): the low-variance-curvature surrogate of ProMP, arXiv:1810.06784, eq. 8.
    #[default]
    LikelihoodRatio,
    /// −mean(ln π · A), as MAML, arXiv:1703.03400, eq. 4. Its second derivative lacks the
    /// dependence of the sampling distribution on θ.
    LogLikelihood,
    /// −mean(exp(τ − ⊥τ) · r) with τ = Σ_{s ≤ t} ln π, ⊥ stopping gradients: DICE, arXiv:1802.05098. Its derivatives of
    /// all orders are exact, but have more variance.
    Dice,
}

crate::words!(Surrogate { LikelihoodRatio = "likelihood_ratio", LogLikelihood = "log_likelihood", Dice = "dice" });

/// Sums rows by their weights: `x, weight: [K, B, 1]` → `[K, 1]`.
#[track_caller]
pub fn weighted(x: Tensor, weight: Tensor) -> Tensor {
    let product = x * weight;
    product.sum_keep(1).reshape(&[product.size(0), 1])
}

/// The loss of each task, `[K, 1]`, which is to be minimised.
#[track_caller]
pub fn surrogate(kind: Surrogate, policy: &PolicyNet, parts: &[Tensor], phase: &Phase) -> Tensor {
    let logp = policy.distribution(parts, phase.obs).log_prob(phase.action);
    let factor = match kind {
        Surrogate::LikelihoodRatio => log_ratio(logp, phase.logp_old()).exp(),
        Surrogate::LogLikelihood => logp,
        Surrogate::Dice => {
            let tau = so_far(logp, phase.weight, phase.steps);
            (tau - tau.stop_gradient()).exp()
        }
    };
    -weighted(factor * phase.advantage, phase.weight)
}

/// PPO's loss −mean min(r A, clip(r, 1 ± ε) A), `[K, 1]`: arXiv:1707.06347, eq. 7. `clip` limits the ratio r.
#[track_caller]
pub fn clipped(policy: &PolicyNet, parts: &[Tensor], phase: &Phase, clip: impl Fn(Tensor) -> Tensor) -> Tensor {
    let logp = policy.distribution(parts, phase.obs).log_prob(phase.action);
    let ratio = log_ratio(logp, phase.logp_old()).exp();
    let within = clip(ratio);
    -weighted((ratio * phase.advantage).min(within * phase.advantage), phase.weight)
}

/// Sums each rollout's numbers up to and with each step, Σ_{s ≤ t} x_s: `[K, T · N, 1]`, padding left out.
fn so_far(x: Tensor, weight: Tensor, steps: usize) -> Tensor {
    let (k, rows) = (x.size(0), x.size(1));
    let n = rows / steps.max(1);
    let valid = weight.gt(Tensor::constant_f32(0.0));
    let x = valid.select(x, Tensor::constant_f32(0.0)).reshape(&[k, steps, n]);
    let (t, s) = (Tensor::iota(&[1, steps, steps], 1), Tensor::iota(&[1, steps, steps], 2));
    let before = s.gt(t).not().to_f32();
    before.matmul(x).reshape(&[k, rows, 1])
}
