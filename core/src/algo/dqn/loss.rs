//! Losses of learned values of actions, on B transitions of S seeds.

use crate::Tensor;
use crate::dist::best;

/// The value of the choice that was taken, `[S, B, C]` and `[S, B, 1]` → `[S, B, 1]`.
#[track_caller]
pub fn taken(values: Tensor, action: Tensor) -> Tensor {
    let choice = Tensor::iota(&[1, 1, values.size(2)], 2);
    choice.eq(action.to_u32()).select(values, Tensor::constant_f32(0.0)).sum_keep(2)
}

/// y = r + γ (1 − d) max Q'(s', ·), eq. 2 of arXiv:1312.5602: `values` are the target network's at the next observation, `[S, B, C]`. With
/// `chooser`, the network's own values there, the largest of these names the choice (arXiv:1509.06461).
#[track_caller]
pub fn target(reward: Tensor, terminated: Tensor, values: Tensor, chooser: Option<Tensor>, gamma: f64) -> Tensor {
    let ahead = match chooser {
        Some(own) => taken(values, best(own)),
        None => values.max_keep(2),
    };
    (reward + (1.0 - terminated) * ahead * gamma).stop_gradient()
}

/// The mean of Huber's loss of the errors, → `[S, 1]`: ½ δ², and |δ| − ½ from 1 on, so that its gradient is at most 1 (Mnih et al. 2015,
/// doi:10.1038/nature14236, "clipping").
#[track_caller]
pub fn huber(values: Tensor, target: Tensor) -> Tensor {
    let error = (values - target).abs();
    let loss = error.lt(Tensor::constant_f32(1.0)).select(error.square() * 0.5, error - 0.5);
    loss.sum_keep(1).reshape(&[loss.size(0), 1]) * (1.0 / loss.size(1) as f64)
}
