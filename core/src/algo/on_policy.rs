//! The common part of A2C, VPG, PPO and TRPO: rollouts under the policy that is trained, their advantages, updates by gradients, and the
//! state that goes on.

mod config;
#[cfg(test)]
pub(crate) mod differences;
mod learner;
mod loss;
mod one_pass;
mod rollout;
mod sampling;
mod sequences;
mod surrogate;
mod trust_region;
mod update;

pub use config::{AdvantageScope, CriticConfig, CriticSteps, PolicyGradient, ValueTargets};
pub use learner::{OnPolicy, OnPolicyLearner};
pub use loss::{
    Losses, Minibatch, PolicyTerm, Terms, approx_kl, clip_loss, likelihood_loss, losses, mean, standardise,
    standardise_valid, value_loss,
};
pub use one_pass::{FittedBaseline, OnePass};
use rollout::{Collector, MEMORIES, Rollout};
pub use sampling::{MAX_BATCH, Sampling};
pub use sequences::Sequences;
pub use surrogate::{kl, surrogate};
pub use trust_region::TrustRegionUpdate;
pub use update::Update;

use crate::Tensor;
use crate::credit::{
    Gae, Moments, ValuedSteps, explained_variance, explained_variance_of_valid, gae, least_squares_weights,
};
use crate::dist::fold_in;
use crate::learn::{Passes, Turn, by_seed};
use crate::nn::MemoryCell;
use crate::play::{Iteration, Running};
use crate::rng::streams;
use crate::tensor::Named;

use super::episodes::RunningEpisodes;
use super::{ActorCritic, Held, Metrics, Statistics};

/// Rewards are limited to this many deviations (as Stable-Baselines3's `VecNormalize`).
const REWARD_LIMIT: f64 = 10.0;

/// A rollout and what is learned from it.
pub struct Sampled<'a> {
    collector: Collector<'a>,
    rollout: Rollout,
    /// Statistics of observations before this rollout.
    obs_moments: Option<Moments>,
    reward_moments: Option<Moments>,
    advantages: Gae,
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

impl<'a> Sampled<'a> {
    /// One rollout of the policy: from where the last one ended, or of whole episodes from new ones on.
    pub fn collect(sampling: Sampling, net: &'a ActorCritic, it: &mut Iteration<'_>, held: &Held) -> Sampled<'a> {
        let collector = Collector::new(sampling, net, it, held);
        let rollout = collector.collect(it, held);
        let reward_moments = Statistics::REWARDS.find(held).map(|m| rollout.merged(m, rollout.discounted));
        let values = [rollout.value, rollout.cut_value, rollout.next_value];
        let advantages = advantages(&collector, &rollout, reward_moments, values, sampling.gae_lambda);
        let obs_moments = Statistics::OBSERVATIONS.find(held);
        Sampled { collector, rollout, obs_moments, reward_moments, advantages, fitted: None, turn: None }
    }

    /// Has `turn` change the gradients by which the policy steps in [`Update`] and [`TrustRegionUpdate`], after their
    /// norms are limited.
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
        let steps = self.rollout.numbers(held);
        let fit = held.find(one_pass::WEIGHTS).map(|weights| [weights, held.get(one_pass::RANGE)]);
        let values = self.rollout.predictions(baseline, fit, steps);
        [self.rollout.value, self.rollout.cut_value, self.rollout.next_value] = values;
        let rows = self.rollout.seen.size(1);
        let features = baseline.features(self.rollout.all, steps).map(|all| self.only(all.slice(1, 0, rows)));
        self.fitted = Some(Fitted { features, regularisation });
        self.credited_anew()
    }

    /// 1 where a step counts, u32 `[S, T · N, 1]`; none where all do.
    fn valid(&self) -> Option<Tensor> {
        self.rollout.valid.map(by_seed)
    }

    /// `x: [S, T · N, D]` where a step counts, 0 elsewhere.
    fn only(&self, x: Tensor) -> Tensor {
        self.valid().map_or(x, |valid| valid.select(x, Tensor::constant_f32(0.0)))
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
        let weights = least_squares_weights(features, self.only(returns), fitted.regularisation);
        let none = Tensor::constant_f32(f64::from(f32::MIN));
        let largest = |x: Tensor| self.valid().map_or(x, |valid| valid.select(x, none)).max_keep(1);
        let range = Tensor::concat(&[-largest(-returns), largest(returns)], 2).reshape(&[seeds, 2]);
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
        let all = Passes { passes, minibatches: sampling.minibatches, rows, order: self.order(), dealt: None };
        // Where a row is an environment, some of its steps always count.
        self.valid().filter(|_| self.rollout.sequences.is_none()).map_or(all, |valid| all.dealt(valid))
    }

    /// All that an update needs of each step in one row, `[S, T · N, O + A + 4]`: one gather per minibatch. Where networks remember, a row
    /// has all steps of an environment, and the states of their memories before: `[S, N, T · (O + A + 5) + W + W]`. Of whole episodes a step
    /// has one number more: whether it counts.
    pub fn data(&self) -> Tensor {
        self.data_of(&self.advantages)
    }

    /// Rows of [`data`](Sampled::data), taken apart.
    pub fn unpack(&self, rows: Tensor) -> Minibatch {
        unpack(self.collector.net, rows, self.rollout.valid.is_some())
    }

    /// The same with other advantages and value targets.
    fn data_of(&self, gae: &Gae) -> Tensor {
        let obs = self.rollout.seen;
        let rollout = &self.rollout;
        let mut rest = vec![rollout.action, rollout.logp, rollout.value, gae.advantages, gae.returns];
        rest.extend(rollout.valid.map(Tensor::to_f32));
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
        let metrics = self.rollout.count.metrics(self.rollout.ended, [horizon, self.rollout.next_obs.size(0), envs]);
        match self.valid() {
            None => metrics,
            Some(valid) => metrics.sum(Metrics::STEPS, valid.to_f32().sum_keep(1).reshape(&[valid.size(0), 1])),
        }
    }

    /// The explained variance of the values, `[S, 1]`.
    pub fn explained_variance(&self) -> Tensor {
        let [values, returns] = [self.rollout.value, self.advantages.returns].map(by_seed);
        match self.valid() {
            None => explained_variance(values, returns),
            Some(valid) => {
                let valid = valid.to_f32();
                explained_variance_of_valid(values, returns, valid / valid.sum_keep(1))
            }
        }
    }

    /// Updates of all state but parameters and optimisers.
    pub fn keep(&self, it: &mut Iteration<'_>) {
        let rollout = &self.rollout;
        if rollout.valid.is_none() {
            self.keep_running(it);
        }
        // Observations were normalised by the statistics before this rollout, in it and in its updates alike.
        let obs_moments = self.obs_moments.map(|m| rollout.merged(m, rollout.obs));
        for (of, moments) in [(Statistics::OBSERVATIONS, obs_moments), (Statistics::REWARDS, self.reward_moments)] {
            if let Some(moments) = moments {
                of.keep(it, &moments);
            }
        }
    }

    /// Updates of what the next rollout goes on from.
    fn keep_running(&self, it: &mut Iteration<'_>) {
        let (rollout, next) = (&self.rollout, &self.rollout.count);
        let running = Running {
            state: rollout.env_state,
            steps: next.steps.reshape(&[next.steps.size(0), next.steps.size(1)]),
            obs: rollout.next_obs,
            memory: Named::new(),
            task: rollout.next_task,
        };
        RunningEpisodes { running, ep_return: next.ep_return }.keep(it);
        if self.reward_moments.is_some() {
            it.update("discounted", next.discounted);
        }
        for (name, memory) in MEMORIES.into_iter().zip(rollout.next_memory.into_iter().flatten()) {
            it.update(name, memory);
        }
    }
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

/// The inverse of [`Sampled::data`] for some rows; `whole`: they are of whole episodes, and not all steps count.
fn unpack(net: &ActorCritic, rows: Tensor, whole: bool) -> Minibatch {
    let (o, a) = (net.observations(), net.actions());
    let numbers = o + a + 4 + usize::from(whole);
    let (rows, sequences) = match net.cells() {
        None => (rows, None),
        Some(cells) => {
            let (s, b, width) = (rows.size(0), rows.size(1), numbers + 1);
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
        valid: whole.then(|| part(o + a + 4, 1).gt(Tensor::constant_f32(0.5))),
    }
}
