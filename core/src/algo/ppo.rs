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

use super::on_policy::{OnDevice, OnHost, OnPolicy, Sampled, Sampling, unpack};
use super::{ActorCritic, Held, update_parameters};
use crate::learn::{Descent, Look};
use crate::optim::Adam;
use crate::policy::NetConfig;
use crate::program::Context;
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
        let (learning_rate, clip_eps) = (cx.scalar_f32("learning_rate"), cx.scalar_f32("clip_eps"));
        let data = sampled.data();
        let passes = sampled.passes(self.epochs, self.minibatches);
        let descent = Descent {
            layout: &net.layout,
            optimiser: Adam { eps: self.adam_eps, ..Adam::default() },
            learning_rate,
            max_grad_norm: self.max_grad_norm,
            sums: &["policy_loss", "value_loss", "entropy", "approx_kl", "clip_frac", "grad_norm"],
            stop: (self.target_kl > 0.0).then_some(("approx_kl", 1.5 * self.target_kl)),
            first_norm: false,
        };
        let updated = descent.run(held.get("theta"), held.adam(), passes.steps(), &passes.xs(), |parts, x| {
            let minibatch = unpack(net, data.gather(passes.index(&x)));
            let Losses { total, policy, value, entropy, approx_kl, clip_frac } =
                losses(net, parts, &minibatch, clip_eps, self);
            let seen = [
                ("policy_loss", policy),
                ("value_loss", value),
                ("entropy", entropy),
                ("approx_kl", approx_kl),
                ("clip_frac", clip_frac),
            ];
            Look { loss: total, seen: seen.into() }
        });
        update_parameters(cx, updated.theta, updated.adam);
        sampled.keep(cx);

        let (finished, explained) = sampled.metrics();
        let metrics = [&finished[..], &[updated.averages(), explained, updated.non_finite, updated.updates]].concat();
        cx.output("metrics", Tensor::concat(&metrics, 1));
    }
}
