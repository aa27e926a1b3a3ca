//! The policy of trials: it remembers its actions and their outcomes.

use super::learner::Rl2Net;
use crate::Tensor;
use crate::dist::RowNoise;
use crate::env::{ActionSpace, EnvDef};
use crate::play::{Keys, Play};
use crate::policy::{Act, Acting, Feedback, How, Outline, Policy};
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
        Tensor::zeros(&[k, n, self.space.width() + 2])
    }
}

/// The previous step of a trial, as a policy is shown it, `[S, M, ·]` each.
#[derive(Clone, Copy, Debug)]
pub struct PreviousStep {
    /// The action; choices as their numbers.
    pub action: Tensor,
    /// Its reward.
    pub reward: Tensor,
    /// 1 if it ended the episode, f32.
    pub ended: Tensor,
}

impl PreviousStep {
    /// The step in the policy's form, `[S, M, A + 2]`: choices are one-hot, several one after the other.
    #[track_caller]
    fn shown(&self, space: &ActionSpace) -> Tensor {
        let action = match space {
            ActionSpace::Box { .. } => self.action,
            ActionSpace::Discrete { .. } | ActionSpace::MultiDiscrete { .. } => {
                let counts = space.counts().unwrap_or_default();
                let one_hot = counts.iter().enumerate().map(|(i, count)| {
                    Tensor::iota(&[1, 1, *count], 2).to_f32().eq(self.action.slice(2, i, i + 1)).to_f32()
                });
                Tensor::concat(&one_hot.collect::<Vec<_>>(), 2)
            }
        };
        Tensor::concat(&[action, self.reward, self.ended], 2)
    }
}

/// The policy's input at a step, `[S, M, O + A + 2]`: observation, previous action, its reward, and 1 if it led to a
/// final state (or, with [`TrialPolicy::show_time_limit`], to a time limit).
///
/// It corresponds to the original's `RL2Env`.
#[track_caller]
pub fn augmented(space: &ActionSpace, obs: Tensor, previous: Option<PreviousStep>) -> Tensor {
    match previous {
        None => obs.pad(2, 0, space.width() + 2),
        Some(previous) => Tensor::concat(&[obs, previous.shown(space)], 2),
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
        let previous = PreviousStep { action: played, reward, ended: ended.to_f32() };
        memory.clone().and("previous", previous.shown(self.space))
    }

    fn outline(&self) -> Option<Outline> {
        let previous = [("previous_action", self.space.width()), ("previous_reward", 1), ("previous_end", 1)];
        Some(self.net.policy.outline()?.reading(&previous))
    }
}
