//! A batch: transitions that were drawn, and how they are learned from.

use super::Transitions;
use crate::Tensor;

/// B transitions that were drawn from a memory.
#[derive(Clone, Copy, Debug)]
pub struct Batch {
    /// The transitions; of n steps, the reward is their discounted sum, and the next observation that after the last.
    pub transitions: Transitions,
    /// Factor of what is worth from the next observation on: γ, or γⁿ after n steps; `[]` or `[S, B, 1]`.
    pub discount: Tensor,
    /// Weight of each transition, `[S, B, 1]`; none where all count alike.
    pub weight: Option<Tensor>,
}

impl Batch {
    /// Transitions of one step that count alike.
    #[must_use]
    pub fn of(transitions: Transitions, gamma: f64) -> Batch {
        Batch { transitions, discount: Tensor::constant_f32(gamma), weight: None }
    }

    /// The weighted mean of losses, `[S, B, 1]` → `[S, 1]`.
    #[track_caller]
    #[must_use]
    pub fn mean(&self, loss: Tensor) -> Tensor {
        mean(self.weight.map_or(loss, |weight| weight * loss))
    }

    /// The sum over critics of their mean squared errors, each `[S, B, 1]`, → `[S, 1]`.
    #[track_caller]
    #[must_use]
    pub fn squared_errors(&self, values: &[Tensor], target: Tensor) -> Tensor {
        let losses = values.iter().map(|value| self.mean((*value - target).square()));
        losses.reduce(|a, b| a + b).unwrap_or(Tensor::poison())
    }
}

/// The mean over a batch, `[S, B, 1]` → `[S, 1]`.
#[track_caller]
#[must_use]
pub fn mean(x: Tensor) -> Tensor {
    x.sum_keep(1).reshape(&[x.size(0), 1]) * (1.0 / x.size(1) as f64)
}
