//! Batches: transitions that were drawn, with their discounts and weights.

use super::Transitions;
use crate::Tensor;

/// B transitions that were drawn from a memory.
#[derive(Clone, Copy, Debug)]
pub struct Batch {
    /// The transitions. If they have n steps, the reward is the discounted sum, and the next
    /// observation is the one after the last step.
    pub transitions: Transitions,
    /// The factor of the value from the next observation on: γ, or γⁿ after n steps; `[]` or `[S, B, 1]`.
    pub discount: Tensor,
    /// The weight of each transition, `[S, B, 1]`; none if all have equal weights.
    pub weight: Option<Tensor>,
}

impl Batch {
    /// A batch of transitions of one step with equal weights.
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

    /// The sum over critics of their mean squared errors; `values` and `target` are `[S, B, 1]`, the result `[S, 1]`.
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
