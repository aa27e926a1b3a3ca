//! Steps that were played on the host, as programs learn from them.

use super::{Experience, Running, Steps};
use crate::env::TracedStep;
use crate::host::{Fleet, PlayedStep, Stepped};
use crate::program::Context;
use crate::tensor::{Named, tree};
use crate::{Array, DType, Device, Result, Tensor};

/// T steps of N environments in each of S groups, inputs of a program; or one of them in a loop over them.
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

tree!(Recorded: action, reward, terminated, truncated, last_observation, observation);

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

    /// One of them as a step of environments that were at `from`. They keep their states to themselves.
    pub(super) fn step(&self, from: &Running) -> TracedStep {
        let Recorded { reward, terminated, truncated, last_observation, observation, .. } = *self;
        let next = from.steps + Tensor::constant_u32(1);
        let steps = terminated.bit_or(truncated).select(Tensor::constant_u32(0), next);
        TracedStep { state: from.state, steps, reward, terminated, truncated, last_observation, observation }
    }

    /// The steps of a play that went on from the observations `first: [S, N, O]`: as [`Play::go_on`](super::Play::go_on) leaves them, but that the
    /// final observations are those of all steps, because environments of the host may cut themselves off at any time. It has no
    /// environment states and nothing that only the policy could say.
    #[track_caller]
    pub fn went_on(&self, first: Tensor) -> Experience {
        let Recorded { action, reward, terminated, truncated, last_observation, observation } = *self;
        let column = |x: Tensor| x.unsqueeze(3);
        let t = action.size(0);
        let obs = match t {
            1 => first.unsqueeze(0),
            _ => Tensor::concat(&[first.unsqueeze(0), observation.slice(0, 0, t - 1)], 0),
        };
        let none = Tensor::zeros(&reward.shape());
        let steps = Steps {
            state: none,
            obs,
            action,
            played: action,
            reward: column(reward),
            terminated: column(terminated),
            truncated: column(truncated),
            valid: column(Tensor::constant_u32(1).broadcast_to(&reward.shape())),
            episode: column(Tensor::constant_u32(0).broadcast_to(&reward.shape())),
            lost: column(none),
            extras: Named::new(),
        };
        let none = Tensor::zeros(&first.shape());
        let obs = observation.slice(0, t - 1, t).reshape(&first.shape());
        let next = Running { state: none, steps: none, obs, memory: Named::new() };
        Experience { steps, cut_obs: Some(last_observation), next }
    }
}

/// Steps of the host as they are recorded.
#[derive(Clone, Debug, Default)]
pub struct Tape {
    /// Actions as drawn.
    actions: Vec<f64>,
    all: Stepped,
}

impl Tape {
    /// Adds a step.
    pub fn add(&mut self, step: &PlayedStep<'_>) {
        self.actions.extend(&step.acted.drawn);
        self.all.append(step.stepped.clone());
    }

    /// The inputs of T steps, `rows`: T, S and N; those that were not made are zeros.
    ///
    /// # Errors
    /// If the device fails.
    pub fn upload(self, device: &Device, fleet: &Fleet, rows: [usize; 3]) -> Result<Vec<(&'static str, Array)>> {
        let Tape { mut actions, mut all } = self;
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
