//! Collecting a rollout: policy, value, sampling and environments in one loop over time.

use crate::Tensor;
use crate::algo::{ActorCritic, Held};
use crate::dist::{RowNoise, fold_in};
use crate::env::{EnvDef, TracedStep};
use crate::rng::streams;
use crate::sample::Moments;
use crate::tensor::{Loop, scan};

use super::Sampling;

/// Observations are limited to this many deviations (as Stable-Baselines3's `VecNormalize`).
pub const OBS_LIMIT: f64 = 10.0;

/// What goes on from one rollout to the next, `[S, N, …]`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Running {
    /// Environment states `[S, N, F]`.
    pub env_state: Tensor,
    /// Steps of the running episodes, `[S, N, 1]` (u32).
    pub env_steps: Tensor,
    /// Observations `[S, N, O]`.
    pub obs: Tensor,
    /// Returns of the running episodes so far, `[S, N, 1]`.
    pub ep_return: Tensor,
    /// Discounted returns so far, for the scale of rewards, `[S, N, 1]`.
    pub discounted: Tensor,
}

/// T steps of N environments per seed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rollout {
    /// Observations as they are, `[T, S, N, O]`.
    pub obs: Tensor,
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
    /// The last observation that a time limit cut off, in each of C spans of time: `[C, S, N, O]`.
    pub cut_obs: Tensor,
    /// Where the next rollout starts.
    pub next: Running,
    /// Number of finished episodes, sum of their returns and of their lengths, each `[S, N, 1]`.
    pub finished: [Tensor; 3],
}

/// An action, `[S, N, A]`, and its log-probability and the value of where it was drawn, `[S, N, 1]`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Drawn {
    pub action: Tensor,
    pub logp: Tensor,
    pub value: Tensor,
}

/// Collects rollouts with fixed parameters.
pub(super) struct Collector<'a> {
    pub sampling: Sampling,
    pub net: &'a ActorCritic,
    /// Slices of θ.
    pub parts: &'a [Tensor],
    /// Statistics of observations, if they are normalised.
    pub moments: Option<Moments>,
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

impl Rollout {
    /// From what a loop over time leaves and gives.
    pub fn of(carry: &[Tensor], ys: &[Tensor], cut_obs: Tensor) -> Rollout {
        Rollout {
            obs: ys[0],
            action: ys[1],
            logp: ys[2],
            value: ys[3],
            reward: ys[4],
            terminated: ys[5],
            truncated: ys[6],
            discounted: ys[7],
            cut_obs,
            next: Running {
                env_state: carry[0],
                env_steps: carry[1],
                obs: carry[2],
                ep_return: carry[3],
                discounted: carry[4],
            },
            finished: [carry[5], carry[6], carry[7]],
        }
    }
}

impl Running {
    /// From where the last rollout ended, in environments with these states.
    pub fn of(held: &Held, env_state: Tensor) -> Running {
        Running {
            env_state,
            env_steps: held.get("env_steps"),
            obs: held.get("obs"),
            ep_return: held.get("ep_return"),
            discounted: held.find("discounted").unwrap_or(Tensor::zeros(&held.get("ep_return").shape())),
        }
    }
}

impl<'a> Collector<'a> {
    /// With the keys and statistics of a state.
    pub fn new(
        sampling: Sampling,
        net: &'a ActorCritic,
        parts: &'a [Tensor],
        held: &Held,
        iteration: Tensor,
    ) -> Collector<'a> {
        let key = held.get("key");
        let key = [key.slice(1, 0, 1), key.slice(1, 1, 2)];
        Collector { sampling, net, parts, moments: held.moments("obs"), key, iteration }
    }

    /// Observations as the networks get them, `[S, B, O]`.
    pub fn normalised(&self, obs: Tensor) -> Tensor {
        self.moments.map_or(obs, |m| m.standardise(obs, OBS_LIMIT))
    }

    /// The key of a stream in this iteration, words of `[S, 1]`.
    pub fn stream(&self, stream: u32) -> [Tensor; 2] {
        fold_in(fold_in(self.key, Tensor::constant_u32(stream)), self.iteration)
    }

    /// One rollout from where the last one ended.
    pub fn collect(&self, env: &EnvDef, from: Running) -> Rollout {
        let (horizon, envs) = (self.sampling.horizon, self.sampling.envs);
        let span = span(&self.sampling, env.spec().horizon);
        let spans = horizon / span;
        let keys = [streams::ACTION, streams::ENV].map(|s| self.stream(s));
        let noise = self.stream(streams::EXPLORATION);
        let matrix = |index: Tensor| self.net.noise_matrix(self.parts, &RowNoise::new(fold_in(noise, index), envs));
        let zero = Tensor::zeros(&from.ep_return.shape());
        let cut_obs = Tensor::zeros(&from.obs.shape());
        let Running { env_state, env_steps, obs, ep_return, discounted } = from;
        let init = [env_state, env_steps, obs, ep_return, discounted, zero, zero, zero, cut_obs];
        let renewed = self.sampling.sde && self.sampling.sde_sample_freq > 0;
        let shared = if renewed { None } else { matrix(Tensor::constant_u32(0)) };
        let (carry, ys, cut_obs) = if spans == 1 && !renewed {
            let (carry, ys) = scan(horizon, false, &init, &[], |t, c, _| self.step(env, keys, t, c, shared));
            let cut = carry[8].unsqueeze(0);
            (carry, ys, cut)
        } else {
            let freq = self.sampling.sde_sample_freq.max(1);
            let index: Vec<u32> = (0..spans).map(|k| (k * span / freq) as u32).collect();
            let xs = [Tensor::literal_u32(&index)];
            let (carry, mut ys) = scan(spans, false, &init, &xs, |k, c, x| {
                let matrix = if renewed { matrix(x[0]) } else { shared };
                let first = k * Tensor::constant_u32(span as u32);
                let (carry, mut ys) = scan(span, false, c, &[], |t, c, _| self.step(env, keys, first + t, c, matrix));
                ys.push(carry[8]);
                Loop { carry, ys }
            });
            let cut = ys.pop().unwrap_or(Tensor::poison());
            let flat = |y: &Tensor| y.reshape(&[&[horizon], &y.shape()[2..]].concat());
            (carry, ys.iter().map(flat).collect(), cut)
        };
        Rollout::of(&carry, &ys, cut_obs)
    }

    fn step(&self, env: &EnvDef, keys: [[Tensor; 2]; 2], t: Tensor, carry: &[Tensor], matrix: Option<Tensor>) -> Loop {
        let [state, steps, raw, ..] = carry else {
            return Loop::default();
        };
        let envs = self.sampling.envs;
        let obs = self.normalised(*raw);
        let noise = RowNoise::new(fold_in(keys[0], t), envs);
        let (action, logp) = self.net.act(self.parts, obs, &noise, matrix);
        let value = self.net.value(self.parts, obs);

        let rows = [raw.size(0), envs];
        let element = Tensor::iota(&rows, 1);
        let stepped =
            env.trace_step(*state, steps.reshape(&rows), self.net.limit(action), fold_in(keys[1], t), element, None);
        self.count(carry, Drawn { action, logp, value }, &stepped)
    }

    /// What a step in which the policy drew that adds to the rollout.
    pub(super) fn count(&self, carry: &[Tensor], drawn: Drawn, stepped: &TracedStep) -> Loop {
        let [_, steps, raw, ep_return, discounted, episodes, returns, lengths, cut_obs] = carry else {
            return Loop::default();
        };
        let Drawn { action, logp, value } = drawn;
        let column = |x: Tensor| x.unsqueeze(2);
        let reward = column(stepped.reward);
        let (terminated, truncated) = (column(stepped.terminated), column(stepped.truncated));

        let none = Tensor::constant_f32(0.0);
        let ended = terminated.bit_or(truncated);
        let (ep_return, discounted) = (*ep_return + reward, *discounted * self.sampling.gamma + reward);
        let length = (*steps + Tensor::constant_u32(1)).to_f32();
        let carry = vec![
            stepped.state,
            column(stepped.steps),
            stepped.observation,
            ended.select(none, ep_return),
            ended.select(none, discounted),
            *episodes + ended.to_f32(),
            *returns + ended.select(ep_return, none),
            *lengths + ended.select(length, none),
            truncated.select(stepped.last_observation, *cut_obs),
        ];
        Loop { carry, ys: vec![*raw, action, logp, value, reward, terminated, truncated, discounted] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algo::PpoConfig;

    #[test]
    fn spans_divide_the_rollout_and_fit_into_the_time_limit() {
        let config = |horizon, sde_sample_freq| {
            let ppo = PpoConfig { horizon, sde: true, sde_sample_freq, ..PpoConfig::default() };
            ppo.sampling()
        };
        assert_eq!(span(&config(128, 0), 500), 128);
        assert_eq!(span(&config(1024, 0), 200), 128);
        assert_eq!(span(&config(1024, 4), 200), 4);
        assert_eq!(span(&config(1024, 512), 200), 128);
        assert_eq!(span(&config(7, 0), 3), 1);
        assert_eq!(span(&Sampling { sde: false, ..config(1024, 4) }, 200), 128);
    }
}
