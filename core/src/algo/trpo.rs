//! Trust Region Policy Optimization.
//!
//! Schulman et al. 2015, arXiv:1502.05477, eq. 14 and appendix C.
//! Departures from the paper, each with its reason:
//!  1. the states are those of rollouts of fixed length whose advantages a value function estimates (arXiv:1506.02438),
//!     instead of whole trajectories' returns, as all that compare with TRPO do
//!  2. the value function is fitted by Adam on minibatches, as in Stable-Baselines3's contributed TRPO, whose settings and
//!     scores are published
//!  3. advantages are standardised over the rollout, time-limited episodes bootstrap from the final observation
//!     (arXiv:1712.00378), and a step that is not finite is dropped and counted
//!
//! An iteration is one program, run for all stacked seeds: rollout, advantages, conjugate gradients, line search, passes of
//! the value function. Nothing is read in between.

mod config;
mod loss;

pub use config::TrpoConfig;
pub use loss::{kl, surrogate};

use super::on_policy::{OnDevice, OnHost, OnPolicy, Passes, Sampled, Sampling, mean, unpack, value_loss};
use super::{ActorCritic, Held, update_parameters};
use crate::grad::value_and_grad;
use crate::optim::{Adam, AdamState, dot};
use crate::policy::NetConfig;
use crate::program::Context;
use crate::tensor::{Loop, scan};
use crate::{Result, Tensor};

/// TRPO on one environment under one or several seeds.
pub type Trpo = OnDevice<TrpoConfig>;

/// [`Trpo`] on environments of the host.
pub type HostTrpo = OnHost<TrpoConfig>;

impl OnPolicy for TrpoConfig {
    /// The first three are sums over the episodes that ended; the value loss is the mean over the updates of the value function.
    /// Updates are those, and one more if the policy made a step.
    const METRICS: [&'static str; 12] = [
        "rollout/episodes",
        "ep_return_sum",
        "ep_len_sum",
        "train/policy_loss",
        "train/value_loss",
        "train/entropy",
        "train/kl",
        "train/step_scale",
        "train/grad_norm",
        "train/explained_variance",
        "train/non_finite",
        "train/updates",
    ];

    fn validate(&self) -> Result<()> {
        TrpoConfig::validate(self)
    }

    fn net(&self) -> NetConfig {
        TrpoConfig::net(self)
    }

    fn sampling(&self) -> Sampling {
        TrpoConfig::sampling(self)
    }

    fn schedules(&self, done: u64, total: u64) -> Vec<(&'static str, f64)> {
        vec![("train/learning_rate", self.learning_rate * self.learning_rate_schedule.factor(done, total))]
    }

    fn learn(&self, cx: &mut Context, net: &ActorCritic, held: &Held, sampled: &Sampled<'_>) {
        let theta = held.get("theta");
        let data = sampled.data();

        // The policy. The value function's parameters have neither gradient nor curvature here, and so no step.
        let batch = unpack(net, data);
        let old = net.distribution(&net.layout.split(theta), batch.obs).stop_gradient();
        let step = self.trust_region().step(
            &net.layout,
            theta,
            |parts| surrogate(net, parts, &batch, self.normalise_advantages), // eq. 14
            |parts| kl(net, parts, &batch, &old),
        );
        let entropy = mean(net.distribution(&net.layout.split(step.theta), batch.obs).entropy());

        let passes = Passes { passes: self.critic_epochs, minibatches: self.minibatches, order: sampled.order() };
        let critic = fit(self, net, step.theta, held.adam(), data, passes, cx.scalar_f32("learning_rate"));
        update_parameters(cx, critic.theta, critic.adam);
        sampled.keep(cx);

        let (finished, explained) = sampled.metrics();
        let value_loss = critic.loss / critic.updates.max(Tensor::constant_f32(1.0));
        let policy = [step.loss_after, value_loss, entropy, step.constraint, step.scale, step.grad_norm];
        let counts = [explained, step.broken + critic.non_finite, step.accepted + critic.updates];
        cx.output("metrics", Tensor::concat(&[&finished[..], &policy, &counts].concat(), 1));
    }
}

struct Fitted {
    theta: Tensor,
    adam: AdamState,
    /// Sum of the losses over the updates made, `[S, 1]`.
    loss: Tensor,
    /// Numbers of gradients that were not finite, `[S, 1]`.
    non_finite: Tensor,
    /// Updates made, `[S, 1]`.
    updates: Tensor,
}

/// Fits the value function; the policy's parameters have no gradient here, and stay.
fn fit(
    config: &TrpoConfig,
    net: &ActorCritic,
    theta: Tensor,
    adam: AdamState,
    data: Tensor,
    passes: Passes,
    learning_rate: Tensor,
) -> Fitted {
    let zero = Tensor::zeros(&[data.size(0), 1]);
    let init = [theta, adam.m, adam.v, adam.scale, zero, zero, zero];
    let optimiser = Adam { eps: config.adam_eps, ..Adam::default() };
    let (carry, _) = scan(passes.steps(), false, &init, &passes.xs(data), |_, carry, x| {
        let [theta, m, v, scale, losses, non_finite, updates] = carry else {
            return Loop::default();
        };
        let minibatch = passes.minibatch(net, data, x);
        let loss = |parts: &[Tensor]| value_loss(net.value(parts, minibatch.obs), minibatch.returns, None);
        let parts = net.layout.split(*theta);
        let (_, grads) = value_and_grad(&parts, |parts| loss(parts).sum_all());
        let grad = net.layout.join(&grads);
        let (new_theta, new) = optimiser.step(*theta, grad, AdamState { m: *m, v: *v, scale: *scale }, learning_rate);
        let broken = dot(grad, grad).non_finite();
        let go = broken.not();
        let carry = vec![
            go.select(new_theta, *theta),
            go.select(new.m, *m),
            go.select(new.v, *v),
            go.select(new.scale, *scale),
            *losses + go.select(loss(&parts), Tensor::constant_f32(0.0)),
            *non_finite + broken.to_f32(),
            *updates + go.to_f32(),
        ];
        Loop { carry, ys: Vec::new() }
    });
    Fitted {
        theta: carry[0],
        adam: AdamState { m: carry[1], v: carry[2], scale: carry[3] },
        loss: carry[4],
        non_finite: carry[5],
        updates: carry[6],
    }
}
