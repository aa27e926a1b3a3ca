//! The update that A2C, VPG and PPO make from a rollout.

use super::{AdvantageScope, CriticConfig, CriticSteps, Sampled, Terms, ValueTargets};
use super::{losses, standardise, standardise_valid};
use crate::Tensor;
use crate::algo::{ActorCritic, Held, Metrics, StateEntry, Statistics, update_parameters};
use crate::credit::Gae;
use crate::learn::{Between, Descended, Descent, Look, by_seed};
use crate::optim::{AdamState, OptimiserConfig, norm};
use crate::play::Iteration;
use crate::policy::Distribution;

/// Standardised advantages by running moments are limited to this many deviations.
const ADVANTAGE_LIMIT: f64 = 1e6;

/// Steps of policy and value function on a rollout, together or one after the other.
#[derive(Clone, Copy, Debug)]
pub struct Update<'a> {
    /// The rule of the steps.
    pub optimiser: &'a OptimiserConfig,
    /// The value function's part.
    pub critic: &'a CriticConfig,
    /// The loss.
    pub terms: Terms,
    /// Passes over the rollout, the policy's if both make their steps apart.
    pub epochs: usize,
    /// Longer gradients are scaled down to this norm; 0 for no limit.
    pub max_grad_norm: f64,
    /// Standardise advantages.
    pub normalise_advantages: bool,
    /// Above 0: stop an iteration's updates at 1.5 times this KL.
    pub target_kl: f64,
    /// The averages that are logged: names of numbers that are seen in each minibatch.
    pub sums: &'a [&'static str],
}

/// Who is moved by steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Moved {
    Both,
    Policy,
    Critic,
}

/// Parameters with the memories of the optimisers of both networks.
#[derive(Clone, Copy, Debug)]
struct Networks {
    theta: Tensor,
    adam: AdamState,
    /// The bias correction of the value function, where it makes steps of its own. Moments of both networks are slices of one vector.
    critic_scale: Option<Tensor>,
}

impl Update<'_> {
    /// Learns from a rollout by steps with this limit of the probability ratio, `clip_eps: []`, and keeps the new state.
    #[track_caller]
    pub fn learn(
        &self,
        it: &mut Iteration<'_>,
        net: &ActorCritic,
        held: &Held,
        sampled: &Sampled<'_>,
        clip_eps: Tensor,
    ) -> Metrics {
        let before =
            Networks { theta: held.get("theta"), adam: held.adam(), critic_scale: held.find("adam_scale_value") };
        let gae = self.credited(sampled, None);
        let after = match (self.critic.critic, sampled.fitted) {
            (CriticSteps::Joint, _) => {
                let data = sampled.data_of(&self.scaled(it, held, sampled, gae));
                let (end, means) = self.run(it, net, sampled, Moved::Both, [before.theta, data, clip_eps], before.adam);
                let metrics = means.with(self.details(sampled, [before.theta, end.theta, data, clip_eps]));
                (Networks { theta: end.theta, adam: end.adam, ..before }, metrics, end.counts())
            }
            (CriticSteps::First, _) => {
                let (fitted, critic) = self.fit(it, net, sampled, before, &gae);
                let credited = self.credited(sampled, Some(fitted.theta));
                let data = sampled.data_of(&self.scaled(it, held, sampled, credited));
                let (moved, policy) = self.follow(it, net, sampled, fitted, [data, clip_eps]);
                let metrics = policy.0.with(critic.0);
                (moved, metrics, both(&policy.1, &critic.1))
            }
            (CriticSteps::Last, Some(fitted)) => {
                let returns = gae.returns;
                let data = sampled.data_of(&self.scaled(it, held, sampled, gae));
                let (moved, (metrics, end)) = self.follow(it, net, sampled, before, [data, clip_eps]);
                let dropped = end.non_finite + sampled.fit(fitted, it, held, returns);
                let counts = Metrics::default().sum(Metrics::NON_FINITE, dropped).sum(Metrics::UPDATES, end.updates);
                (moved, metrics, counts)
            }
            (CriticSteps::Last, None) => {
                let data = sampled.data_of(&self.scaled(it, held, sampled, gae));
                let (moved, policy) = self.follow(it, net, sampled, before, [data, clip_eps]);
                let (fitted, critic) = self.fit(it, net, sampled, moved, &gae);
                let metrics = policy.0.with(critic.0);
                (fitted, metrics, both(&policy.1, &critic.1))
            }
        };
        let (networks, metrics, counts) = after;
        update_parameters(it, networks.theta, networks.adam);
        if let Some(scale) = networks.critic_scale {
            it.update("adam_scale_value", scale);
        }
        sampled.keep(it);
        let explained = sampled.explained_variance();
        sampled.metrics().with(metrics).last("train/explained_variance", explained).with(counts)
    }

    /// Steps of the policy alone.
    fn follow(
        &self,
        it: &mut Iteration<'_>,
        net: &ActorCritic,
        sampled: &Sampled<'_>,
        at: Networks,
        [data, clip_eps]: [Tensor; 2],
    ) -> (Networks, (Metrics, Descended)) {
        let own = AdamState { scale: at.adam.scale, ..only(net, &at.adam, false) };
        let (end, means) = self.run(it, net, sampled, Moved::Policy, [at.theta, data, clip_eps], own);
        let metrics = means.with(self.details(sampled, [at.theta, end.theta, data, clip_eps]));
        let rest = only(net, &at.adam, true);
        let adam = AdamState { m: end.adam.m + rest.m, v: end.adam.v + rest.v, scale: end.adam.scale };
        (Networks { theta: end.theta, adam, ..at }, (metrics, end))
    }

    /// Steps of the value function alone.
    fn fit(
        &self,
        it: &mut Iteration<'_>,
        net: &ActorCritic,
        sampled: &Sampled<'_>,
        at: Networks,
        gae: &Gae,
    ) -> (Networks, (Metrics, Descended)) {
        let scale = at.critic_scale.unwrap_or(Tensor::poison());
        let own = AdamState { scale, ..only(net, &at.adam, true) };
        let data = sampled.data_of(gae);
        let (end, means) = self.run(it, net, sampled, Moved::Critic, [at.theta, data, Tensor::poison()], own);
        let rest = only(net, &at.adam, false);
        let adam = AdamState { m: end.adam.m + rest.m, v: end.adam.v + rest.v, scale: at.adam.scale };
        (Networks { theta: end.theta, adam, critic_scale: Some(end.adam.scale) }, (means, end))
    }

    /// Steps by one optimiser, and the averages of what was seen.
    fn run(
        &self,
        it: &mut Iteration<'_>,
        net: &ActorCritic,
        sampled: &Sampled<'_>,
        moved: Moved,
        [theta, data, clip_eps]: [Tensor; 3],
        adam: AdamState,
    ) -> (Descended, Metrics) {
        let (critic, details) = (self.critic, self.critic.log_details);
        let policy_sums = || {
            let apart = |name: &&&str| moved == Moved::Both || **name != "value_loss";
            self.sums.iter().filter(apart).copied().collect::<Vec<_>>()
        };
        let (passes, max_grad_norm, mut sums) = match moved {
            Moved::Critic => (critic.critic_epochs, critic.critic_max_grad_norm, vec!["value_loss"]),
            Moved::Both | Moved::Policy => (self.epochs, self.max_grad_norm, policy_sums()),
        };
        if moved == Moved::Critic {
            sums.push("critic_grad_norm");
        } else if details {
            sums.push("policy_grad_norm");
            sums.extend((moved == Moved::Both).then_some("critic_grad_norm"));
        }
        let rate = if moved == Moved::Critic { "critic_learning_rate" } else { "learning_rate" };
        let passes = sampled.passes(passes);
        let descent = Descent {
            layout: &net.layout,
            optimiser: self.optimiser.rule(),
            learning_rate: it.scalar(rate),
            max_grad_norm,
            sums: &sums,
            stop: (self.target_kl > 0.0 && moved != Moved::Critic).then_some(("approx_kl", 1.5 * self.target_kl)),
            first_norm: false,
        };
        let norms = |grads: &[Tensor]| {
            let of = |value| norm(net.layout.join(&net.only(grads, value)));
            vec![("policy_grad_norm", of(false)), ("critic_grad_norm", of(true))]
        };
        let between = Between {
            norms: (details || moved == Moved::Critic).then_some(&norms),
            turn: sampled.turn.filter(|_| moved != Moved::Critic),
        };
        let end = descent.run_with(between, theta, adam, passes.steps(), &passes.xs(), |parts, x| {
            let minibatch = sampled.unpack(data.gather(passes.index(&x)));
            match moved {
                Moved::Critic => {
                    let value = net.value_of(parts, minibatch.obs, minibatch.sequences.as_ref());
                    let loss = minibatch.value_loss(value, None);
                    Look { loss, seen: minibatch.counted([("value_loss", loss)].into()) }
                }
                Moved::Both | Moved::Policy => {
                    let losses = losses(net, parts, &minibatch, clip_eps, &self.minibatch_terms());
                    let loss = if moved == Moved::Both { losses.total } else { losses.without_value };
                    Look { loss, seen: minibatch.counted(losses.seen()) }
                }
            }
        });
        let means = descent.means(&end);
        (end, means)
    }

    /// The loss of a minibatch: advantages are standardised in it if that is their scope.
    fn minibatch_terms(&self) -> Terms {
        let here = self.critic.advantage_scope == AdvantageScope::Minibatch;
        Terms { standardise: self.normalise_advantages && here, ..self.terms }
    }

    /// The loss over all steps before and after the updates, and σ after them, if they are logged.
    fn details(&self, sampled: &Sampled<'_>, [before, after, data, clip_eps]: [Tensor; 4]) -> Metrics {
        if !self.critic.log_details {
            return Metrics::default();
        }
        let (net, all) = (sampled.collector.net, sampled.unpack(data));
        let loss = |theta: Tensor| {
            let losses = losses(net, &net.layout.split(theta), &all, clip_eps, &self.minibatch_terms());
            if self.critic.apart() { losses.without_value } else { losses.total }
        };
        let metrics = Metrics::default().last("train/loss_before", loss(before)).last("train/loss_after", loss(after));
        match net.distribution_of(&net.layout.split(after), all.obs, all.sequences.as_ref()) {
            Distribution::Choice(_) => metrics,
            Distribution::Vector(gaussian) => {
                let std = gaussian.log_std().exp();
                let [seeds, n] = [std.size(0), std.len() / std.size(0).max(1)];
                metrics.last("train/std", std.reshape(&[seeds, n]).sum_keep(1) * (1.0 / n as f64))
            }
        }
    }

    /// Advantages, by the values of other parameters if they are given, and value targets.
    fn credited(&self, sampled: &Sampled<'_>, theta: Option<Tensor>) -> Gae {
        let gae = match theta {
            None => sampled.advantages,
            theta => sampled.credited(theta, sampled.collector.sampling.gae_lambda),
        };
        let returns = match self.critic.value_targets {
            ValueTargets::Gae => gae.returns,
            ValueTargets::TdLambda => sampled.credited(theta, self.critic.value_lambda).returns,
            ValueTargets::Empirical => sampled.credited(theta, 1.0).returns,
        };
        Gae { returns, ..gae }
    }

    /// The same with advantages standardised over the rollout, or by those of all rollouts so far.
    fn scaled(&self, it: &mut Iteration<'_>, held: &Held, sampled: &Sampled<'_>, gae: Gae) -> Gae {
        let advantages = match self.critic.advantage_scope {
            AdvantageScope::Rollout if self.normalise_advantages => match sampled.valid() {
                None => over_seed(gae.advantages, &standardise),
                Some(valid) => over_seed(gae.advantages, &|x| standardise_valid(x, valid)),
            },
            AdvantageScope::Running if self.normalise_advantages => {
                let Some(moments) = Statistics::ADVANTAGES.find(held) else { return gae };
                let moments = sampled.rollout.merged(moments, gae.advantages);
                Statistics::ADVANTAGES.keep(it, &moments);
                over_seed(gae.advantages, &|x| moments.standardise(x, ADVANTAGE_LIMIT))
            }
            _ => gae.advantages,
        };
        Gae { advantages, ..gae }
    }
}

/// The entry of the corrections of the value function's moments, where it makes its steps apart.
pub(super) const OF_VALUE: &str = "adam_scale_value";

/// Entries that such updates have besides those of the rollouts.
pub(super) fn entries(critic: &CriticConfig, normalise_advantages: bool) -> Vec<StateEntry> {
    let mut entries = Vec::new();
    if critic.apart() {
        entries.push(StateEntry::corrections(OF_VALUE, Vec::new()));
    }
    entries.extend(scales(critic, normalise_advantages));
    entries
}

/// Entries by which such updates scale advantages.
pub(super) fn scales(critic: &CriticConfig, normalise_advantages: bool) -> Vec<StateEntry> {
    let mut entries = Vec::new();
    if normalise_advantages && critic.advantage_scope == AdvantageScope::Running {
        entries.extend(Statistics::ADVANTAGES.entries(1));
    }
    entries
}

/// The moments of one of the networks, 0 for the other.
fn only(net: &ActorCritic, adam: &AdamState, value: bool) -> AdamState {
    AdamState { m: net.only_in(adam.m, value), v: net.only_in(adam.v, value), scale: adam.scale }
}

/// Updates dropped and made by both descents.
fn both(a: &Descended, b: &Descended) -> Metrics {
    let sum = Metrics::default().sum(Metrics::NON_FINITE, a.non_finite + b.non_finite);
    sum.sum(Metrics::UPDATES, a.updates + b.updates)
}

/// A function of the rows of each seed, `[S, T · N, 1]`, applied to `[T, S, N, 1]`.
fn over_seed(x: Tensor, f: &dyn Fn(Tensor) -> Tensor) -> Tensor {
    let shape = x.shape();
    let [t, s, n, d] = shape[..] else { return Tensor::poison() };
    f(by_seed(x)).reshape(&[s, t, n, d]).permute(&[1, 0, 2, 3])
}
