//! Losses of SAC, on B transitions of S seeds. All values have the shape `[S, B, 1]`.

use crate::Tensor;
use crate::replay::Batch;

/// Rewards of a batch less their mean, over their deviation, which divides by B − 1.
#[track_caller]
pub fn standardised(reward: Tensor) -> Tensor {
    let (rows, over) = (reward.size(1) as f64, |x: Tensor, n: f64| x.sum_keep(1) * (1.0 / n));
    let centred = reward - over(reward, rows);
    centred / (over(centred.square(), (rows - 1.0).max(1.0)).sqrt() + 1e-8)
}

/// The target of both critics, y = r + γ (1 − d) (min Q' − α ln π), eq. 2 and 3 of arXiv:1812.05905. `value` is the
/// lower value of the target critics at the next observation and an action drawn there, whose log-probability is
/// `log_prob`; `discount` is γ, or γⁿ after n steps.
#[track_caller]
pub fn target(
    reward: Tensor,
    terminated: Tensor,
    value: Tensor,
    log_prob: Tensor,
    alpha: Tensor,
    discount: Tensor,
) -> Tensor {
    (reward + (1.0 - terminated) * (value - alpha * log_prob) * discount).stop_gradient()
}

/// J_Q, eq. 5: the mean of ½ (Q − y)², added up over both critics, `[S, B, 1]` → `[S, 1]`.
#[track_caller]
pub fn critic_loss(values: [Tensor; 2], target: Tensor, batch: &Batch) -> Tensor {
    batch.squared_errors(&values, target) * 0.5
}

/// J_π, eq. 7, of each row: α ln π − min Q at newly drawn actions, `[S, B, 1]`.
#[track_caller]
pub fn policy_loss(alpha: Tensor, log_prob: Tensor, value: Tensor) -> Tensor {
    alpha * log_prob - value
}

/// The temperature's loss, −ln α (mean ln π + H̄). `log_alpha` and `log_prob`, a mean over the batch, are `[S, 1]`. Its
/// gradient has the sign of eq. 18's and does not vanish when α does, as in the authors' code.
#[track_caller]
pub fn temperature_loss(log_alpha: Tensor, log_prob: Tensor, target_entropy: f64) -> Tensor {
    -(log_alpha * (log_prob + target_entropy).stop_gradient())
}
