//! Recorded steps of the host, in the form in which programs learn from them.

use super::{Experience, Running, Steps};
use crate::env::TracedStep;
use crate::host::{Fleet, PlayedStep, Stepped};
use crate::tensor::{Named, scan_tree};
use crate::{Array, Device, Result, Tensor};

/// T recorded steps of N environments in each of S groups, as inputs of a program; or a single step in a loop over
/// them.
#[derive(Clone, Copy, Debug)]
pub struct Recorded {
    /// Actions as drawn, `[T, S, N, A]`.
    pub action: Tensor,
    /// Rewards, `[T, S, N]`.
    pub reward: Tensor,
    /// 1 where the step led to a final state, u32 `[T, S, N]`.
    pub terminated: Tensor,
    /// 1 where the episode was cut off after the step, u32 `[T, S, N]`.
    pub truncated: Tensor,
    /// Observations that the steps led to before any reset, `[T, S, N, O]`.
    pub last_observation: Tensor,
    /// Observations to act on next, `[T, S, N, O]`.
    pub observation: Tensor,
}

crate::tree!(Recorded: action, reward, terminated, truncated, last_observation, observation);

impl Recorded {
    /// The steps of a trace that has failed.
    pub(super) fn poison() -> Recorded {
        let x = Tensor::poison();
        Recorded { action: x, reward: x, terminated: x, truncated: x, last_observation: x, observation: x }
    }

    /// Gives a single recorded step in the form of a traced one, from `from`. Environments keep their states to
    /// themselves.
    pub(super) fn step(&self, from: &Running) -> TracedStep {
        let Recorded { reward, terminated, truncated, last_observation, observation, .. } = *self;
        let next = from.steps + Tensor::constant_u32(1);
        let steps = terminated.bit_or(truncated).select(Tensor::constant_u32(0), next);
        TracedStep { state: from.state, steps, reward, terminated, truncated, last_observation, observation }
    }

    /// Gives the experience of a play that continued running episodes, as [`Play::go_on`](super::Play::go_on) does,
    /// except that it has the final observations of all steps: environments of the host may cut episodes off at any
    /// time. It has no environment states and no extras of the policy.
    #[track_caller]
    pub fn went_on(&self, from: Running) -> Experience {
        let Recorded { action, reward, terminated, truncated, last_observation, observation } = *self;
        let column = |x: Tensor| x.unsqueeze(3);
        let (t, first) = (action.size(0), from.obs);
        let obs = match t {
            1 => first.unsqueeze(0),
            _ => Tensor::concat(&[first.unsqueeze(0), observation.slice(0, 0, t - 1)], 0),
        };
        let none = Tensor::zeros(&reward.shape());
        let (zero, one) = (Tensor::constant_u32(0), Tensor::constant_u32(1));
        let (counted, _) = scan_tree(t, &from.steps, &[terminated, truncated], |_, steps: Tensor, [end, cut]| {
            (end.bit_or(cut).select(zero, steps + one), ())
        });
        let steps = Steps {
            state: none,
            obs,
            next_obs: last_observation,
            action,
            played: action,
            reward: column(reward),
            terminated: column(terminated),
            truncated: column(truncated),
            valid: column(one.broadcast_to(&reward.shape())),
            episode: column(zero.broadcast_to(&reward.shape())),
            lost: column(none),
            extras: Named::new(),
        };
        let obs = observation.slice(0, t - 1, t).reshape(&first.shape());
        let next = Running { obs, steps: counted, ..from };
        Experience { steps, cut_obs: Some(last_observation), next }
    }
}

/// A recording of the host's steps.
#[derive(Clone, Debug, Default)]
pub struct Tape {
    /// The actions as drawn.
    actions: Vec<f64>,
    all: Stepped,
}

impl Tape {
    /// Adds a step.
    pub fn add(&mut self, step: &PlayedStep<'_>) {
        self.actions.extend(&step.acted.drawn);
        self.all.append(step.stepped.clone());
    }

    /// The inputs of a program for T steps; `rows` is T, S and N. Steps that were not made are zeros.
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
