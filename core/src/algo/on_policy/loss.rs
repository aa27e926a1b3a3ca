//! Losses of one batch per stacked seed.

use crate::Tensor;
use crate::algo::ActorCritic;
use crate::learn::log_ratio;
use crate::tensor::Named;

use super::Sequences;

/// One minibatch of a rollout: `[S, B, …]`.
#[derive(Clone, Copy, Debug)]
pub struct Minibatch {
    /// Observations as the networks get them, `[S, B, O]`.
    pub obs: Tensor,
    /// Actions as drawn, `[S, B, A]`.
    pub action: Tensor,
    /// Their joint log-probabilities when drawn, `[S, B, 1]`.
    pub logp_old: Tensor,
    /// Values when drawn, `[S, B, 1]`.
    pub value_old: Tensor,
    /// Advantages, `[S, B, 1]`.
    pub advantage: Tensor,
    /// Value targets, `[S, B, 1]`.
    pub returns: Tensor,
    /// How its rows follow each other, where networks remember.
    pub sequences: Option<Sequences>,
}

/// How the policy's loss is made of advantages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PolicyTerm {
    /// −A ln π(a|s): the gradient of the return (Williams 1992, doi:10.1007/BF00992696; A2C, arXiv:1602.01783).
    #[default]
    Likelihood,
    /// PPO's clipped surrogate (arXiv:1707.06347, eq. 7).
    Clipped,
}

crate::words!(PolicyTerm { Likelihood = "likelihood", Clipped = "clipped" });

/// The terms of the loss.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Terms {
    /// The policy's term.
    pub policy: PolicyTerm,
    /// Weight of the value loss ½ (v − R)².
    pub value_coef: f64,
    /// Weight of the entropy.
    pub entropy_coef: f64,
    /// The change of the value is limited to the clip range as well.
    pub value_clip: bool,
    /// Advantages are standardised in the minibatch.
    pub standardise: bool,
}

/// Losses and what is reported about them, each `[S, 1]`.
#[derive(Clone, Copy, Debug)]
pub struct Losses {
    /// The loss that is minimised: policy + c₁ value − c₂ entropy; −L of PPO's eq. 9.
    pub total: Tensor,
    /// The same without the value's term.
    pub without_value: Tensor,
    /// The policy's loss.
    pub policy: Tensor,
    /// ½ (v − R)², averaged.
    pub value: Tensor,
    /// Entropy of the policy, averaged.
    pub entropy: Tensor,
    /// Estimate of KL(old ‖ new), averaged.
    pub approx_kl: Tensor,
    /// Share of samples whose ratio is outside 1 ± ε.
    pub clip_frac: Tensor,
}

impl Losses {
    /// Those that are averaged over minibatches, by the names of their metrics.
    #[must_use]
    pub fn seen(&self) -> Named {
        [
            ("policy_loss", self.policy),
            ("value_loss", self.value),
            ("entropy", self.entropy),
            ("approx_kl", self.approx_kl),
            ("clip_frac", self.clip_frac),
        ]
        .into()
    }
}

/// The loss of a minibatch. `clip_eps`: ε, `[]`; log-probabilities are joint ones, over all numbers of an action.
pub fn losses(net: &ActorCritic, parts: &[Tensor], batch: &Minibatch, clip_eps: Tensor, terms: &Terms) -> Losses {
    let distribution = net.distribution_of(parts, batch.obs, batch.sequences.as_ref());
    let log_prob = distribution.log_prob(batch.action);
    let log_ratio = log_ratio(log_prob, batch.logp_old);
    let ratio = log_ratio.exp();
    let advantage = if terms.standardise { standardise(batch.advantage) } else { batch.advantage };
    let policy = match terms.policy {
        PolicyTerm::Likelihood => likelihood_loss(log_prob, advantage),
        PolicyTerm::Clipped => clip_loss(ratio, advantage, clip_eps), // eq. 7
    };
    let value = net.value_of(parts, batch.obs, batch.sequences.as_ref());
    let value_clip = terms.value_clip.then_some((batch.value_old, clip_eps));
    let value = value_loss(value, batch.returns, value_clip);
    let entropy = mean(distribution.entropy());
    Losses {
        total: policy + value * terms.value_coef - entropy * terms.entropy_coef, // eq. 9
        without_value: policy - entropy * terms.entropy_coef,
        policy,
        value,
        entropy,
        approx_kl: approx_kl(log_ratio),
        clip_frac: mean((ratio - 1.0).abs().gt(clip_eps).to_f32()),
    }
}

/// −mean A ln π(a|s). `log_prob, advantage: [S, B, 1]` → `[S, 1]` to minimise.
#[track_caller]
pub fn likelihood_loss(log_prob: Tensor, advantage: Tensor) -> Tensor {
    -mean(log_prob * advantage)
}

/// Clipped surrogate −L^CLIP of eq. 7. `ratio, advantage: [S, B, 1]` → `[S, 1]` to minimise.
#[track_caller]
pub fn clip_loss(ratio: Tensor, advantage: Tensor, eps: Tensor) -> Tensor {
    let clipped = ratio.max(1.0 - eps).min(1.0 + eps);
    -mean((ratio * advantage).min(clipped * advantage))
}

/// Estimate of KL(old ‖ new) that is never negative: mean of ratio − 1 − ln ratio.
///
/// Schulman 2020, <http://joschu.net/blog/kl-approx.html>, estimator k₃.
#[track_caller]
pub fn approx_kl(log_ratio: Tensor) -> Tensor {
    mean(log_ratio.exp() - 1.0 - log_ratio)
}

/// Value loss, ½ (v − R)² averaged: `[S, B, 1]` → `[S, 1]`.
///
/// `clip`: the old values and ε: the larger of the losses with and without limiting the change of the value to ±ε (as
/// in openai/baselines; the paper has none).
#[track_caller]
pub fn value_loss(value: Tensor, returns: Tensor, clip: Option<(Tensor, Tensor)>) -> Tensor {
    let plain = (value - returns).square();
    let square = match clip {
        None => plain,
        Some((old, eps)) => {
            let near = old + (value - old).max(-eps).min(eps);
            plain.max((near - returns).square())
        }
    };
    mean(square) * 0.5
}

/// Zero mean and unit (biased) deviation over the batch, `[S, B, 1]`.
#[track_caller]
pub fn standardise(advantage: Tensor) -> Tensor {
    let n = 1.0 / advantage.size(1) as f64;
    let centred = advantage - advantage.sum_keep(1) * n;
    let std = (centred.square().sum_keep(1) * n).sqrt();
    centred * (std + 1e-8).recip()
}

/// Mean over the batch: `[S, B, 1]` → `[S, 1]`.
#[track_caller]
pub fn mean(x: Tensor) -> Tensor {
    let n = x.size(1) as f64;
    x.sum_keep(1).reshape(&[x.size(0), 1]) * (1.0 / n)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algo::on_policy::PolicyGradient;
    use crate::algo::on_policy::differences::check_derivatives;

    /// The whole loss of A2C and VPG, and the policy's part that VPG follows.
    #[test]
    fn the_likelihood_loss_has_the_gradient_of_finite_differences() {
        for standardise in [false, true] {
            let gradient =
                PolicyGradient { entropy_coef: 0.01, normalise_advantages: standardise, ..PolicyGradient::default() };
            let terms = gradient.update().terms;
            assert_eq!((terms.policy, terms.standardise), (PolicyTerm::Likelihood, standardise));
            let eps = || Tensor::constant_f32(1.0);
            check_derivatives([1e-5, 1e-7], |net, parts, batch| losses(net, parts, batch, eps(), &terms).total);
            check_derivatives([1e-5, 1e-7], |net, parts, batch| losses(net, parts, batch, eps(), &terms).without_value);
        }
    }
}
