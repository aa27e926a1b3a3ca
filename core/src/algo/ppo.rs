//! Proximal Policy Optimization, clipped objective.
//!
//! Schulman et al. 2017, arXiv:1707.06347, algorithm 1 and eq. 7, 9, 11.
//! Departures from the paper, each with its reason:
//!  1. advantages are standardised in each minibatch, and optionally the value's change is clipped (as in
//!     openai/baselines, which most published numbers come from)
//!  2. time-limited episodes bootstrap from the final observation (arXiv:1712.00378)
//!  3. gradients are clipped by their norm, and an update with a non-finite gradient is dropped and counted
//!  4. separate networks for policy and value, optionally state-dependent exploration (arXiv:2005.05719)
//!
//! An iteration is one program, run for all stacked seeds: rollout, advantages, epochs of minibatches. Nothing is read
//! in between; early stopping and dropped updates are masks per seed.

mod config;
mod loss;

pub use super::on_policy::{Minibatch, log_ratio, standardise, value_loss};
pub use config::PpoConfig;
pub use loss::{Losses, approx_kl, clip_loss, losses};

use super::on_policy::{OnDevice, OnHost, OnPolicy, Passes, Sampled, Sampling};
use super::{ActorCritic, Held, update_parameters};
use crate::grad::value_and_grad;
use crate::optim::{Adam, AdamState, clip_by_norm};
use crate::policy::NetConfig;
use crate::program::Context;
use crate::tensor::{Loop, scan};
use crate::{Result, Tensor};

/// PPO on one environment under one or several seeds.
pub type Ppo = OnDevice<PpoConfig>;

/// [`Ppo`] on environments of the host.
pub type HostPpo = OnHost<PpoConfig>;

impl OnPolicy for PpoConfig {
    /// The first three are sums over the episodes that ended; the others are averages over the updates that were made.
    const METRICS: [&'static str; 12] = [
        "rollout/episodes",
        "ep_return_sum",
        "ep_len_sum",
        "train/policy_loss",
        "train/value_loss",
        "train/entropy",
        "train/approx_kl",
        "train/clip_frac",
        "train/grad_norm",
        "train/explained_variance",
        "train/non_finite",
        "train/updates",
    ];

    fn validate(&self) -> Result<()> {
        PpoConfig::validate(self)
    }

    fn net(&self) -> NetConfig {
        PpoConfig::net(self)
    }

    fn sampling(&self) -> Sampling {
        PpoConfig::sampling(self)
    }

    fn schedules(&self, done: u64, total: u64) -> Vec<(&'static str, f64)> {
        let learning_rate = self.learning_rate * self.learning_rate_schedule.factor(done, total);
        let clip_eps = self.clip_eps * self.clip_eps_schedule.factor(done, total);
        vec![("train/learning_rate", learning_rate), ("train/clip_eps", clip_eps)]
    }

    /// Algorithm 1, after the rollout.
    fn learn(&self, cx: &mut Context, net: &ActorCritic, held: &Held, sampled: &Sampled<'_>) {
        let scalars = [cx.scalar_f32("learning_rate"), cx.scalar_f32("clip_eps")];
        let passes = Passes { passes: self.epochs, minibatches: self.minibatches, order: sampled.order() };
        let updated = update(self, net, held.get("theta"), held.adam(), sampled.data(), passes, scalars);
        update_parameters(cx, updated.theta, updated.adam);
        sampled.keep(cx);

        let (finished, explained) = sampled.metrics();
        let average = updated.sums.slice(1, 0, 6) / updated.updates.max(Tensor::constant_f32(1.0));
        let metrics = [&finished[..], &[average, explained, updated.non_finite, updated.updates]].concat();
        cx.output("metrics", Tensor::concat(&metrics, 1));
    }
}

struct Updated {
    theta: Tensor,
    adam: AdamState,
    /// Sums over the updates made, `[S, 6]`: policy loss, value loss, entropy, KL, clipped share, norm of the gradient.
    sums: Tensor,
    /// Numbers of gradients that were not finite, `[S, 1]`.
    non_finite: Tensor,
    /// Updates made, `[S, 1]`.
    updates: Tensor,
}

/// Epochs of minibatches; eq. 9. `scalars`: learning rate and clip range.
fn update(
    config: &PpoConfig,
    net: &ActorCritic,
    theta: Tensor,
    adam: AdamState,
    data: Tensor,
    passes: Passes,
    [learning_rate, clip_eps]: [Tensor; 2],
) -> Updated {
    let s = data.size(0);
    let zero = Tensor::zeros(&[s, 1]);
    let stopped = Tensor::constant_u32(0).broadcast_to(&[s, 1]);
    let init = [theta, adam.m, adam.v, adam.scale, Tensor::zeros(&[s, 6]), zero, zero, stopped];
    let optimiser = Adam { eps: config.adam_eps, ..Adam::default() };
    let (carry, _) = scan(passes.steps(), false, &init, &passes.xs(data), |_, carry, x| {
        let [theta, m, v, scale, sums, non_finite, updates, stopped] = carry else {
            return Loop::default();
        };
        let minibatch = passes.minibatch(net, data, x);
        let parts = net.layout.split(*theta);
        let (_, grads) =
            value_and_grad(&parts, |parts| losses(net, parts, &minibatch, clip_eps, config).total.sum_all());
        let (grad, norm) = clip_by_norm(net.layout.join(&grads), config.max_grad_norm);
        let adam = AdamState { m: *m, v: *v, scale: *scale };
        let (new_theta, new_adam) = optimiser.step(*theta, grad, adam, learning_rate);

        let loss = losses(net, &parts, &minibatch, clip_eps, config);
        // The norm is finite exactly if every number of the gradient is, as long as their squares do not overflow.
        let broken = norm.non_finite();
        let mut stop = *stopped;
        if config.target_kl > 0.0 {
            stop = stop.bit_or(loss.approx_kl.gt(Tensor::constant_f32(1.5 * config.target_kl)));
        }
        let go = broken.not().bit_and(stop.not());
        let none = Tensor::constant_f32(0.0);
        let seen = [loss.policy, loss.value, loss.entropy, loss.approx_kl, loss.clip_frac, norm];
        let carry = vec![
            go.select(new_theta, *theta),
            go.select(new_adam.m, *m),
            go.select(new_adam.v, *v),
            go.select(new_adam.scale, *scale),
            *sums + go.select(Tensor::concat(&seen, 1), none),
            *non_finite + stop.not().bit_and(broken).to_f32(),
            *updates + go.to_f32(),
            stop,
        ];
        Loop { carry, ys: Vec::new() }
    });
    Updated {
        theta: carry[0],
        adam: AdamState { m: carry[1], v: carry[2], scale: carry[3] },
        sums: carry[4],
        non_finite: carry[5],
        updates: carry[6],
    }
}
