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
mod host;
mod loss;

pub use super::on_policy::{Minibatch, log_ratio, standardise, value_loss};
pub use config::PpoConfig;
pub use host::HostPpo;
pub use loss::{Losses, approx_kl, clip_loss, losses};

use super::on_policy::{Passes, Sampled};
use super::{ActorCritic, Algorithm, Held, StateEntry, update_parameters};
use crate::backend::ScalarValue;
use crate::env::EnvDef;
use crate::grad::value_and_grad;
use crate::optim::{Adam, AdamState, clip_by_norm};
use crate::program::{Context, Plan, PlanOptions};
use crate::tensor::{Loop, scan};
use crate::{Device, Program, Result, State, Tensor};

/// What an iteration reports, in the order of the `metrics` output `[S, 12]`.
///
/// The first three are sums over the episodes that ended; the others are averages over the updates that were made.
pub const METRICS: [&str; 12] = [
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

/// PPO on one environment under one or several seeds.
#[derive(Debug)]
pub struct Ppo {
    config: PpoConfig,
    net: ActorCritic,
    program: Program,
    metric_names: Vec<String>,
    /// All that training changes, each array with a leading axis of seeds.
    pub state: State,
}

impl Ppo {
    /// Fresh training of one run per seed.
    ///
    /// # Errors
    /// If a setting is invalid or the device lacks memory.
    pub fn new(device: &Device, config: &PpoConfig, env: &EnvDef, seeds: &[u64]) -> Result<Ppo> {
        let ppo = Ppo::without_state(device, config, env, seeds.len())?;
        let state = config.sampling().start(device, env, &ppo.net, seeds)?;
        Ok(Ppo { state, ..ppo })
    }

    /// Training that goes on from a state with all of [`Ppo::entries`].
    ///
    /// # Errors
    /// If a setting is invalid or an array is missing or of another shape.
    pub fn resume(device: &Device, config: &PpoConfig, env: &EnvDef, seeds: usize, state: State) -> Result<Ppo> {
        Ok(Ppo { state, ..Ppo::without_state(device, config, env, seeds)? })
    }

    fn without_state(device: &Device, config: &PpoConfig, env: &EnvDef, seeds: usize) -> Result<Ppo> {
        config.validate()?;
        let net = ActorCritic::new(env.spec(), &config.net());
        let program = Program::new(device, |cx| iteration(cx, config, env, &net, seeds))?;
        let metric_names = METRICS.map(str::to_owned).to_vec();
        Ok(Ppo { config: config.clone(), net, program, metric_names, state: State::new() })
    }

    /// The plan of one iteration, without a device.
    ///
    /// # Errors
    /// If a setting is invalid.
    pub fn plan(config: &PpoConfig, env: &EnvDef, seeds: usize) -> Result<Plan> {
        config.validate()?;
        let net = ActorCritic::new(env.spec(), &config.net());
        Program::plan_of(PlanOptions::default(), |cx| iteration(cx, config, env, &net, seeds))
    }

    /// The networks.
    pub fn net(&self) -> &ActorCritic {
        &self.net
    }

    /// Everything that training changes, for one seed.
    pub fn entries(config: &PpoConfig, env: &EnvDef) -> Vec<StateEntry> {
        config.sampling().entries(env, &ActorCritic::new(env.spec(), &config.net()))
    }

    /// Learning rate and clip range of an iteration.
    pub fn scheduled(&self, done: u64, total: u64) -> [f64; 2] {
        self.config.scheduled(done, total)
    }
}

impl Algorithm for Ppo {
    fn state(&self) -> &State {
        &self.state
    }

    fn program(&self) -> &Program {
        &self.program
    }

    fn metric_names(&self) -> &[String] {
        &self.metric_names
    }

    fn schedules(&self, done: u64, total: u64) -> Vec<(&'static str, f64)> {
        self.config.schedules(done, total)
    }

    fn running(&mut self) -> (&mut Program, &State) {
        (&mut self.program, &self.state)
    }

    fn scalars(&self, done: u64, total: u64) -> Vec<(&'static str, ScalarValue)> {
        self.config.scalars(done, total)
    }
}

impl PpoConfig {
    /// Learning rate and clip range of an iteration.
    fn scheduled(&self, done: u64, total: u64) -> [f64; 2] {
        [
            self.learning_rate * self.learning_rate_schedule.factor(done, total),
            self.clip_eps * self.clip_eps_schedule.factor(done, total),
        ]
    }

    /// The same by the names of metrics.
    fn schedules(&self, done: u64, total: u64) -> Vec<(&'static str, f64)> {
        let [learning_rate, clip_eps] = self.scheduled(done, total);
        vec![("train/learning_rate", learning_rate), ("train/clip_eps", clip_eps)]
    }

    /// Scalars of an iteration's program.
    fn scalars(&self, done: u64, total: u64) -> Vec<(&'static str, ScalarValue)> {
        let [learning_rate, clip_eps] = self.scheduled(done, total);
        vec![
            ("iteration", ScalarValue::U32((done + 1) as u32)),
            ("learning_rate", learning_rate.into()),
            ("clip_eps", clip_eps.into()),
        ]
    }
}

/// Algorithm 1, one iteration.
fn iteration(cx: &mut Context, config: &PpoConfig, env: &EnvDef, net: &ActorCritic, seeds: usize) {
    let held = Held::declare(cx, &Ppo::entries(config, env), seeds);
    let parts = net.layout.split(held.get("theta"));
    let sampled = Sampled::collect(config.sampling(), env, net, &parts, &held, cx.scalar_u32("iteration"));
    learn(cx, config, net, &held, &sampled);
}

/// What an iteration makes of its rollout.
fn learn(cx: &mut Context, config: &PpoConfig, net: &ActorCritic, held: &Held, sampled: &Sampled<'_>) {
    let scalars = [cx.scalar_f32("learning_rate"), cx.scalar_f32("clip_eps")];
    let passes = Passes { passes: config.epochs, minibatches: config.minibatches, order: sampled.order() };
    let updated = update(config, net, held.get("theta"), held.adam(), sampled.data(), passes, scalars);
    update_parameters(cx, updated.theta, updated.adam);
    sampled.keep(cx);

    let (finished, explained) = sampled.metrics();
    let average = updated.sums.slice(1, 0, 6) / updated.updates.max(Tensor::constant_f32(1.0));
    let metrics = [&finished[..], &[average, explained, updated.non_finite, updated.updates]].concat();
    cx.output("metrics", Tensor::concat(&metrics, 1));
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
