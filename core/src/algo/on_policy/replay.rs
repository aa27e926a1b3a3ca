//! Rollouts that were played on the host, as programs learn from them.

use super::rollout::{Collector, Drawn, Rollout, Running};
use crate::env::TracedStep;
use crate::host::{Fleet, Stepped};
use crate::program::Context;
use crate::tensor::{Loop, scan};
use crate::{Array, DType, Device, Result, Tensor};

/// T steps of N environments per seed, inputs of a program.
#[derive(Clone, Copy, Debug)]
pub struct Recorded {
    /// Actions as drawn, `[T, S, N, A]`.
    pub action: Tensor,
    /// Rewards, `[T, S, N]`.
    pub reward: Tensor,
    /// u32, `[T, S, N]`.
    pub terminated: Tensor,
    /// u32, `[T, S, N]`.
    pub truncated: Tensor,
    /// What the steps led to before any reset, `[T, S, N, O]`.
    pub last_observation: Tensor,
    /// What agents saw next, `[T, S, N, O]`.
    pub observation: Tensor,
}

impl Recorded {
    /// Inputs for T steps of `rows`: S seeds with N environments each.
    pub fn declare(cx: &mut Context, steps: usize, rows: [usize; 2], observations: usize, actions: usize) -> Recorded {
        let mut input =
            |name: &str, width: &[usize], dtype| cx.input(name, &[&[steps, rows[0], rows[1]], width].concat(), dtype);
        Recorded {
            action: input("action", &[actions], DType::F32),
            reward: input("reward", &[], DType::F32),
            terminated: input("terminated", &[], DType::U32),
            truncated: input("truncated", &[], DType::U32),
            last_observation: input("last_observation", &[observations], DType::F32),
            observation: input("observation", &[observations], DType::F32),
        }
    }

    /// The inputs of T steps, `rows`: T, S and N; those that were not made are zeros. `actions`: as drawn.
    ///
    /// # Errors
    /// If the device fails.
    pub fn upload(
        device: &Device,
        fleet: &Fleet,
        rows: [usize; 3],
        mut actions: Vec<f64>,
        mut all: Stepped,
    ) -> Result<Vec<(&'static str, Array)>> {
        let count = rows.iter().product::<usize>();
        let of = |width: usize| [&rows[..], &[width]].concat();
        let wide = |numbers: &mut Vec<f64>, width: usize| {
            numbers.resize(count * width, 0.0);
            device.array(&of(width), numbers)
        };
        let flags = |flags: &[bool]| {
            let mut numbers: Vec<u32> = flags.iter().map(|flag| u32::from(*flag)).collect();
            numbers.resize(count, 0);
            device.array_u32(&rows, &numbers)
        };
        all.rewards.resize(count, 0.0);
        Ok(vec![
            ("action", wide(&mut actions, fleet.actions())?),
            ("reward", device.array(&rows, &all.rewards)?),
            ("terminated", flags(&all.terminated)?),
            ("truncated", flags(&all.truncated)?),
            ("last_observation", wide(&mut all.last_observations, fleet.observations())?),
            ("observation", wide(&mut all.observations, fleet.observations())?),
        ])
    }
}

impl Collector<'_> {
    /// The rollout of recorded steps, from where the last one ended: what [`collect`](Collector::collect) makes of an environment's.
    ///
    /// The final observations are those of all steps: environments of the host may cut themselves off at any time.
    pub fn replay(&self, recorded: &Recorded, from: Running) -> Rollout {
        let zero = Tensor::zeros(&from.ep_return.shape());
        let cut_obs = Tensor::zeros(&from.obs.shape());
        let Running { env_state, env_steps, obs, ep_return, discounted } = from;
        let init = [env_state, env_steps, obs, ep_return, discounted, zero, zero, zero, cut_obs];
        let Recorded { action, reward, terminated, truncated, last_observation, observation } = *recorded;
        let xs = [action, reward, terminated, truncated, last_observation, observation];
        let (carry, ys) = scan(self.sampling.horizon, false, &init, &xs, |_, carry, x| {
            let ([state, steps, raw, ..], [action, reward, terminated, truncated, last_observation, observation]) =
                (carry, x)
            else {
                return Loop::default();
            };
            let ended = terminated.bit_or(*truncated);
            let next = steps.reshape(&reward.shape()) + Tensor::constant_u32(1);
            let stepped = TracedStep {
                state: *state,
                steps: ended.select(Tensor::constant_u32(0), next),
                reward: *reward,
                terminated: *terminated,
                truncated: *truncated,
                last_observation: *last_observation,
                observation: *observation,
            };
            let obs = self.normalised(*raw);
            let logp = self.net.distribution(self.parts, obs).log_prob(*action);
            let value = self.net.value(self.parts, obs);
            self.count(carry, Drawn { action: *action, logp, value }, &stepped)
        });
        Rollout::of(&carry, &ys, last_observation)
    }
}
