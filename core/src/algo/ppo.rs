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
mod rollout;

pub use config::PpoConfig;
pub use loss::{Losses, Minibatch, approx_kl, clip_loss, log_ratio, losses, standardise, value_loss};

use crate::backend::ScalarValue;
use crate::dist::fold_in;
use crate::env::EnvDef;
use crate::grad::value_and_grad;
use crate::optim::{Adam, AdamState, clip_by_norm};
use crate::program::{Context, Plan, PlanOptions};
use crate::rng::{key_from_seed, streams};
use crate::sample::{Gae, Moments, Steps, explained_variance, gae};
use crate::tensor::{Loop, scan};
use crate::{DType, Device, Program, Result, State, Tensor};

use super::{ActorCritic, Algorithm, StateEntry};
pub(crate) use rollout::OBS_LIMIT;
use rollout::{Collector, Rollout, Running};

/// Rewards are limited to this many deviations (as Stable-Baselines3's `VecNormalize`).
const REWARD_LIMIT: f64 = 10.0;

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
        let keys: Vec<[u32; 2]> = seeds.iter().map(|s| key_from_seed(*s)).collect();
        let ppo = Ppo::without_state(device, config, env, seeds.len())?;
        let (s, n) = (seeds.len(), config.envs);
        let mut state = State::new();
        for entry in Ppo::entries(config, env) {
            let shape = [&[s], &entry.shape[..]].concat();
            let array = match entry.name {
                "theta" => device.array(&shape, &keys.iter().flat_map(|k| ppo.net.layout.init(*k)).collect::<Vec<_>>()),
                "key" => device.array_u32(&shape, keys.as_flattened()),
                "obs_var" | "reward_var" => device.array(&shape, &vec![1.0; shape.iter().product()]),
                _ => device.zeros(&shape, entry.dtype),
            };
            state.insert(entry.name, array?);
        }
        let mut reset = Program::new(device, |cx| {
            let key = cx.input("key", &[s, 2], DType::U32);
            let words = [key.slice(1, 0, 1), key.slice(1, 1, 2)];
            let key = fold_in(fold_in(words, Tensor::constant_u32(streams::ENV)), Tensor::constant_u32(0));
            let first = env.trace_reset(key, Tensor::iota(&[s, n], 1), None);
            cx.output("env_state", first.state);
            cx.output("obs", first.observation);
        })?;
        let first = reset.run(&State::new(), &[("key", state.get("key")?)], &[])?;
        for name in ["env_state", "obs"] {
            state.insert(name, first.get(name)?.clone());
        }
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
        let p = ActorCritic::new(env.spec(), &config.net()).layout.len();
        let (n, o) = (config.envs, env.spec().observation.len());
        let mut entries = Vec::new();
        let mut add = |name, shape: &[usize], dtype| entries.push(StateEntry { name, shape: shape.to_vec(), dtype });
        add("key", &[2], DType::U32);
        add("theta", &[p], DType::F32);
        add("adam_m", &[p], DType::F32);
        add("adam_v", &[p], DType::F32);
        add("adam_scale", &[2], DType::F32);
        add("env_state", &[n, env.state_len()], DType::F32);
        add("env_steps", &[n, 1], DType::U32);
        add("obs", &[n, o], DType::F32);
        add("ep_return", &[n, 1], DType::F32);
        if config.normalise_observations {
            add("obs_mean", &[o], DType::F32);
            add("obs_var", &[o], DType::F32);
            add("obs_count", &[1], DType::F32);
        }
        if config.normalise_rewards {
            add("discounted", &[n, 1], DType::F32);
            add("reward_mean", &[1], DType::F32);
            add("reward_var", &[1], DType::F32);
            add("reward_count", &[1], DType::F32);
        }
        entries
    }

    /// Learning rate and clip range of an iteration.
    pub fn scheduled(&self, done: u64, total: u64) -> [f64; 2] {
        let c = &self.config;
        [
            c.learning_rate * c.learning_rate_schedule.factor(done, total),
            c.clip_eps * c.clip_eps_schedule.factor(done, total),
        ]
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
        let [learning_rate, clip_eps] = self.scheduled(done, total);
        vec![("train/learning_rate", learning_rate), ("train/clip_eps", clip_eps)]
    }

    fn running(&mut self) -> (&mut Program, &State) {
        (&mut self.program, &self.state)
    }

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
    let mut names = Vec::new();
    for entry in Ppo::entries(config, env) {
        let shape = [&[seeds], &entry.shape[..]].concat();
        names.push((entry.name, cx.state(entry.name, &shape, entry.dtype)));
    }
    let get = |name: &str| names.iter().find(|(n, _)| *n == name).map(|(_, t)| *t);
    let state = |name: &str| get(name).unwrap_or(Tensor::poison());
    let moments = |prefix: &str| {
        let part = |suffix: &str| get(&format!("{prefix}_{suffix}"));
        Some(Moments { mean: part("mean")?, var: part("var")?, count: part("count")? })
    };
    let key = state("key");
    let collector = Collector {
        config,
        env,
        net,
        parts: &net.layout.split(state("theta")),
        moments: moments("obs"),
        key: [key.slice(1, 0, 1), key.slice(1, 1, 2)],
        iteration: cx.scalar_u32("iteration"),
    };
    let rollout = collector.collect(Running {
        env_state: state("env_state"),
        env_steps: state("env_steps"),
        obs: state("obs"),
        ep_return: state("ep_return"),
        discounted: get("discounted").unwrap_or(Tensor::zeros(&state("ep_return").shape())),
    });
    let reward_moments = moments("reward").map(|m| m.merge(by_seed(rollout.discounted)));
    let advantages = advantages(&collector, &rollout, reward_moments);
    let data = training_data(&collector, &rollout, &advantages);

    let adam = AdamState { m: state("adam_m"), v: state("adam_v"), scale: state("adam_scale") };
    let scalars = [cx.scalar_f32("learning_rate"), cx.scalar_f32("clip_eps")];
    let order = collector.stream(streams::MINIBATCH);
    let updated = update(config, net, state("theta"), adam, data, order, scalars);

    cx.update("theta", updated.theta);
    cx.update("adam_m", updated.adam.m);
    cx.update("adam_v", updated.adam.v);
    cx.update("adam_scale", updated.adam.scale);
    let next = rollout.next;
    for (name, value) in
        [("env_state", next.env_state), ("env_steps", next.env_steps), ("obs", next.obs), ("ep_return", next.ep_return)]
    {
        cx.update(name, value);
    }
    // Observations were normalised by the statistics before this rollout, in it and in its updates alike.
    let obs_moments = collector.moments.map(|m| m.merge(by_seed(rollout.obs)));
    for (prefix, moments) in [("obs", obs_moments), ("reward", reward_moments)] {
        if let Some(m) = moments {
            cx.update(&format!("{prefix}_mean"), m.mean);
            cx.update(&format!("{prefix}_var"), m.var);
            cx.update(&format!("{prefix}_count"), m.count);
        }
    }
    if reward_moments.is_some() {
        cx.update("discounted", next.discounted);
    }

    let finished = rollout.finished.map(|x| x.sum_keep(1).reshape(&[seeds, 1]));
    let explained = explained_variance(by_seed(rollout.value), by_seed(advantages.returns));
    let average = updated.sums.slice(1, 0, 6) / updated.updates.max(Tensor::constant_f32(1.0));
    let metrics = [&finished[..], &[average, explained, updated.non_finite, updated.updates]].concat();
    cx.output("metrics", Tensor::concat(&metrics, 1));
}

/// `[T, S, N, D]` → `[S, T · N, D]`.
fn by_seed(x: Tensor) -> Tensor {
    let shape = x.shape();
    let [t, s, n, d] = shape[..] else {
        return Tensor::poison();
    };
    x.permute(&[1, 0, 2, 3]).reshape(&[s, t * n, d])
}

/// Advantages and value targets of a rollout, `[T, S, N, 1]`; eq. 11.
fn advantages(collector: &Collector<'_>, rollout: &Rollout, reward_moments: Option<Moments>) -> Gae {
    let config = collector.config;
    let (t, s, n) = (config.horizon, rollout.next.obs.size(0), config.envs);
    let value = |obs| collector.net.value(collector.parts, collector.normalised(obs));
    // One value per environment and span for those that were cut off in it, repeated over the span's steps.
    let spans = rollout.cut_obs.size(0);
    let cut = value(by_seed(rollout.cut_obs)).reshape(&[s, spans, 1, n]);
    let cut = cut.broadcast_to(&[s, spans, t / spans, n]).permute(&[1, 2, 0, 3]).reshape(&[t, s, n, 1]);
    let rewards = match reward_moments {
        None => rollout.reward,
        Some(m) => {
            let flat = m.scale(by_seed(rollout.reward), REWARD_LIMIT);
            flat.reshape(&[s, t, n, 1]).permute(&[1, 0, 2, 3])
        }
    };
    let steps = Steps {
        rewards,
        values: rollout.value,
        terminated: rollout.terminated,
        truncated: rollout.truncated,
        cut_values: cut,
        last_value: value(rollout.next.obs),
    };
    gae(&steps, config.gamma, config.gae_lambda)
}

/// All that an update needs of each step in one row, `[S, T · N, O + A + 4]`: one gather per minibatch.
fn training_data(collector: &Collector<'_>, rollout: &Rollout, advantages: &Gae) -> Tensor {
    let obs = collector.normalised(by_seed(rollout.obs));
    let rest = [rollout.action, rollout.logp, rollout.value, advantages.advantages, advantages.returns];
    let rest = Tensor::concat(&rest, 3);
    Tensor::concat(&[obs, by_seed(rest)], 2)
}

/// The inverse of [`training_data`] for some rows.
fn unpack(net: &ActorCritic, rows: Tensor) -> Minibatch {
    let (o, a) = (net.observations(), net.actions());
    let part = |lo: usize, len: usize| rows.slice(2, lo, lo + len);
    Minibatch {
        obs: part(0, o),
        action: part(o, a),
        logp_old: part(o + a, 1),
        value_old: part(o + a + 1, 1),
        advantage: part(o + a + 2, 1),
        returns: part(o + a + 3, 1),
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
    order: [Tensor; 2],
    [learning_rate, clip_eps]: [Tensor; 2],
) -> Updated {
    let (s, batch, rows) = (data.size(0), config.batch(), config.minibatch());
    let steps = config.epochs * config.minibatches;
    let epoch: Vec<u32> = (0..steps).map(|i| (i / config.minibatches) as u32).collect();
    let first: Vec<u32> = (0..steps).map(|i| (i % config.minibatches * rows) as u32).collect();
    let xs = [Tensor::literal_u32(&epoch), Tensor::literal_u32(&first)];
    let zero = Tensor::zeros(&[s, 1]);
    let stopped = Tensor::constant_u32(0).broadcast_to(&[s, 1]);
    let init = [theta, adam.m, adam.v, adam.scale, Tensor::zeros(&[s, 6]), zero, zero, stopped];
    let optimiser = Adam { eps: config.adam_eps, ..Adam::default() };
    let (carry, _) = scan(steps, false, &init, &xs, |_, carry, x| {
        let [theta, m, v, scale, sums, non_finite, updates, stopped] = carry else {
            return Loop::default();
        };
        let index = (Tensor::iota(&[s, rows], 1) + x[1]).permutation(fold_in(order, x[0]), batch);
        let minibatch = unpack(net, data.gather(index));
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
