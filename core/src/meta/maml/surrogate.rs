//! Policy-gradient losses of one task's data.

use crate::Tensor;
use crate::learn::log_ratio;
use crate::policy::{Distribution, PolicyNet};

/// Data of K tasks, with the policy that collected it. Rows are in order of time, then of rollout: B = T · N.
#[derive(Clone, Copy, Debug)]
pub struct Phase {
    /// Observations `[K, B, O]`.
    pub obs: Tensor,
    /// Actions as drawn, `[K, B, A]`.
    pub action: Tensor,
    /// The distribution that they were drawn from; a constant.
    pub old: Distribution,
    /// Advantages `[K, B, 1]`; of the DICE surrogate, discounted rewards less a baseline.
    pub advantage: Tensor,
    /// Rewards less the mean over all tasks in deviations over all tasks, `[K, B, 1]`: of E-MAML.
    pub adj_reward: Tensor,
    /// Weights of rows in averages, `[K, B, 1]`: 1/n of n valid rows, 0 of padding.
    pub weight: Tensor,
    /// T, the number of steps.
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

/// The inner loss.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Surrogate {
    /// −mean(π/π_old · A): the low-variance-curvature surrogate of ProMP, arXiv:1810.06784, eq. 8.
    #[default]
    LikelihoodRatio,
    /// −mean(ln π · A), as MAML, arXiv:1703.03400, eq. 4. Its second derivative lacks the dependence of the sampling
    /// distribution on θ.
    LogLikelihood,
    /// −mean(exp(τ − ⊥τ) · r) with τ = Σ_{s ≤ t} ln π, ⊥ stopping gradients: DICE, arXiv:1802.05098. Exact to any order,
    /// with more variance.
    Dice,
}

crate::words!(Surrogate { LikelihoodRatio = "likelihood_ratio", LogLikelihood = "log_likelihood", Dice = "dice" });

/// Weighted sum over rows: `[K, B, 1]` and `[K, B, 1]` → `[K, 1]`.
#[track_caller]
pub fn weighted(x: Tensor, weight: Tensor) -> Tensor {
    let product = x * weight;
    product.sum_keep(1).reshape(&[product.size(0), 1])
}

/// The loss of each task, `[K, 1]`, to minimise.
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

/// −mean min(r A, clip(r, 1 ± ε) A), `[K, 1]`: PPO's loss, arXiv:1707.06347, eq. 7. `clip` limits r.
#[track_caller]
pub fn clipped(policy: &PolicyNet, parts: &[Tensor], phase: &Phase, clip: impl Fn(Tensor) -> Tensor) -> Tensor {
    let logp = policy.distribution(parts, phase.obs).log_prob(phase.action);
    let ratio = log_ratio(logp, phase.logp_old()).exp();
    let within = clip(ratio);
    -weighted((ratio * phase.advantage).min(within * phase.advantage), phase.weight)
}

/// Σ_{s ≤ t} x_s of each rollout: `[K, T · N, 1]`, padding left out.
fn so_far(x: Tensor, weight: Tensor, steps: usize) -> Tensor {
    let (k, rows) = (x.size(0), x.size(1));
    let n = rows / steps.max(1);
    let valid = weight.gt(Tensor::constant_f32(0.0));
    let x = valid.select(x, Tensor::constant_f32(0.0)).reshape(&[k, steps, n]);
    let (t, s) = (Tensor::iota(&[1, steps, steps], 1), Tensor::iota(&[1, steps, steps], 2));
    let before = s.gt(t).not().to_f32();
    before.matmul(x).reshape(&[k, rows, 1])
}
