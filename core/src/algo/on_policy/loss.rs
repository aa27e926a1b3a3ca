//! Losses of one batch per stacked seed.

use crate::Tensor;
use crate::algo::ActorCritic;
use crate::learn::{Look, log_ratio};
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
    /// 1 for rows that count, 0 for those behind the last episode, u32 `[S, B, 1]`; none where all count.
    pub valid: Option<Tensor>,
}

impl Minibatch {
    /// `x: [S, B, ·]` where a row counts, 0 elsewhere.
    #[track_caller]
    pub fn only(&self, x: Tensor) -> Tensor {
        self.valid.map_or(x, |valid| valid.select(x, Tensor::constant_f32(0.0)))
    }

    /// How many rows count, `[S, 1]`; none where all do.
    #[track_caller]
    fn rows(&self) -> Option<Tensor> {
        self.valid.map(|valid| valid.to_f32().sum_keep(1).reshape(&[valid.size(0), 1]))
    }

    /// Adds the number of rows that count, if not all do, to what is seen of this minibatch.
    #[track_caller]
    pub fn counted(&self, seen: Named) -> Named {
        match self.rows() {
            Some(rows) => seen.and(Look::ROWS, rows),
            None => seen,
        }
    }

    /// Turns a mean over all rows, `[S, 1]`, of numbers that are 0 in rows that do not count, into the mean over those that count.
    #[track_caller]
    pub fn share(&self, mean: Tensor) -> Tensor {
        match self.rows() {
            Some(rows) => mean * (self.obs.size(1) as f64 / rows.max(Tensor::constant_f32(1.0))),
            None => mean,
        }
    }

    /// Mean over the rows that count: `[S, B, 1]` → `[S, 1]`.
    #[track_caller]
    pub fn mean(&self, x: Tensor) -> Tensor {
        self.share(mean(self.only(x)))
    }

    /// The advantages, [standardised](standardise) over the rows that count if this is asked for.
    #[track_caller]
    pub fn advantages(&self, standardised: bool) -> Tensor {
        match (standardised, self.valid) {
            (false, _) => self.advantage,
            (true, None) => standardise(self.advantage),
            (true, Some(valid)) => standardise_valid(self.advantage, valid),
        }
    }

    /// The [loss](value_loss) of values, whose change is limited to ε if this is given, `[S, 1]`.
    #[track_caller]
    pub fn value_loss(&self, value: Tensor, eps: Option<Tensor>) -> Tensor {
        let clip = eps.map(|eps| (self.only(self.value_old), eps));
        self.share(value_loss(self.only(value), self.only(self.returns), clip))
    }
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

/// The loss of a minibatch. `clip_eps`: ε, `[]` or `[S, 1]`; log-probabilities are joint ones, over all numbers of an action.
pub fn losses(net: &ActorCritic, parts: &[Tensor], batch: &Minibatch, clip_eps: Tensor, terms: &Terms) -> Losses {
    let clip_eps = if clip_eps.rank() == 0 { clip_eps } else { clip_eps.unsqueeze(2) };
    let distribution = net.distribution_of(parts, batch.obs, batch.sequences.as_ref());
    let log_prob = distribution.log_prob(batch.action);
    let log_ratio = batch.only(log_ratio(log_prob, batch.logp_old));
    let ratio = log_ratio.exp();
    let advantage = batch.only(batch.advantages(terms.standardise));
    let policy = match terms.policy {
        PolicyTerm::Likelihood => likelihood_loss(batch.only(log_prob), advantage),
        PolicyTerm::Clipped => clip_loss(ratio, advantage, clip_eps), // eq. 7
    };
    let policy = batch.share(policy);
    let value = net.value_of(parts, batch.obs, batch.sequences.as_ref());
    let value = batch.value_loss(value, terms.value_clip.then_some(clip_eps));
    let entropy = batch.mean(distribution.entropy());
    Losses {
        total: policy + value * terms.value_coef - entropy * terms.entropy_coef, // eq. 9
        without_value: policy - entropy * terms.entropy_coef,
        policy,
        value,
        entropy,
        approx_kl: batch.share(approx_kl(log_ratio)),
        clip_frac: batch.share(mean((ratio - 1.0).abs().gt(clip_eps).to_f32())),
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

/// The same over the rows that count: those where `valid`, u32 `[S, B, 1]`, is not 0.
#[track_caller]
pub fn standardise_valid(advantage: Tensor, valid: Tensor) -> Tensor {
    let rows = valid.to_f32().sum_keep(1).max(Tensor::constant_f32(1.0));
    let mean = |x: Tensor| valid.select(x, Tensor::constant_f32(0.0)).sum_keep(1) / rows;
    let centred = advantage - mean(advantage);
    let std = mean(centred.square()).sqrt();
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
    use crate::algo::on_policy::differences::{DrawnBatch, INIT, check_derivatives, net};
    use crate::env::ActionSpace;
    use crate::grad::value_and_grad;
    use crate::program::State;
    use crate::rng::Threefry;
    use crate::{Device, Program};

    /// Rows that do not count change no loss, no average and no gradient, also where what they hold beside what was seen is not finite.
    #[test]
    fn losses_of_the_rows_that_count_are_those_without_the_others() {
        let net = net(ActionSpace::discrete(&["l", "m", "r"]), vec![3], false);
        let theta = net.layout.init(INIT);
        let drawn = DrawnBatch::draw(&net, &mut Threefry::new([3, 4]));
        let terms = Terms {
            policy: PolicyTerm::Clipped,
            value_coef: 0.7,
            entropy_coef: 0.01,
            value_clip: true,
            standardise: true,
        };
        let device = Device::reference();
        let numbers = |whole: bool, policy: PolicyTerm| {
            let mut program = Program::new(&device, |cx| {
                let theta = Tensor::literal_f32(&theta).unsqueeze(0);
                let all = drawn.trace();
                // The first three of five rows, alone or with two more that do not count.
                let part = |x: Tensor| if whole { x } else { x.slice(1, 0, 3) };
                let lost = Tensor::literal_u32(&[0, 0, 0, 1, 1]).reshape(&[1, 5, 1]);
                let or_lost = |x: Tensor| part(lost.select(Tensor::constant_f32(f64::NAN), x));
                let batch = Minibatch {
                    obs: part(all.obs),
                    action: part(all.action),
                    logp_old: or_lost(all.logp_old),
                    value_old: or_lost(all.value_old),
                    advantage: or_lost(all.advantage),
                    returns: or_lost(all.returns),
                    sequences: None,
                    valid: whole.then(|| Tensor::literal_u32(&[1, 1, 1, 0, 0]).reshape(&[1, 5, 1])),
                };
                let terms = Terms { policy, ..terms };
                let eps = Tensor::constant_f32(0.2);
                let of = |theta: Tensor| losses(&net, &net.layout.split(theta), &batch, eps, &terms);
                let (total, gradient) = value_and_grad(&[theta], |x| of(x[0]).total.sum_all());
                cx.output("total", total);
                cx.output("gradient", gradient[0]);
                of(theta).seen().iter().for_each(|(name, x)| cx.output(name, x));
                cx.output("only values", batch.value_loss(batch.value_old * 2.0, None));
            })
            .unwrap();
            let out = program.run(&State::new(), &[], &[]).unwrap();
            out.iter().flat_map(|(_, x)| pollster::block_on(device.read(x)).unwrap()).collect::<Vec<f64>>()
        };
        for policy in [PolicyTerm::Clipped, PolicyTerm::Likelihood] {
            let (all, some) = (numbers(true, policy), numbers(false, policy));
            assert!(all.len() > theta.len() && all.iter().any(|x| x.abs() > 1e-3));
            assert!(all.iter().zip(&some).all(|(a, b)| (a - b).abs() < 1e-9), "{all:?} {some:?}");
        }
    }

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
