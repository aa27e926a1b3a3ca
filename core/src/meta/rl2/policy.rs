//! The policy of trials: it remembers its actions and their outcomes.

use super::learner::Rl2Net;
use crate::Tensor;
use crate::dist::RowNoise;
use crate::env::{ActionSpace, EnvDef};
use crate::play::{Keys, Play};
use crate::policy::{Act, Acting, Feedback, How, Policy};
use crate::tensor::Named;

/// A recurrent policy that sees its previous action and the outcome beside the observation. The state of its
/// units lasts through the episodes of a trial.
///
/// Duan et al. 2016, arXiv:1611.02779.
#[derive(Clone, Copy, Debug)]
pub struct TrialPolicy<'a> {
    /// The networks.
    pub net: &'a Rl2Net,
    /// The environment's action space.
    pub space: &'a ActionSpace,
    /// Shows an episode's last action, reward and end to the next episode.
    pub carry_over: bool,
    /// Shows the end by a time limit like that by a final state.
    pub show_time_limit: bool,
}

impl TrialPolicy<'_> {
    /// Plays trials, one for each of `rows`, with `acting: [K, …]` and on tasks `[K, N, D]`. `key`,
    /// words `[K, 1]`, names their random numbers.
    pub fn play<'a>(
        &'a self,
        env: &'a EnvDef,
        acting: &'a Acting,
        rows: [usize; 2],
        tasks: Option<Tensor>,
        key: [Tensor; 2],
    ) -> Play<'a> {
        Play { env, policy: self, acting, how: How::Explore, rows, tasks, keys: Keys::of(key) }
    }

    fn nothing(&self, [k, n]: [usize; 2]) -> Tensor {
        Tensor::zeros(&[k, n, width(self.space) + 2])
    }
}

/// The numbers that show an action to the policy: one per choice, or the vector.
fn width(space: &ActionSpace) -> usize {
    space.choices().unwrap_or(space.dim())
}

/// The previous action, its reward and 1 if it led to a final state, in the policy's form, `[K, N, A + 2]`.
fn shown(space: &ActionSpace, [action, reward, terminated]: [Tensor; 3]) -> Tensor {
    let action = match space {
        ActionSpace::Box { .. } => action,
        ActionSpace::Discrete { .. } => Tensor::iota(&[1, 1, width(space)], 2).to_f32().eq(action).to_f32(),
    };
    Tensor::concat(&[action, reward, terminated], 2)
}

/// The policy's input at a step, `[S, M, O + A + 2]`: observation, previous action, its reward, and 1 if it led to a
/// final state (or, with [`TrialPolicy::show_time_limit`], to a time limit).
///
/// It corresponds to the original's `RL2Env`. `action: [S, M, A]`, a choice as its number;
/// `reward`, `terminated: [S, M, 1]`, f32.
#[track_caller]
pub fn augmented(space: &ActionSpace, obs: Tensor, previous: Option<[Tensor; 3]>) -> Tensor {
    match previous {
        None => obs.pad(2, 0, width(space) + 2),
        Some(previous) => Tensor::concat(&[obs, shown(space, previous)], 2),
    }
}

impl Policy for TrialPolicy<'_> {
    /// The memory is empty at the start of a trial; at the start of its next episode it lasts, but for the last step's
    /// outcome, which is only kept with `carry_over`.
    fn begin(&self, acting: &Acting, rows: [usize; 2], before: Option<&Named>, _: &RowNoise) -> Named {
        match before {
            Some(memory) if self.carry_over => memory.clone(),
            Some(memory) => memory.clone().and("previous", self.nothing(rows)),
            None => {
                let units = self.net.policy.cell().initial(&acting.parts, rows);
                let memory = Named::from([("units", units), ("previous", self.nothing(rows))]);
                match self.net.value_cell() {
                    Some(cell) => memory.and("value_units", cell.initial(&acting.parts, rows)),
                    None => memory,
                }
            }
        }
    }

    /// Extras are the ones of [`Distribution`](crate::policy::Distribution), and `value`.
    fn act(
        &self,
        acting: &Acting,
        observation: Tensor,
        memory: &Named,
        _: Option<Tensor>,
        noise: &RowNoise,
        how: How,
    ) -> Act {
        let seen = Tensor::concat(&[observation, memory.get("previous")], 2);
        let act = self.net.policy.choose(&acting.parts, seen, memory, noise, how);
        let (memory, units) = match self.net.value_cell() {
            Some(cell) => {
                let units = cell.step(&acting.parts, seen, memory.get("value_units"));
                (act.memory.and("value_units", units), units)
            }
            None => (act.memory.clone(), act.memory.get("units")),
        };
        let value = self.net.value(&acting.parts, units);
        Act { extras: act.extras.and("value", value), memory, ..act }
    }

    fn observe(&self, _: &Acting, memory: &Named, outcome: &Feedback) -> Named {
        let Feedback { played, reward, terminated, truncated, .. } = *outcome;
        let ended = if self.show_time_limit { terminated.bit_or(truncated) } else { terminated };
        memory.clone().and("previous", shown(self.space, [played, reward, ended.to_f32()]))
    }
}
