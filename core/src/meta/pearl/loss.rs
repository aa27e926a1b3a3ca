//! Losses of PEARL, on B transitions of S seeds. All values are `[S, B, 1]` and losses `[S, 1]`.
//!
//! Rakelly et al. 2019, arXiv:1903.08254, algorithm 1, with the Soft Actor-Critic of arXiv:1801.01290: a value function
//! beside two critics, and a factor of rewards in the place of a temperature.

use crate::Tensor;
use crate::replay::mean;

/// The target of both critics, y = c r + γ (1 − d) V̄(o', z).
#[track_caller]
#[must_use]
pub fn critic_target(reward: Tensor, terminated: Tensor, next_value: Tensor, scale: f64, gamma: f64) -> Tensor {
    (reward * scale + (1.0 - terminated) * next_value * gamma).stop_gradient()
}

/// The sum over both critics of the mean of (Q − y)².
#[track_caller]
#[must_use]
pub fn critic_loss(values: [Tensor; 2], target: Tensor) -> Tensor {
    let [a, b] = values.map(|value| mean((value - target).square()));
    a + b
}

/// The mean of (V − (min Q − ln π))², where both critics value an action that the policy draws.
#[track_caller]
#[must_use]
pub fn value_loss(value: Tensor, lower: Tensor, log_prob: Tensor) -> Tensor {
    mean((value - (lower - log_prob).stop_gradient()).square())
}

/// The mean of ln π − min Q over actions that the policy draws.
#[track_caller]
#[must_use]
pub fn policy_loss(lower: Tensor, log_prob: Tensor) -> Tensor {
    mean(log_prob - lower)
}

/// A penalty on large numbers of a policy, `[S, B, A]` each: the mean squares of means and of logarithms of deviations,
/// and the mean over rows of the squared draws before they are squashed, summed over an action.
///
/// garage computes the first two from numbers without gradients, so that they have no effect;
/// in the authors' code they have gradients.
#[track_caller]
#[must_use]
pub fn regularisation([middle, log_std, drawn]: [Tensor; 3], [of_mean, of_std, of_draw]: [f64; 3]) -> Tensor {
    let width = 1.0 / middle.size(2) as f64;
    let squares = |x: Tensor, factor: f64| mean(x.square().sum_keep(2)) * factor;
    let mut sum = squares(middle, of_mean * width) + squares(log_std, of_std * width);
    if of_draw > 0.0 {
        sum = sum + squares(drawn, of_draw);
    }
    sum
}
