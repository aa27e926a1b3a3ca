//! Policies: who acts.
//!
//! A [`Policy`] is traced: one definition acts in rollouts, in whole episodes and trials, in evaluations and recordings, in programs
//! and, as a program of its own, in environments of the host. [`crate::play`] drives it.

mod bounds;
mod distribution;
mod disturbed;
mod greedy;
mod memory;
mod net;
mod normalised;
mod recurrent;
mod squashed;
#[cfg(test)]
mod tests;
mod uniform;

use std::fmt::Debug;

pub use bounds::Bounds;
pub use distribution::Distribution;
pub use disturbed::{Disturbed, Noise};
pub use greedy::EpsilonGreedy;
pub use memory::{MemoryConfig, MemoryKind};
pub use net::{DeviationConfig, LOG_STD, LayersConfig, NetConfig, PolicyNet};
pub(crate) use net::{MEMORY, validate_widths};
pub use normalised::{Normalised, OBS_LIMIT};
pub use recurrent::{RecurrentConfig, RecurrentPolicy};
pub use squashed::Squashed;
pub use uniform::Uniform;

use crate::Tensor;
use crate::dist::RowNoise;
use crate::tensor::{Named, tree};

/// The values by which a policy acts.
#[derive(Clone, Debug, Default)]
pub struct Acting {
    /// Slices of its parameters, `[K, …]` each: a row for each of K groups of environments.
    pub parts: Vec<Tensor>,
    /// Values by name: statistics of observations, and schedules such as `epsilon` and `sigma`.
    pub values: Named,
}

tree!(Acting: parts, values);

impl Acting {
    /// Parameters alone.
    #[must_use]
    pub fn of(parts: &[Tensor]) -> Acting {
        Acting { parts: parts.to_vec(), values: Named::new() }
    }
}

/// How an action is chosen.
#[derive(Clone, Copy, Debug)]
pub enum How {
    /// As the policy explores: by a draw.
    Explore,
    /// The action that it holds for the best.
    Exploit,
    /// Evenly among all actions, whatever the policy thinks.
    Uniform,
    /// This one, `[K, N, A]`, which was chosen before: only what the policy says about it is of interest.
    Recorded(Tensor),
}

/// An action of N environments in each of K groups.
#[derive(Clone, Debug)]
pub struct Act {
    /// The action as learners need it, `[K, N, A]`; a choice is its number.
    pub action: Tensor,
    /// The action as environments get it, `[K, N, A]`: within their bounds.
    pub played: Tensor,
    /// The memory from now on.
    pub memory: Named,
    /// More about it by name, `[K, N, ·]` each: the network's own input as `seen`, `log_prob`, `entropy`, a `value` that is read from a
    /// memory, and as `broken` 1 where the policy itself is not finite.
    pub extras: Named,
}

/// The outcome of an action, for policies that remember.
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

/// A policy, in the traces of programs.
///
/// Its memory, `[K, N, ·]` each by name, holds all that it knows from one step to the next. It uses no tensors but those that it is given.
pub trait Policy: Debug {
    /// The memory at the start of N episodes in each of K groups, `rows`: `[K, N]`. Before a first one it knows nothing; before
    /// others it has the memory that the one before ended with. `noise` is that of the step before.
    fn begin(&self, _acting: &Acting, _rows: [usize; 2], _before: Option<&Named>, _noise: &RowNoise) -> Named {
        Named::new()
    }

    /// The action at observations `[K, N, O]`. `lasting` is [`lasting`](Policy::lasting) noise, where there is such.
    fn act(
        &self,
        acting: &Acting,
        observation: Tensor,
        memory: &Named,
        lasting: Option<Tensor>,
        noise: &RowNoise,
        how: How,
    ) -> Act;

    /// The memory after an action had its outcome.
    fn observe(&self, _acting: &Acting, memory: &Named, _outcome: &Feedback) -> Named {
        memory.clone()
    }

    /// Noise that lasts for several steps, `[K, N, ·]`: drawn outside of the loop over them.
    fn lasting(&self, _acting: &Acting, _noise: &RowNoise) -> Option<Tensor> {
        None
    }
}
