//! Policies, which choose actions.
//!
//! A [`Policy`] is traced: one definition acts in rollouts, whole episodes and trials, evaluations and recordings. It
//! acts within programs and, as a program of its own, in environments of the host. [`crate::play`] drives it.

mod action_units;
mod bounds;
mod distribution;
mod disturbed;
mod greedy;
mod memory;
mod net;
mod normalised;
mod outline;
mod recurrent;
mod squashed;
#[cfg(test)]
mod tests;
mod uniform;

use std::fmt::Debug;

pub use action_units::ActionUnits;
pub use bounds::Bounds;
pub use distribution::Distribution;
pub use disturbed::{Disturbed, Noise};
pub use greedy::EpsilonGreedy;
pub use memory::{MemoryConfig, MemoryKind};
pub use net::{GaussianConfig, LOG_STD, LayersConfig, NetConfig, PolicyNet};
pub(crate) use net::{MEMORY, validate_widths};
pub use normalised::{Normalised, OBS_LIMIT};
pub use outline::{ActionRule, Outline};
pub use recurrent::{RecurrentConfig, RecurrentPolicy};
pub use squashed::Squashed;
pub use uniform::Uniform;

use crate::Tensor;
use crate::dist::RowNoise;
use crate::tensor::Named;

/// The values by which a policy acts.
#[derive(Clone, Debug, Default)]
pub struct Acting {
    /// Slices of its parameters, `[K, …]` each: a row for each of K groups of environments.
    pub parts: Vec<Tensor>,
    /// Further values by name: statistics of observations, and schedules such as `epsilon` and `sigma`.
    pub values: Named,
}

crate::tree!(Acting: parts, values);

impl Acting {
    /// Acting values with parameters alone.
    #[must_use]
    pub fn of(parts: &[Tensor]) -> Acting {
        Acting { parts: parts.to_vec(), values: Named::new() }
    }
}

/// The way in which an action is chosen.
#[derive(Clone, Copy, Debug)]
pub enum How {
    /// By a draw, as the policy explores.
    Explore,
    /// The action that the policy holds for the best.
    Exploit,
    /// By an even draw among all actions, independent of the policy.
    Uniform,
    /// The given action, `[K, N, A]`, which was chosen before; the policy only reports about it.
    Recorded(Tensor),
}

/// An action of each of N environments in each of K groups.
#[derive(Clone, Debug)]
pub struct Act {
    /// The action in the form that learners need, `[K, N, A]`; a choice is its number.
    pub action: Tensor,
    /// The action in the form that environments get, `[K, N, A]`: within their bounds.
    pub played: Tensor,
    /// The policy's memory after the action.
    pub memory: Named,
    /// More about the action by name, `[K, N, ·]` each: the network's input `seen`, `log_prob`, `entropy`, a `value`
    /// that is read from a memory, and `broken`, 1 where the policy itself is not finite.
    pub extras: Named,
}

/// The outcome of an action, which policies that remember observe.
#[derive(Clone, Copy, Debug)]
pub struct Feedback {
    /// The action as environments got it, `[K, N, A]`.
    pub played: Tensor,
    /// The observation that it led to, before any reset, `[K, N, O]`.
    pub next_obs: Tensor,
    /// Rewards `[K, N, 1]`.
    pub reward: Tensor,
    /// 1 where the action led to a final state, u32 `[K, N, 1]`.
    pub terminated: Tensor,
    /// 1 where a time limit cut the episode off, u32 `[K, N, 1]`.
    pub truncated: Tensor,
}

/// A policy in the traces of programs.
///
/// Its memory, `[K, N, ·]` each by name, holds all that it keeps from one step to the next. It
/// uses no tensors but those that it is given.
pub trait Policy: Debug {
    /// The memory at the start of N episodes in each of K groups, `rows`: `[K, N]`. `before` is the memory at the end
    /// of the episodes before, none for the first ones. `noise` is that of the step before.
    fn begin(&self, _acting: &Acting, _rows: [usize; 2], _before: Option<&Named>, _noise: &RowNoise) -> Named {
        Named::new()
    }

    /// Chooses actions at observations `[K, N, O]`. `lasting` is the noise that
    /// [`lasting`](Policy::lasting) drew, if any.
    fn act(
        &self,
        acting: &Acting,
        observation: Tensor,
        memory: &Named,
        lasting: Option<Tensor>,
        noise: &RowNoise,
        how: How,
    ) -> Act;

    /// The memory after an action and its outcome. By default it stays as it is.
    fn observe(&self, _acting: &Acting, memory: &Named, _outcome: &Feedback) -> Named {
        memory.clone()
    }

    /// Draws noise that lasts for several steps, `[K, N, ·]`, outside of the loop over steps. By default there is none.
    fn lasting(&self, _acting: &Acting, _noise: &RowNoise) -> Option<Tensor> {
        None
    }

    /// The networks by which it takes the actions that it holds for the best, for programs that are none of this
    /// crate's. By default it has no such outline.
    fn outline(&self) -> Option<Outline> {
        None
    }
}
