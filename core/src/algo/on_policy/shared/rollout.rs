//! Rollouts: T steps of N environments under the trained policy, and their credit.
//!
//! Values, returns and episodes are computed from the recorded steps, alike on devices and on the host.

use crate::algo::{ActorCritic, Count, Held, Metrics, RunningEpisodes, Statistics, merge_steps};
use crate::credit::{Gae, Moments, ValuedSteps, explained_variance, explained_variance_of_valid, gae};
use crate::dist::fold_in;
use crate::learn::{Passes, Split, by_seed};
use crate::play::{Cast, Ends, Experience, Iteration, Running, Until};
use crate::policy::{Acting, Distribution, MEMORY, Normalised};
use crate::rng::streams;
use crate::tensor::{CompensatedSum, Named, fail};
use crate::{Error, Tensor};

use super::actor_critic::MEMORIES;
use super::values::values_of;
use super::{RolloutValues, Sampling, Sequences};

/// The limit of rewards, in deviations, as in Stable-Baselines3's `VecNormalize`.
const REWARD_LIMIT: f64 = 10.0;

/// T steps of N environments per seed, played by networks with fixed parameters.
#[derive(Clone, Debug)]
pub struct Rollout<'a> {
    /// The networks.
    pub nets: &'a ActorCritic,
    /// The sizes of the rollout, γ and λ.
    pub sampling: Sampling,
    /// The most steps of each environment that there can be, if the rollout has room for fewer.
    pub(super) most_steps: usize,
    /// Slices of θ and, if observations are normalised, their statistics.
    pub(super) acting: Acting,
    /// Each seed's key, words `[S, 1]`.
    key: [Tensor; 2],
    /// The number of the iteration, from 1; 0 is the reset.
    iteration: Tensor,
    /// Observations before normalisation, `[T, S, N, O]`.
    obs: Tensor,
    /// Observations as the networks get them, `[S, T · N, O]`.
    pub(super) seen: Tensor,
    /// `seen`, then the observations that time limits cut off, then the next ones: `[S, T · N + C · N + N, O]`.
    pub(in crate::algo::on_policy) all: Tensor,
    /// Actions as drawn, `[T, S, N, A]`.
    pub(super) action: Tensor,
    /// The actions' log-probabilities, `[T, S, N, 1]`.
    pub(super) logp: Tensor,
    /// Predictions of the returns from each observation on: by the value function, unless something else replaces it.
    pub values: RolloutValues,
    /// Rewards, `[T, S, N, 1]`.
    pub(in crate::algo::on_policy) reward: Tensor,
    /// A bonus that is added to scaled rewards, `[T, S, N, 1]`.
    bonus: Option<Tensor>,
    /// Ends of episodes, u32 `[T, S, N, 1]` each.
    pub(in crate::algo::on_policy) ends: Ends,
    /// Discounted returns, `[T, S, N, 1]`.
    discounted: Tensor,
    /// Returns of the episodes that ended, in their last steps, `[T, S, N, 1]`, in the form of [`Metrics::returns`].
    ended: CompensatedSum,
    /// The episodes that the next rollout continues.
    next: Running,
    /// The order of its steps, if networks remember.
    pub(super) sequences: Option<Sequences>,
    /// The states of the networks' memories after the rollout, `[S, N, W]` each.
    next_memory: Option<[Tensor; 2]>,
    /// The episodes running after the rollout, and those that ended in it.
    pub(super) count: Count,
    /// 1 where a step counts, 0 behind the last whole episode, u32 `[T, S, N, 1]`; none if rollouts are of fixed
    /// length.
    pub(super) valid: Option<Tensor>,
    /// Statistics of the observations before this rollout.
    obs_moments: Option<Moments>,
    /// Statistics of rewards, including those of this rollout.
    reward_moments: Option<Moments>,
}

/// The credit of a rollout's steps, `[T, S, N, 1]` each.
#[derive(Clone, Copy, Debug)]
pub struct StepCredit {
    /// Advantages of the actions.
    pub advantages: Tensor,
    /// Advantages plus values.
    pub returns: Tensor,
    /// The returns that the value function is fitted to.
    pub targets: Tensor,
}

impl<'a> Rollout<'a> {
    /// Plays a rollout, which continues the last one or begins whole new episodes.
    pub fn collect(sampling: &Sampling, nets: &'a ActorCritic, it: &mut Iteration<'_>, held: &Held) -> Rollout<'a> {
        if let Some(amount) = sampling.whole_episodes() {
            return Rollout::collect_episodes(sampling, nets, it, held, amount);
        }
        if !it.spec().task.is_empty() && held.find("task").is_none() {
            fail(Error::ManyTasks(it.spec().name.clone()));
        }
        let Sampling { horizon, envs, sde, sde_sample_freq, .. } = *sampling;
        let acting = nets.acting(held);
        let memories = nets.memories(&acting.parts, held);
        let memory = memories.map_or_else(Named::new, |[policy, _]| Named::from([(MEMORY, policy)]));
        let from = RunningEpisodes::of(held, memory).running;
        let rows = [from.obs.size(0), envs];
        let policy = Normalised(&nets.policy);
        let span = span(sampling, it.spec().horizon);
        let until = Until { steps: horizon, span, lasting: sde.then_some(sde_sample_freq) };
        let cast = Cast { policy: &policy, acting: &acting, rows };
        let played = it.go_on(cast, from, until, Tensor::constant_u32(0));
        Rollout::of(sampling, nets, it, held, acting.clone(), &played, memories).rewarded(it, held)
    }

    /// Makes a rollout of recorded steps. `acting` has the values by which the policy acted, and `memories` the states
    /// of both memories before the steps.
    pub(super) fn of(
        sampling: &Sampling,
        nets: &'a ActorCritic,
        it: &Iteration<'_>,
        held: &Held,
        acting: Acting,
        played: &Experience,
        memories: Option<[Tensor; 2]>,
    ) -> Rollout<'a> {
        let steps = &played.steps;
        let shape = steps.reward.shape();
        // A trace that has failed has no shapes.
        let [t, s, n] = if let [t, s, n, _] = shape[..] { [t, s, n] } else { [1; 3] };
        let cut_obs = by_seed(played.cut_obs.unwrap_or(Tensor::poison()));
        let all = Tensor::concat(&[by_seed(steps.obs), cut_obs, played.next.obs], 1);
        let all = Normalised::seen(&acting, all);
        let seen = all.slice(1, 0, t * n);
        let ends = steps.ends();
        let sequences = memories.map(|states| {
            let begins = Count::of(held, [s, n]).steps.eq(Tensor::constant_u32(0)).unsqueeze(0);
            let ended = ends.ended();
            Sequences { starts: Tensor::concat(&[begins, ended], 0).slice(0, 0, t), states }
        });
        let logp = steps.extras.find("log_prob").unwrap_or_else(|| {
            // The host does not record the policy's outputs about its actions.
            let policy = nets.distribution_of(&acting.parts, seen, sequences.as_ref());
            by_time(policy.log_prob(by_seed(steps.action)), [t, s, n])
        });
        let running = Count::of(held, [s, n]);
        // In rollouts of fixed length, all steps count.
        let counted = if held.find("obs").is_some() { ends } else { ends.of_valid(steps.valid) };
        let (count, (discounted, ended)) = running.over(steps.reward, counted, sampling.gamma);
        let (values, value_memory) = values_of(nets, &acting.parts, (all, ends), sequences.as_ref(), [t, s, n]);
        let next_memory = value_memory.map(|value| [played.next.memory.get(MEMORY), value]);
        Rollout {
            nets,
            sampling: *sampling,
            most_steps: sampling.horizon,
            acting,
            key: it.key(),
            iteration: it.number(),
            obs: steps.obs,
            seen,
            all,
            action: steps.action,
            logp,
            values,
            reward: steps.reward,
            bonus: None,
            ends,
            discounted,
            ended,
            next: played.next.clone(),
            sequences,
            next_memory,
            count,
            valid: None,
            obs_moments: Statistics::OBSERVATIONS.find(held),
            reward_moments: None,
        }
    }

    /// Updates the statistics of rewards with those of this rollout.
    pub(super) fn rewarded(self, it: &mut Iteration<'_>, held: &Held) -> Rollout<'a> {
        let before = Statistics::REWARDS.find(held);
        Rollout { reward_moments: before.map(|m| merge_steps(it, m, self.discounted, self.valid)), ..self }
    }

    /// The policy's distributions of the actions, `[S, T · N, ·]`.
    #[track_caller]
    pub fn policy(&self) -> Distribution {
        self.nets.distribution_of(&self.acting.parts, self.seen, self.sequences.as_ref())
    }

    /// Adds the policy's entropy times `coef` to each reward that is learned from, as a constant. Rewards are scaled
    /// before.
    pub fn reward_entropy(&mut self, coef: f64) {
        let shape = self.reward.shape();
        let [t, s, n, _] = shape[..] else { return };
        self.bonus = Some(by_time(self.policy().entropy().stop_gradient(), [t, s, n]) * coef);
    }

    /// Computes advantages and value targets by these values, as in eq. 11 of PPO's paper, arXiv:1707.06347.
    /// `of_targets` is the λ of the targets, if it differs from that of the advantages.
    #[track_caller]
    pub fn credit(&self, values: &RolloutValues, of_targets: Option<f64>) -> StepCredit {
        let Gae { advantages, returns } = self.gae(values, self.sampling.gae_lambda);
        let targets = of_targets.map_or(returns, |lambda| self.gae(values, lambda).returns);
        StepCredit { advantages, returns, targets }
    }

    /// Computes advantages and returns by a λ.
    #[track_caller]
    fn gae(&self, values: &RolloutValues, lambda: f64) -> Gae {
        let shape = self.reward.shape();
        let [t, s, n, _] = shape[..] else {
            let none = Tensor::poison();
            return Gae { advantages: none, returns: none };
        };
        // Each environment and span has one value for the observation that was cut off in it, repeated over the span's
        // steps.
        let spans = values.cut.size(1) / n;
        let cut = values.cut.reshape(&[s, spans, 1, n]);
        let cut = cut.broadcast_to(&[s, spans, t / spans, n]).permute(&[1, 2, 0, 3]).reshape(&[t, s, n, 1]);
        let rewards = match self.reward_moments {
            None => self.reward,
            Some(m) => by_time(m.scale(by_seed(self.reward), REWARD_LIMIT), [t, s, n]),
        };
        let steps = ValuedSteps {
            rewards: self.bonus.map_or(rewards, |bonus| rewards + bonus),
            values: values.seen,
            terminated: self.ends.terminated,
            truncated: self.ends.truncated,
            cut_values: cut,
            last_value: values.next,
        };
        gae(&steps, self.sampling.gamma, lambda)
    }

    /// Values of the rollout by other parameters, `theta: [S, P]`.
    #[track_caller]
    pub fn values_by(&self, theta: Tensor) -> RolloutValues {
        let shape = self.reward.shape();
        let [t, s, n, _] = shape[..] else { return RolloutValues::poison() };
        values_of(self.nets, &self.nets.layout.split(theta), (self.all, self.ends), self.sequences.as_ref(), [t, s, n])
            .0
    }

    /// Passes over the steps in such minibatches, each in an order of its own.
    pub fn passes(&self, passes: usize, split: Split) -> Passes {
        let key = fold_in(self.key, Tensor::constant_u32(streams::MINIBATCH));
        let order = fold_in(key, self.iteration);
        // If networks remember, a row has all steps of an environment, some of which always count.
        let remember = self.sequences.is_some();
        let rows = if remember { self.sampling.envs } else { self.sampling.batch() };
        let all = Passes { passes, split, rows, order, dealt: None };
        self.valid().filter(|_| !remember).map_or(all, |valid| all.dealt(valid, self.most_steps * self.sampling.envs))
    }

    /// 1 where a step counts, u32 `[S, T · N, 1]`; none if all do.
    pub(super) fn valid(&self) -> Option<Tensor> {
        self.valid.map(by_seed)
    }

    /// `x: [S, T · N, D]` where a step counts, 0 elsewhere.
    pub(super) fn only(&self, x: Tensor) -> Tensor {
        self.valid().map_or(x, |valid| valid.select(x, Tensor::constant_f32(0.0)))
    }

    /// Metrics of the episodes that ended.
    pub fn metrics(&self) -> Metrics {
        let Sampling { horizon, envs, .. } = self.sampling;
        let metrics = self.count.metrics(self.ended, [horizon, self.next.obs.size(0), envs]);
        match self.valid() {
            None => metrics,
            Some(valid) => metrics.sum(Metrics::STEPS, valid.to_f32().sum_keep(1).reshape(&[valid.size(0), 1])),
        }
    }

    /// The share of the variance of returns that the rollout's values explain, `[S, 1]`.
    pub fn explained_variance(&self, credit: &StepCredit) -> Tensor {
        let [values, returns] = [self.values.seen, credit.returns].map(by_seed);
        match self.valid() {
            None => explained_variance(values, returns),
            Some(valid) => {
                let valid = valid.to_f32();
                explained_variance_of_valid(values, returns, valid / valid.sum_keep(1))
            }
        }
    }

    /// Writes the rollout's end to the state: environments, counts, memories and statistics.
    pub fn keep(&self, it: &mut Iteration<'_>) {
        if self.valid.is_none() {
            self.keep_running(it);
        }
        // Observations were normalised by the statistics before this rollout, both in it and in its updates.
        let obs_moments = self.obs_moments.map(|m| merge_steps(it, m, self.obs, self.valid));
        for (of, moments) in [(Statistics::OBSERVATIONS, obs_moments), (Statistics::REWARDS, self.reward_moments)] {
            if let Some(moments) = moments {
                of.keep(it, &moments);
            }
        }
    }

    /// Writes the running episodes, which the next rollout continues, to the state.
    fn keep_running(&self, it: &mut Iteration<'_>) {
        let Count { steps, ep_return, discounted, .. } = self.count;
        let running = Running { steps: steps.reshape(&[steps.size(0), steps.size(1)]), ..self.next.clone() };
        RunningEpisodes { running, ep_return }.keep(it);
        if self.reward_moments.is_some() {
            it.update("discounted", discounted);
        }
        for (name, memory) in MEMORIES.into_iter().zip(self.next_memory.into_iter().flatten()) {
            it.update(name, memory);
        }
    }
}

/// The number of steps in a span of time, within which no environment is cut off twice and no noise matrix is renewed.
///
/// A time limit cuts an environment off at most once in this number of steps, so that bootstrapping needs one final
/// observation per environment and span, instead of one per step.
pub(super) fn span(config: &Sampling, time_limit: usize) -> usize {
    let unit = if config.sde && config.sde_sample_freq > 0 { config.sde_sample_freq } else { config.horizon };
    (1..=unit.min(time_limit)).rev().find(|d| unit % d == 0).unwrap_or(1)
}

/// Splits rows into steps, `[S, T · N, D]` → `[T, S, N, D]`.
#[track_caller]
pub(super) fn by_time(x: Tensor, [t, s, n]: [usize; 3]) -> Tensor {
    x.reshape(&[s, t, n, x.size(2)]).permute(&[1, 0, 2, 3])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Device;
    use crate::algo::{Ppo, PpoConfig, Training};
    use crate::env::builtin;
    use crate::policy::{MemoryConfig, MemoryKind};

    #[test]
    fn spans_divide_the_rollout_and_fit_into_the_time_limit() {
        let config = |horizon, sde_sample_freq| Sampling { horizon, sde: true, sde_sample_freq, ..Sampling::default() };
        assert_eq!(span(&config(128, 0), 500), 128);
        assert_eq!(span(&config(1024, 0), 200), 128);
        assert_eq!(span(&config(1024, 4), 200), 4);
        assert_eq!(span(&config(1024, 512), 200), 128);
        assert_eq!(span(&config(7, 0), 3), 1);
        assert_eq!(span(&Sampling { sde: false, ..config(1024, 4) }, 200), 128);
    }

    /// Tests that a memory continues from one rollout to the next within an episode, and does not matter where an
    /// episode begins.
    #[test]
    fn memories_outlive_rollouts_and_not_episodes() {
        let (device, env) = (Device::cpu(1), builtin("cartpole").unwrap());
        // Gives the parameters after `before` iterations, and one more with overwritten memories.
        let train = |before: u64, overwritten: &[&str]| {
            let config = PpoConfig {
                sampling: Sampling { horizon: 4, envs: 2, minibatches: 1, ..Sampling::default() },
                memory: MemoryConfig { cell: MemoryKind::Gru, units: 3, ..MemoryConfig::default() },
                ..PpoConfig::default()
            };
            let ppo = std::rc::Rc::new(Ppo::new(&config, env.spec()).unwrap());
            let mut training = Training::new(&device, ppo, &env, &[1]).unwrap();
            for done in 0..before {
                pollster::block_on(training.step(done, 9)).unwrap();
            }
            for name in overwritten {
                training.state.insert(*name, device.array(&[1, 2, 3], &[0.5; 6]).unwrap());
            }
            pollster::block_on(training.step(before, 9)).unwrap();
            pollster::block_on(device.read(training.state.get("theta").unwrap())).unwrap()
        };
        assert_eq!(train(0, &[]), train(0, &MEMORIES));
        for name in MEMORIES {
            assert_ne!(train(1, &[]), train(1, &[name]), "{name} is forgotten");
        }
    }
}
