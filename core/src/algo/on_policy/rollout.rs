//! Rollouts as learners need them: values, returns and episodes are computed from what was played, on devices and on the host alike.

use crate::algo::count::Count;
use crate::algo::{ActorCritic, Held};
use crate::play::{Cast, Experience, Iteration, Running, Until};
use crate::policy::{Acting, Normalised};
use crate::tensor::{Named, fail};
use crate::{Error, Tensor};

use super::{Sampling, by_seed};

/// T steps of N environments per seed.
#[derive(Clone, Debug)]
pub(super) struct Rollout {
    /// Observations as they are, `[T, S, N, O]`.
    pub obs: Tensor,
    /// The same as the networks get them, `[S, T · N, O]`.
    pub seen: Tensor,
    /// The same with the observations that time limits cut off and the next ones behind them, `[S, T · N + C · N + N, O]`.
    pub all: Tensor,
    /// Actions as drawn, `[T, S, N, A]`.
    pub action: Tensor,
    /// Their log-probabilities, `[T, S, N, 1]`.
    pub logp: Tensor,
    /// Values of the observations, `[T, S, N, 1]`.
    pub value: Tensor,
    /// Rewards, `[T, S, N, 1]`.
    pub reward: Tensor,
    /// u32, `[T, S, N, 1]`.
    pub terminated: Tensor,
    /// u32, `[T, S, N, 1]`.
    pub truncated: Tensor,
    /// Discounted returns, `[T, S, N, 1]`.
    pub discounted: Tensor,
    /// Returns of the episodes that ended, in their last steps: `[T, S, N, 1]`, as [`Metrics::returns`] has them.
    pub ended: Tensor,
    /// Value of the last observation that a time limit cut off, in each of C spans of time: `[S, C · N, 1]`.
    pub cut_value: Tensor,
    /// Environment states `[S, N, F]`, where the next rollout starts.
    pub env_state: Tensor,
    /// Observations there, `[S, N, O]`.
    pub next_obs: Tensor,
    /// Their tasks `[S, N, D]`, where each episode has its own.
    pub next_task: Option<Tensor>,
    /// Values of the observations there, `[S, N, 1]`.
    pub next_value: Tensor,
    /// Running episodes there, and those that ended in this rollout.
    pub count: Count,
}

/// An actor-critic that plays and learns with fixed parameters.
pub(super) struct Collector<'a> {
    pub sampling: Sampling,
    pub net: &'a ActorCritic,
    /// Slices of θ and, if observations are normalised, their statistics.
    pub acting: Acting,
    /// Each seed's key, words of `[S, 1]`.
    pub key: [Tensor; 2],
    /// Number of the iteration, from 1; 0 is the reset.
    pub iteration: Tensor,
}

/// Steps per span of time: within a span, no environment is cut off twice and no noise matrix is renewed.
///
/// A time limit cuts an environment off at most once in as many steps. So one final observation per environment and
/// span is all that bootstrapping needs, instead of one per step.
pub(super) fn span(config: &Sampling, time_limit: usize) -> usize {
    let unit = if config.sde && config.sde_sample_freq > 0 { config.sde_sample_freq } else { config.horizon };
    (1..=unit.min(time_limit)).rev().find(|d| unit % d == 0).unwrap_or(1)
}

impl<'a> Collector<'a> {
    /// With the parameters and statistics of a state.
    pub fn new(sampling: Sampling, net: &'a ActorCritic, it: &Iteration<'_>, held: &Held) -> Collector<'a> {
        Collector { sampling, net, acting: net.acting(held), key: it.key(), iteration: it.number() }
    }

    /// Observations as the networks get them, `[S, B, O]`.
    pub fn normalised(&self, obs: Tensor) -> Tensor {
        Normalised::seen(&self.acting, obs)
    }

    /// One rollout from where the last one ended.
    pub fn collect(&self, it: &mut Iteration<'_>, held: &Held) -> Rollout {
        if !it.spec().task.is_empty() && held.find("task").is_none() {
            fail(Error::one_task(&it.spec().name));
            return Rollout::poison();
        }
        let Sampling { horizon, envs, sde, sde_sample_freq, .. } = self.sampling;
        let (obs, steps) = (held.get("obs"), held.get("env_steps"));
        let rows = [obs.size(0), envs];
        let state = held.find("env_state").unwrap_or(obs);
        let from = Running { state, steps: steps.reshape(&rows), obs, memory: Named::new(), task: held.find("task") };
        let policy = Normalised(&self.net.policy);
        let span = span(&self.sampling, it.spec().horizon);
        let until = Until { steps: horizon, span, lasting: sde.then_some(sde_sample_freq) };
        let cast = Cast { policy: &policy, acting: &self.acting, rows };
        self.rollout(&it.go_on(cast, from, until, Tensor::constant_u32(0)), held)
    }

    /// The rollout that was played.
    fn rollout(&self, played: &Experience, held: &Held) -> Rollout {
        let steps = &played.steps;
        let shape = steps.reward.shape();
        let [t, s, n, _] = shape[..] else { return Rollout::poison() };
        // Values of everything at once: rows of a product do not depend on each other.
        let by_time = |x: Tensor| x.reshape(&[s, t, n, 1]).permute(&[1, 0, 2, 3]);
        let cut_obs = by_seed(played.cut_obs.unwrap_or(Tensor::poison()));
        let rows = t * n;
        let all = self.normalised(Tensor::concat(&[by_seed(steps.obs), cut_obs, played.next.obs], 1));
        let seen = all.slice(1, 0, rows);
        let parts = &self.acting.parts;
        let logp = steps.extras.find("log_prob").unwrap_or_else(|| {
            // The host does not record what the policy says about its actions.
            by_time(self.net.policy.distribution(parts, seen).log_prob(by_seed(steps.action)))
        });
        let discounted = held.find("discounted").unwrap_or(Tensor::zeros(&[s, n, 1]));
        let init = Count::from(held.get("env_steps"), held.get("ep_return"), discounted);
        let xs = [steps.reward, steps.terminated, steps.truncated];
        let (count, [discounted, ended]) = init.over(t, xs, self.sampling.gamma);
        let [value, cut_value, next_value] = values_of(self.net.value(parts, all), [t, s, n]);
        Rollout {
            obs: steps.obs,
            seen,
            all,
            action: steps.action,
            logp,
            value,
            reward: steps.reward,
            terminated: steps.terminated,
            truncated: steps.truncated,
            discounted,
            ended,
            cut_value,
            env_state: played.next.state,
            next_obs: played.next.obs,
            next_task: played.next.task,
            next_value,
            count,
        }
    }
}

/// Values `[S, T · N + C · N + N, 1]` of all that was seen, taken apart: of the steps `[T, S, N, 1]`, of what time limits cut off
/// `[S, C · N, 1]`, and of what comes next `[S, N, 1]`.
#[track_caller]
fn values_of(values: Tensor, [t, s, n]: [usize; 3]) -> [Tensor; 3] {
    let (rows, total) = (t * n, values.size(1));
    let value = values.slice(1, 0, rows).reshape(&[s, t, n, 1]).permute(&[1, 0, 2, 3]);
    [value, values.slice(1, rows, total - n), values.slice(1, total - n, total)]
}

impl Rollout {
    /// Values by other parameters, as [`value`](Rollout::value), [`cut_value`](Rollout::cut_value) and
    /// [`next_value`](Rollout::next_value).
    #[track_caller]
    pub fn values(&self, net: &ActorCritic, parts: &[Tensor]) -> [Tensor; 3] {
        let shape = self.value.shape();
        let [t, s, n, _] = shape[..] else { return [Tensor::poison(); 3] };
        values_of(net.value(parts, self.all), [t, s, n])
    }

    /// The rollout of a trace that has failed.
    fn poison() -> Rollout {
        let x = Tensor::poison();
        let count = Count::from(x, x, x);
        Rollout {
            obs: x,
            seen: x,
            all: x,
            action: x,
            logp: x,
            value: x,
            reward: x,
            terminated: x,
            truncated: x,
            discounted: x,
            ended: x,
            cut_value: x,
            env_state: x,
            next_obs: x,
            next_task: None,
            next_value: x,
            count,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
