//! Terms of losses, averaged over the rows of a batch: one number per stacked seed.

use crate::Tensor;
use crate::algo::ActorCritic;
use crate::learn::log_ratio;
use crate::policy::Distribution;
use crate::tensor::Named;

use super::Minibatch;

/// The terms of a loss of policy and value function, each `[S, 1]`.
#[derive(Clone, Copy, Debug)]
pub struct Losses {
    /// The loss of the policy.
    pub policy: Tensor,
    /// The mean of ½ (v − R)².
    pub value: Tensor,
    /// The mean entropy of the policy.
    pub entropy: Tensor,
    /// The mean estimate of KL(old ‖ new).
    pub approx_kl: Tensor,
    /// The share of samples whose ratio is outside of 1 ± ε, if ratios have a limit.
    pub clip_frac: Option<Tensor>,
}

impl Losses {
    /// The loss to minimise: policy + c₁ value − c₂ entropy. The value's term is left out if the value function makes
    /// its own steps.
    #[must_use]
    pub fn total(&self, value_coef: Option<f64>, entropy_coef: f64) -> Tensor {
        let policy = value_coef.map_or(self.policy, |coef| self.policy + self.value * coef);
        policy - self.entropy * entropy_coef
    }

    /// The terms by the names of their metrics.
    #[must_use]
    pub fn seen(&self) -> Named {
        let seen: Named = [
            ("policy_loss", self.policy),
            ("value_loss", self.value),
            ("entropy", self.entropy),
            ("approx_kl", self.approx_kl),
        ]
        .into();
        self.clip_frac.map_or(seen.clone(), |share| seen.and("clip_frac", share))
    }
}

/// The terms of −mean A ln π(a|s), whose negative gradient is that of the return (Williams 1992,
/// doi:10.1007/BF00992696), beside a value function.
#[track_caller]
pub fn likelihood_losses(net: &ActorCritic, parts: &[Tensor], batch: &Minibatch, standardised: bool) -> Losses {
    let look = PolicyLook::new(net, parts, batch);
    let advantage = batch.only(batch.advantages(standardised));
    let policy = batch.mean(likelihood_loss(batch.only(look.log_prob), advantage));
    let value = net.value_of(parts, batch.obs, batch.sequences.as_ref());
    look.losses(policy, batch, batch.value_loss(value, None))
}

impl Minibatch {
    /// The [loss](value_loss) of values, `[S, 1]`; `eps`, if given, limits their change.
    #[track_caller]
    pub fn value_loss(&self, value: Tensor, eps: Option<Tensor>) -> Tensor {
        let clip = eps.map(|eps| (self.only(self.value_old), eps));
        self.mean(value_loss(self.only(value), self.only(self.returns), clip)) * 0.5
    }
}

/// The policy's outputs at a batch, from which losses are computed.
#[derive(Clone, Debug)]
pub struct PolicyLook {
    distribution: Distribution,
    /// ln π(a|s) of the actions, `[S, B, 1]`.
    pub log_prob: Tensor,
    /// ln π(a|s) − ln π_old(a|s), and 0 in rows that do not count, `[S, B, 1]`.
    pub log_ratio: Tensor,
}

impl PolicyLook {
    /// Evaluates the policy of these networks at a batch. Log-probabilities are joint ones, over all numbers of an
    /// action.
    #[track_caller]
    pub fn new(net: &ActorCritic, parts: &[Tensor], batch: &Minibatch) -> PolicyLook {
        let distribution = net.distribution_of(parts, batch.obs, batch.sequences.as_ref());
        let log_prob = distribution.log_prob(batch.action);
        let log_ratio = batch.only(log_ratio(log_prob, batch.logp_old));
        PolicyLook { distribution, log_prob, log_ratio }
    }

    /// The terms of a loss with these terms of policy and value.
    #[track_caller]
    pub fn losses(&self, policy: Tensor, batch: &Minibatch, value: Tensor) -> Losses {
        let entropy = batch.mean(self.distribution.entropy());
        let approx_kl = batch.mean(approx_kl(self.log_ratio));
        Losses { policy, value, entropy, approx_kl, clip_frac: None }
    }
}

/// −A ln π(a|s) of each row, `[S, B, 1]`, the mean of which is to be minimised.
#[track_caller]
pub fn likelihood_loss(log_prob: Tensor, advantage: Tensor) -> Tensor {
    -(log_prob * advantage)
}

/// An estimate of KL(old ‖ new) that is never negative: the mean of ratio − 1 − ln ratio, which each row has here,
/// `[S, B, 1]`.
///
/// Schulman 2020, <http://joschu.net/blog/kl-approx.html>, estimator k₃.
#[track_caller]
pub fn approx_kl(log_ratio: Tensor) -> Tensor {
    log_ratio.exp() - 1.0 - log_ratio
}

/// (v − R)² of each row, `[S, B, 1]`. The value loss is half of its mean.
///
/// `clip` has the old values and ε. The loss is then the larger one of those with and without limiting the change of
/// the value to ±ε, as in openai/baselines; the paper has no such limit.
#[track_caller]
pub fn value_loss(value: Tensor, returns: Tensor, clip: Option<(Tensor, Tensor)>) -> Tensor {
    let plain = (value - returns).square();
    match clip {
        None => plain,
        Some((old, eps)) => {
            let near = old + (value - old).max(-eps).min(eps);
            plain.max((near - returns).square())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algo::on_policy::differences::{DrawnBatch, INIT, check_derivatives, net};
    use crate::algo::on_policy::ppo;
    use crate::env::ActionSpace;
    use crate::grad::value_and_grad;
    use crate::program::State;
    use crate::rng::Threefry;
    use crate::{Device, Program};

    /// Tests that rows that do not count change no loss, no average and no gradient, even if they are not finite,
    /// except in the observations.
    #[test]
    fn losses_of_the_rows_that_count_are_those_without_the_others() {
        let space = ActionSpace::discrete(&["l", "m", "r"]);
        let net = net(space.clone(), vec![3], false);
        let theta = net.layout.init(INIT);
        let drawn = DrawnBatch::draw(&space, &mut Threefry::new([3, 4]));
        let device = Device::reference();
        let numbers = |whole: bool, clipped: bool| {
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
                let eps = Tensor::constant_f32(0.2);
                let of = |theta: Tensor| match (net.layout.split(theta), clipped) {
                    (parts, true) => ppo::losses(&net, &parts, &batch, eps, true, true),
                    (parts, false) => likelihood_losses(&net, &parts, &batch, true),
                };
                let (total, gradient) = value_and_grad(&[theta], |x| of(x[0]).total(Some(0.7), 0.01).sum_all());
                cx.output("total", total);
                cx.output("gradient", gradient[0]);
                of(theta).seen().iter().for_each(|(name, x)| cx.output(name, x));
                cx.output("only values", batch.value_loss(batch.value_old * 2.0, None));
            })
            .unwrap();
            let out = program.run(&State::new(), &[], &[]).unwrap();
            out.iter().flat_map(|(_, x)| pollster::block_on(device.read(x)).unwrap()).collect::<Vec<f64>>()
        };
        for clipped in [true, false] {
            let (all, some) = (numbers(true, clipped), numbers(false, clipped));
            assert!(all.len() > theta.len() && all.iter().any(|x| x.abs() > 1e-3));
            assert!(all.iter().zip(&some).all(|(a, b)| (a - b).abs() < 1e-9), "{all:?} {some:?}");
        }
    }

    /// Tests the whole loss of A2C and VPG, and the policy's part, which VPG follows.
    #[test]
    fn the_likelihood_loss_has_the_gradient_of_finite_differences() {
        for standardise in [false, true] {
            for value_coef in [Some(1.0), None] {
                check_derivatives([1e-5, 1e-7], |net, parts, batch| {
                    likelihood_losses(net, parts, batch, standardise).total(value_coef, 0.01)
                });
            }
        }
    }
}
