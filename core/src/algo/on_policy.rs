//! The common part of A2C, VPG, PPO and TRPO: rollouts under the policy that is trained, their advantages, updates by gradients, and the
//! state that goes on.

mod config;
#[cfg(test)]
pub(crate) mod differences;
mod learner;
mod loss;
mod one_pass;
mod rollout;
mod sequences;
mod update;

pub use config::{AdvantageScope, CriticConfig, CriticSteps, PolicyGradient, ValueTargets};
pub use learner::{OnPolicy, OnPolicyLearner};
pub use loss::{
    Losses, Minibatch, PolicyTerm, Terms, approx_kl, clip_loss, likelihood_loss, losses, mean, standardise, value_loss,
};
pub use one_pass::{FittedBaseline, OnePass};
use rollout::{Collector, MEMORIES, Rollout};
pub use sequences::Sequences;
pub use update::Update;

use crate::credit::{Gae, Moments, ValuedSteps, explained_variance, gae, least_squares_weights};
use crate::dist::fold_in;
use crate::learn::{Passes, Turn};
use crate::nn::MemoryCell;
use crate::play::Iteration;
use crate::rng::streams;
use crate::settings::Range;
use crate::{DType, Error, Result, Tensor};

use super::{ActorCritic, First, Held, Metrics, StateEntry};

/// Rewards are limited to this many deviations (as Stable-Baselines3's `VecNormalize`).
const REWARD_LIMIT: f64 = 10.0;

/// Most environment steps of one iteration and seed: what a rollout may take in memory.
pub const MAX_BATCH: usize = 1 << 24;

crate::settings! {
    /// Settings of rollouts, of their advantages and of the parts that they are learned from.
    #[derive(Copy)]
    pub struct Sampling {
        /// steps per environment between updates (T)
        horizon: usize = 128, Range::Count(1, MAX_BATCH as u64);
        /// environments that run side by side (N)
        envs: usize = 8, Range::Count(1, MAX_BATCH as u64);
        /// parts that each pass is split into
        minibatches: usize = 4, Range::Shown(&Range::Count(1, MAX_BATCH as u64), "divides T · N");
        /// discount of later rewards
        gamma: f64 = 0.99, Range::Unit;
        /// λ of the advantages; lower: less variance, more bias
        gae_lambda: f64 = 0.95, Range::Unit;
        /// by their running mean and deviation
        normalise_observations: bool = false;
        /// by the running deviation of the discounted return
        normalise_rewards: bool = false;
        /// state-dependent exploration of continuous actions
        ///
        /// arXiv:2005.05719.
        sde: bool = false;
        /// steps between its noise matrices; 0: one per rollout
        sde_sample_freq: usize = 0, Range::Shown(&Range::Count(0, MAX_BATCH as u64), "0, or divides T");
    }
}

impl Sampling {
    /// Environment steps per iteration and seed, T · N.
    pub fn batch(&self) -> usize {
        self.horizon * self.envs
    }

    /// Checks values in combination, with the number of passes over a rollout, which has that key.
    pub(super) fn validate(&self, key: &str, passes: usize) -> Result<()> {
        let (t, n, m) = (self.horizon, self.envs, self.minibatches);
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

    /// Everything that training changes, for one seed, with environment states of so many numbers; none where environments keep
    /// their states to themselves. Each episode has its own task of `tasks` numbers, if there are many.
    pub(super) fn entries(&self, environment: Option<usize>, tasks: usize, net: &ActorCritic) -> Vec<StateEntry> {
        let (n, o) = (self.envs, net.observations());
        let of = |name, shape: &[usize]| StateEntry::new(name, shape, DType::F32);
        let mut entries = StateEntry::learner(net.layout.len());
        entries.extend(StateEntry::running(environment, [n, o, tasks]));
        if self.normalise_observations {
            entries.extend(statistics(["obs_mean", "obs_var", "obs_count"], o));
        }
        let memories = MEMORIES.into_iter().zip(net.cells().into_iter().flatten());
        entries.extend(memories.map(|(name, cell)| of(name, &[n, cell.width()]).of_episode()));
        if self.normalise_rewards {
            entries.push(of("discounted", &[n, 1]).of_episode());
            entries.extend(statistics(["reward_mean", "reward_var", "reward_count"], 1));
        }
        entries
    }
}

/// Statistics of a running mean and deviation of numbers `[D]`, by the names of their entries.
fn statistics([mean, variance, count]: [&'static str; 3], width: usize) -> [StateEntry; 3] {
    let of = |name, width| StateEntry::new(name, &[width], DType::F32);
    [of(mean, width), of(variance, width).from(First::Value(1.0)), of(count, 1)].map(StateEntry::statistics)
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
    /// The baseline whose predictions are the values, if it is not the value function.
    fitted: Option<Fitted>,
    /// The change of the policy's gradients before each step.
    turn: Option<&'a dyn Turn>,
}

/// A baseline that is fitted to each rollout.
#[derive(Clone, Copy, Debug)]
struct Fitted {
    /// Features of what was seen, `[S, T · N, n]`, if it has some.
    features: Option<Tensor>,
    regularisation: f64,
}

impl Held {
    /// Statistics whose names begin with `prefix`, if there are such.
    fn moments(&self, prefix: &str) -> Option<Moments> {
        let part = |suffix: &str| self.find(&format!("{prefix}_{suffix}"));
        Some(Moments { mean: part("mean")?, var: part("var")?, count: part("count")? })
    }
}

impl<'a> Sampled<'a> {
    /// One rollout of the policy, from where the last one ended.
    pub fn collect(sampling: Sampling, net: &'a ActorCritic, it: &mut Iteration<'_>, held: &Held) -> Sampled<'a> {
        let collector = Collector::new(sampling, net, it, held);
        let rollout = collector.collect(it, held);
        let reward_moments = held.moments("reward").map(|m| m.merge(by_seed(rollout.discounted)));
        let values = [rollout.value, rollout.cut_value, rollout.next_value];
        let advantages = advantages(&collector, &rollout, reward_moments, values, sampling.gae_lambda);
        let on_host = held.find("env_state").is_none();
        let obs_moments = held.moments("obs");
        Sampled { collector, rollout, obs_moments, reward_moments, advantages, on_host, fitted: None, turn: None }
    }

    /// The same, from which [`Update`] learns by gradients that `turn` changes: those by which the policy makes steps, after their norms are
    /// limited.
    #[must_use]
    pub fn turned(self, turn: Option<&'a dyn Turn>) -> Sampled<'a> {
        Sampled { turn, ..self }
    }

    /// The same with so much of the policy's entropy in each reward that is learned from, as a constant: rewards that are scaled are so before.
    #[must_use]
    pub fn with_entropy(mut self, coef: f64) -> Sampled<'a> {
        let (collector, rollout) = (&self.collector, &self.rollout);
        let shape = rollout.reward.shape();
        let [t, s, n, _] = shape[..] else { return self };
        let (parts, sequences) = (&collector.acting.parts, rollout.sequences.as_ref());
        let entropy = collector.net.distribution_of(parts, rollout.seen, sequences).entropy().stop_gradient();
        self.rollout.bonus = Some(entropy.reshape(&[s, t, n, 1]).permute(&[1, 0, 2, 3]) * coef);
        self.credited_anew()
    }

    /// The same with what a baseline predicts, as it was fitted to the rollout before, in place of the values.
    #[must_use]
    pub fn predicted_by(mut self, fitted: FittedBaseline, held: &Held) -> Sampled<'a> {
        let FittedBaseline { baseline, regularisation } = fitted;
        let steps = self.rollout.numbers(held.get("env_steps"));
        let fit = held.find(one_pass::WEIGHTS).map(|weights| [weights, held.get(one_pass::RANGE)]);
        let values = self.rollout.predictions(baseline, fit, steps);
        [self.rollout.value, self.rollout.cut_value, self.rollout.next_value] = values;
        let rows = self.rollout.seen.size(1);
        let features = baseline.features(self.rollout.all, steps).map(|all| all.slice(1, 0, rows));
        self.fitted = Some(Fitted { features, regularisation });
        self.credited_anew()
    }

    fn credited_anew(mut self) -> Sampled<'a> {
        self.advantages = self.credited(None, self.collector.sampling.gae_lambda);
        self
    }

    /// Fits the baseline to these returns, `[T, S, N, 1]`. Where weights are not finite, a seed's fit stays as it was: 1 there, else 0, `[S, 1]`.
    fn fit(&self, fitted: Fitted, it: &mut Iteration<'_>, held: &Held, returns: Tensor) -> Tensor {
        let seeds = self.rollout.next_obs.size(0);
        let Some(features) = fitted.features else { return Tensor::zeros(&[seeds, 1]) };
        let returns = by_seed(returns);
        let weights = least_squares_weights(features, returns, fitted.regularisation);
        let range = Tensor::concat(&[-(-returns).max_keep(1), returns.max_keep(1)], 2).reshape(&[seeds, 2]);
        let weights = weights.reshape(&[seeds, features.size(2)]);
        let broken = weights.non_finite().max_keep(1);
        for (name, after) in [(one_pass::WEIGHTS, weights), (one_pass::RANGE, range)] {
            it.update(name, broken.select(held.get(name), after));
        }
        broken.to_f32()
    }

    /// The key that orders minibatches.
    fn order(&self) -> [Tensor; 2] {
        let key = fold_in(self.collector.key, Tensor::constant_u32(streams::MINIBATCH));
        fold_in(key, self.collector.iteration)
    }

    /// Passes over the steps of the rollout, each in another order.
    pub fn passes(&self, passes: usize) -> Passes {
        let sampling = &self.collector.sampling;
        // Where networks remember, a row has all steps of an environment.
        let rows = if self.rollout.sequences.is_some() { sampling.envs } else { sampling.batch() };
        Passes { passes, minibatches: sampling.minibatches, rows, order: self.order() }
    }

    /// All that an update needs of each step in one row, `[S, T · N, O + A + 4]`: one gather per minibatch. Where networks remember, a row
    /// has all steps of an environment, and the states of their memories before: `[S, N, T · (O + A + 5) + W + W]`.
    pub fn data(&self) -> Tensor {
        self.data_of(&self.advantages)
    }

    /// The same with other advantages and value targets.
    fn data_of(&self, gae: &Gae) -> Tensor {
        let obs = self.rollout.seen;
        let rollout = &self.rollout;
        let rest = [rollout.action, rollout.logp, rollout.value, gae.advantages, gae.returns];
        let rest = Tensor::concat(&rest, 3);
        match &rollout.sequences {
            None => Tensor::concat(&[obs, by_seed(rest)], 2),
            Some(Sequences { starts, states }) => {
                let rest = Tensor::concat(&[rest, starts.to_f32()], 3);
                let shape = rest.shape();
                let [t, s, n, _] = shape[..] else { return Tensor::poison() };
                let steps = Tensor::concat(&[obs, by_seed(rest)], 2);
                let width = steps.size(2);
                let steps = steps.reshape(&[s, t, n, width]).permute(&[0, 2, 1, 3]).reshape(&[s, n, t * width]);
                Tensor::concat(&[steps, states[0], states[1]], 2)
            }
        }
    }

    /// Advantages and value targets by other parameters, where they are given, and another λ.
    fn credited(&self, theta: Option<Tensor>, gae_lambda: f64) -> Gae {
        let Sampled { collector, rollout, .. } = self;
        let old = [rollout.value, rollout.cut_value, rollout.next_value];
        let values = theta.map_or(old, |theta| rollout.values(collector.net, &collector.net.layout.split(theta)));
        advantages(collector, rollout, self.reward_moments, values, gae_lambda)
    }

    /// The episodes that ended.
    pub fn metrics(&self) -> Metrics {
        let Sampling { horizon, envs, .. } = self.collector.sampling;
        self.rollout.count.metrics(self.rollout.ended, [horizon, self.rollout.next_obs.size(0), envs])
    }

    /// The explained variance of the values, `[S, 1]`.
    pub fn explained_variance(&self) -> Tensor {
        explained_variance(by_seed(self.rollout.value), by_seed(self.advantages.returns))
    }

    /// Updates of all state but parameters and optimisers.
    pub fn keep(&self, it: &mut Iteration<'_>) {
        let (rollout, next) = (&self.rollout, &self.rollout.count);
        if !self.on_host {
            it.update("env_state", rollout.env_state);
        }
        if let Some(task) = rollout.next_task {
            it.update("task", task);
        }
        for (name, value) in [("env_steps", next.steps), ("obs", rollout.next_obs), ("ep_return", next.ep_return)] {
            it.update(name, value);
        }
        // Observations were normalised by the statistics before this rollout, in it and in its updates alike.
        let obs_moments = self.obs_moments.map(|m| m.merge(by_seed(rollout.obs)));
        for (prefix, moments) in [("obs", obs_moments), ("reward", self.reward_moments)] {
            if let Some(m) = moments {
                it.update(&format!("{prefix}_mean"), m.mean);
                it.update(&format!("{prefix}_var"), m.var);
                it.update(&format!("{prefix}_count"), m.count);
            }
        }
        if self.reward_moments.is_some() {
            it.update("discounted", next.discounted);
        }
        for (name, memory) in MEMORIES.into_iter().zip(rollout.next_memory.into_iter().flatten()) {
            it.update(name, memory);
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
///
/// `values`: of what was seen `[T, S, N, 1]`, of what was cut off `[S, C · N, 1]`, and of what comes next `[S, N, 1]`.
fn advantages(
    collector: &Collector<'_>,
    rollout: &Rollout,
    reward_moments: Option<Moments>,
    [value, cut_value, next_value]: [Tensor; 3],
    gae_lambda: f64,
) -> Gae {
    let config = &collector.sampling;
    let (t, s, n) = (config.horizon, rollout.next_obs.size(0), config.envs);
    if rollout.next_obs.is_poison() {
        // A trace that has failed has no shapes.
        let none = Tensor::poison();
        return Gae { advantages: none, returns: none };
    }
    // One value per environment and span for those that were cut off in it, repeated over the span's steps.
    let spans = cut_value.size(1) / n;
    let cut = cut_value.reshape(&[s, spans, 1, n]);
    let cut = cut.broadcast_to(&[s, spans, t / spans, n]).permute(&[1, 2, 0, 3]).reshape(&[t, s, n, 1]);
    let rewards = match reward_moments {
        None => rollout.reward,
        Some(m) => {
            let flat = m.scale(by_seed(rollout.reward), REWARD_LIMIT);
            flat.reshape(&[s, t, n, 1]).permute(&[1, 0, 2, 3])
        }
    };
    let steps = ValuedSteps {
        rewards: rollout.bonus.map_or(rewards, |bonus| rewards + bonus),
        values: value,
        terminated: rollout.terminated,
        truncated: rollout.truncated,
        cut_values: cut,
        last_value: next_value,
    };
    gae(&steps, config.gamma, gae_lambda)
}

/// The inverse of [`Sampled::data`] for some rows.
pub fn unpack(net: &ActorCritic, rows: Tensor) -> Minibatch {
    let (o, a) = (net.observations(), net.actions());
    let (rows, sequences) = match net.cells() {
        None => (rows, None),
        Some(cells) => {
            let (s, b, width) = (rows.size(0), rows.size(1), o + a + 5);
            let [policy, value] = cells.map(MemoryCell::width);
            let steps = rows.size(2).saturating_sub(policy + value);
            let part = |lo: usize, len: usize| rows.slice(2, lo, lo + len);
            let states = [part(steps, policy), part(steps + policy, value)];
            let steps = part(0, steps).reshape(&[s, b, steps / width, width]).permute(&[2, 0, 1, 3]);
            let starts = steps.slice(3, width - 1, width).gt(Tensor::constant_f32(0.5));
            (by_seed(steps), Some(Sequences { starts, states }))
        }
    };
    let part = |lo: usize, len: usize| rows.slice(2, lo, lo + len);
    Minibatch {
        obs: part(0, o),
        action: part(o, a),
        logp_old: part(o + a, 1),
        value_old: part(o + a + 1, 1),
        advantage: part(o + a + 2, 1),
        returns: part(o + a + 3, 1),
        sequences,
    }
}
