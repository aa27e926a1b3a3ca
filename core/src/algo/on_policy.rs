//! What PPO and TRPO share: rollouts under the policy that is trained, their advantages, and the state that goes on.

mod host_rollouts;
mod learner;
mod loss;
mod on_device;
mod on_host;
mod rollout;

pub use host_rollouts::HostRollouts;
pub use learner::OnPolicy;
pub use loss::{Minibatch, log_ratio, mean, standardise, value_loss};
pub use on_device::OnDevice;
pub use on_host::OnHost;
use rollout::{Collector, Rollout};

use crate::dist::fold_in;
use crate::env::EnvDef;
use crate::learn::Passes;
use crate::play::Recorded;
use crate::program::Context;
use crate::rng::{key_from_seed, streams};
use crate::sample::{Gae, Moments, Steps, explained_variance, gae};
use crate::{DType, Device, Error, Program, Result, State, Tensor};

use super::{ActorCritic, Held, StateEntry};

/// Rewards are limited to this many deviations (as Stable-Baselines3's `VecNormalize`).
const REWARD_LIMIT: f64 = 10.0;

/// Most environment steps of one iteration and seed: what a rollout may take in memory.
const MAX_BATCH: usize = 1 << 24;

/// Settings of rollouts and advantages; the fields of the algorithms' settings with these names.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs, reason = "each is described where it is set")]
pub struct Sampling {
    pub horizon: usize,
    pub envs: usize,
    pub gamma: f64,
    pub gae_lambda: f64,
    pub normalise_observations: bool,
    pub normalise_rewards: bool,
    pub sde: bool,
    pub sde_sample_freq: usize,
}

impl Sampling {
    /// Values on their own and in combination, with `minibatches` parts of each of the passes over a rollout: `passes` of them
    /// under that key.
    pub fn validate(&self, (key, passes): (&str, usize), minibatches: usize) -> Result<()> {
        Error::in_range("gamma", self.gamma, (0.0..=1.0).contains(&self.gamma), "in 0 to 1")?;
        Error::in_range("gae_lambda", self.gae_lambda, (0.0..=1.0).contains(&self.gae_lambda), "in 0 to 1")?;
        let counts = [("horizon", self.horizon), ("envs", self.envs), (key, passes), ("minibatches", minibatches)];
        for (key, value) in counts {
            if value == 0 || value > MAX_BATCH {
                return Err(Error::config(key, format!("{value} is not in 1 to {MAX_BATCH}")));
            }
        }
        let (t, n, m) = (self.horizon, self.envs, minibatches);
        let batch = t.saturating_mul(n);
        if batch > MAX_BATCH {
            return Err(Error::config("horizon", format!("horizon × envs ({t} × {n}) is more than {MAX_BATCH}")));
        }
        if m.saturating_mul(passes) > MAX_BATCH {
            return Err(Error::config(key, format!("{key} × minibatches is more than {MAX_BATCH}")));
        }
        if batch % m != 0 {
            let near = (1..=batch).filter(|d| batch % d == 0).min_by_key(|d| d.abs_diff(m)).unwrap_or(1);
            let problem = format!("{m} must divide horizon × envs ({t} × {n} = {batch}); try {near}");
            return Err(Error::config("minibatches", problem));
        }
        let freq = self.sde_sample_freq;
        if freq != 0 && t % freq != 0 {
            return Err(Error::config("sde_sample_freq", format!("{freq} must divide the horizon ({t}), or be 0")));
        }
        Ok(())
    }

    /// Everything that training changes, for one seed.
    pub fn entries(&self, env: &EnvDef, net: &ActorCritic) -> Vec<StateEntry> {
        self.entries_with(Some(env.state_len()), net)
    }

    /// The same with environment states of so many numbers; none where environments keep their states to themselves.
    pub fn entries_with(&self, state_len: Option<usize>, net: &ActorCritic) -> Vec<StateEntry> {
        let (n, o, p) = (self.envs, net.observations(), net.layout.len());
        let mut entries = Vec::new();
        let mut add = |name, shape: &[usize], dtype| entries.push(StateEntry { name, shape: shape.to_vec(), dtype });
        add("key", &[2], DType::U32);
        add("theta", &[p], DType::F32);
        add("adam_m", &[p], DType::F32);
        add("adam_v", &[p], DType::F32);
        add("adam_scale", &[2], DType::F32);
        if let Some(state_len) = state_len {
            add("env_state", &[n, state_len], DType::F32);
        }
        add("env_steps", &[n, 1], DType::U32);
        add("obs", &[n, o], DType::F32);
        add("ep_return", &[n, 1], DType::F32);
        if self.normalise_observations {
            add("obs_mean", &[o], DType::F32);
            add("obs_var", &[o], DType::F32);
            add("obs_count", &[1], DType::F32);
        }
        if self.normalise_rewards {
            add("discounted", &[n, 1], DType::F32);
            add("reward_mean", &[1], DType::F32);
            add("reward_var", &[1], DType::F32);
            add("reward_count", &[1], DType::F32);
        }
        entries
    }

    /// The state before training: first parameters, environments after their first reset.
    ///
    /// # Errors
    /// If the device lacks memory.
    pub fn start(&self, device: &Device, env: &EnvDef, net: &ActorCritic, seeds: &[u64]) -> Result<State> {
        let (s, n) = (seeds.len(), self.envs);
        let mut state = fresh(device, &self.entries(env, net), net, seeds)?;
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
        Ok(state)
    }
}

/// First parameters, and zeros for all that has yet to begin.
fn fresh(device: &Device, entries: &[StateEntry], net: &ActorCritic, seeds: &[u64]) -> Result<State> {
    let keys: Vec<[u32; 2]> = seeds.iter().map(|s| key_from_seed(*s)).collect();
    let mut state = State::new();
    for entry in entries {
        let shape = [&[seeds.len()], &entry.shape[..]].concat();
        let array = match entry.name {
            "theta" => net.layout.first(device, seeds),
            "key" => device.array_u32(&shape, keys.as_flattened()),
            "obs_var" | "reward_var" => device.array(&shape, &vec![1.0; shape.iter().product()]),
            _ => device.zeros(&shape, entry.dtype),
        };
        state.insert(entry.name, array?);
    }
    Ok(state)
}

/// A rollout and what is learned from it.
pub struct Sampled<'a> {
    collector: Collector<'a>,
    rollout: Rollout,
    /// Statistics of observations before this rollout.
    obs_moments: Option<Moments>,
    reward_moments: Option<Moments>,
    advantages: Gae,
    /// Environments keep their states to themselves.
    on_host: bool,
}

impl Held {
    /// Statistics whose names begin with `prefix`, if there are such.
    fn moments(&self, prefix: &str) -> Option<Moments> {
        let part = |suffix: &str| self.find(&format!("{prefix}_{suffix}"));
        Some(Moments { mean: part("mean")?, var: part("var")?, count: part("count")? })
    }
}

impl<'a> Sampled<'a> {
    /// One rollout of the policy with `parts`, from where the last one ended.
    pub fn collect(
        sampling: Sampling,
        env: &EnvDef,
        net: &'a ActorCritic,
        parts: &[Tensor],
        held: &Held,
        iteration: Tensor,
    ) -> Sampled<'a> {
        let collector = Collector::new(sampling, net, parts, held, iteration);
        let rollout = collector.collect(env, held);
        Sampled::of(collector, rollout, held)
    }

    /// The rollout that environments on the host played.
    pub fn replay(
        sampling: Sampling,
        recorded: &Recorded,
        net: &'a ActorCritic,
        parts: &[Tensor],
        held: &Held,
        iteration: Tensor,
    ) -> Sampled<'a> {
        let collector = Collector::new(sampling, net, parts, held, iteration);
        let rollout = collector.rollout(&recorded.went_on(held.get("obs")), held);
        Sampled::of(collector, rollout, held)
    }

    fn of(collector: Collector<'a>, rollout: Rollout, held: &Held) -> Sampled<'a> {
        let reward_moments = held.moments("reward").map(|m| m.merge(by_seed(rollout.discounted)));
        let advantages = advantages(&collector, &rollout, reward_moments);
        let on_host = held.find("env_state").is_none();
        let obs_moments = held.moments("obs");
        Sampled { collector, rollout, obs_moments, reward_moments, advantages, on_host }
    }

    /// The key that orders minibatches.
    fn order(&self) -> [Tensor; 2] {
        let key = fold_in(self.collector.key, Tensor::constant_u32(streams::MINIBATCH));
        fold_in(key, self.collector.iteration)
    }

    /// Passes over the steps of the rollout, each in another order.
    pub fn passes(&self, passes: usize, minibatches: usize) -> Passes {
        let rows = self.collector.sampling.horizon * self.collector.sampling.envs;
        Passes { passes, minibatches, rows, order: self.order() }
    }

    /// All that an update needs of each step in one row, `[S, T · N, O + A + 4]`: one gather per minibatch.
    pub fn data(&self) -> Tensor {
        let obs = self.rollout.seen;
        let (rollout, gae) = (&self.rollout, &self.advantages);
        let rest = [rollout.action, rollout.logp, rollout.value, gae.advantages, gae.returns];
        let rest = Tensor::concat(&rest, 3);
        Tensor::concat(&[obs, by_seed(rest)], 2)
    }

    /// Number, returns and lengths of the episodes that ended, summed, and the explained variance of the values: `[S, 1]` each.
    pub fn metrics(&self) -> ([Tensor; 3], Tensor) {
        let (seeds, count) = (self.rollout.next_obs.size(0), &self.rollout.count);
        let finished = [count.episodes, count.returns, count.lengths];
        let finished = finished.map(|x| x.sum_keep(1).reshape(&[seeds, 1]));
        (finished, explained_variance(by_seed(self.rollout.value), by_seed(self.advantages.returns)))
    }

    /// Updates of all state but parameters and optimisers.
    pub fn keep(&self, cx: &mut Context) {
        let (rollout, next) = (&self.rollout, &self.rollout.count);
        if !self.on_host {
            cx.update("env_state", rollout.env_state);
        }
        for (name, value) in [("env_steps", next.steps), ("obs", rollout.next_obs), ("ep_return", next.ep_return)] {
            cx.update(name, value);
        }
        // Observations were normalised by the statistics before this rollout, in it and in its updates alike.
        let obs_moments = self.obs_moments.map(|m| m.merge(by_seed(rollout.obs)));
        for (prefix, moments) in [("obs", obs_moments), ("reward", self.reward_moments)] {
            if let Some(m) = moments {
                cx.update(&format!("{prefix}_mean"), m.mean);
                cx.update(&format!("{prefix}_var"), m.var);
                cx.update(&format!("{prefix}_count"), m.count);
            }
        }
        if self.reward_moments.is_some() {
            cx.update("discounted", next.discounted);
        }
    }
}

/// `[T, S, N, D]` → `[S, T · N, D]`.
fn by_seed(x: Tensor) -> Tensor {
    let shape = x.shape();
    let [t, s, n, d] = shape[..] else {
        return Tensor::poison();
    };
    x.permute(&[1, 0, 2, 3]).reshape(&[s, t * n, d])
}

/// Advantages and value targets of a rollout, `[T, S, N, 1]`; eq. 11 of PPO's paper, arXiv:1707.06347.
fn advantages(collector: &Collector<'_>, rollout: &Rollout, reward_moments: Option<Moments>) -> Gae {
    let config = &collector.sampling;
    let (t, s, n) = (config.horizon, rollout.next_obs.size(0), config.envs);
    // One value per environment and span for those that were cut off in it, repeated over the span's steps.
    let spans = rollout.cut_value.size(1) / n;
    let cut = rollout.cut_value.reshape(&[s, spans, 1, n]);
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
        last_value: rollout.next_value,
    };
    gae(&steps, config.gamma, config.gae_lambda)
}

/// The inverse of [`Sampled::data`] for some rows.
pub fn unpack(net: &ActorCritic, rows: Tensor) -> Minibatch {
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
