//! Losses of RL²: PPO's on whole trials, and the surrogate of a trust region.

use super::config::Rl2Config;
use super::learner::Rl2Net;
use crate::Tensor;
use crate::learn::{EntropyMethod, log_ratio};
use crate::meta::weighted;
use crate::policy::Distribution;
use crate::settings::{Range, SettingValue as _, Settings as _};
use crate::tensor::require;

/// B whole trials per seed. Rows are in order of time, then of trial: `[S, T · B, ·]`.
#[derive(Clone, Copy, Debug)]
pub struct TrialBatch {
    /// Inputs of the policy, `[T, S, B, I]`.
    pub xs: Tensor,
    /// Actions as they were drawn, `[S, T · B, A]`.
    pub action: Tensor,
    /// Log-probabilities of the actions when they were drawn, `[S, T · B, 1]`.
    pub logp_old: Tensor,
    /// Advantages, `[S, T · B, 1]`.
    pub advantage: Tensor,
    /// Targets of a learned value, `[S, T · B, 1]`: returns standardised by the mean return of their step.
    pub returns: Tensor,
    /// Weights of rows in averages, `[S, T · B, 1]`: 1/n of n valid rows, 0 of padding.
    pub weight: Tensor,
}

/// Losses and reported measures, each `[S, 1]`.
#[derive(Clone, Copy, Debug)]
pub struct TrialLosses {
    /// The loss that is minimised.
    pub total: Tensor,
    /// −mean min(r A, clip(r, 1 ± ε) A), or −mean(r A) without clipping.
    pub policy: Tensor,
    /// ½ (v − R)², averaged; 0 if no value is learned.
    pub value: Tensor,
    /// The mean of the entropy, as the settings define it.
    pub entropy: Tensor,
    /// Estimate of KL(old ‖ new): the mean of r − 1 − ln r.
    pub approx_kl: Tensor,
    /// Share of steps whose ratio r is outside 1 ± ε.
    pub clip_frac: Tensor,
    /// The policy at all rows.
    pub distribution: Distribution,
}

/// The losses at `parts: [S, …]`. `clip_eps` is ε of PPO (Schulman et al. 2017,
/// arXiv:1707.06347, eq. 7); none: no clipping.
#[track_caller]
pub fn losses(
    net: &Rl2Net,
    config: &Rl2Config,
    parts: &[Tensor],
    batch: &TrialBatch,
    clip_eps: Option<f64>,
) -> TrialLosses {
    require(config.check());
    let (distribution, value) = net.run(parts, batch.xs);
    let logp = distribution.log_prob(batch.action);
    let log_ratio = log_ratio(logp, batch.logp_old);
    let ratio = log_ratio.exp();
    let mean = |x: Tensor| weighted(x, batch.weight);
    let plain = ratio * batch.advantage;
    let (gain, clip_frac) = match clip_eps {
        None => (plain, Tensor::zeros(&[batch.weight.size(0), 1])),
        Some(eps) => {
            require(Range::Fraction.check("clip_eps", &eps.to_value()));
            let clipped = ratio.clamp(1.0 - eps, 1.0 + eps) * batch.advantage;
            let outside = (ratio - 1.0).abs().gt(Tensor::constant_f32(eps)).to_f32();
            (plain.min(clipped), mean(outside))
        }
    };
    let policy = -mean(gain);
    let entropy = mean(config.entropy(distribution.entropy(), logp));
    let value = mean((value - batch.returns).square()) * 0.5;
    let mut total = policy;
    if config.critic.baseline().is_none() {
        total = total + value * config.value_coef;
    }
    if config.entropy_method == EntropyMethod::Regularized {
        total = total - entropy * config.entropy_coef;
    }
    let approx_kl = mean(ratio - 1.0 - log_ratio);
    TrialLosses { total, policy, value, entropy, approx_kl, clip_frac, distribution }
}

impl Rl2Config {
    /// The entropy that the settings ask for, from the policy's exact entropy and the log-probability of the action.
    #[track_caller]
    pub fn entropy(&self, exact: Tensor, logp: Tensor) -> Tensor {
        let entropy = if self.entropy_neg_log_prob { -logp } else { exact };
        match self.entropy_softplus {
            true => entropy.softplus(),
            false => entropy,
        }
    }
}
