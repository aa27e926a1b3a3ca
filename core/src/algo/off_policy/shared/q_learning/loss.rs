//! Losses of learned values of choices, on B transitions of S seeds.

use crate::Tensor;
use crate::dist::{at, best};

/// The target y = r + γ (1 − d) max Q'(s', ·), eq. 2 of arXiv:1312.5602. `values` are the target network's at the next
/// observation, `[S, B, C]`. With `chooser`, the network's own values there, the choice is the one of the highest of
/// these (arXiv:1509.06461). `discount` is γ, or γⁿ after n steps.
#[track_caller]
pub fn target(reward: Tensor, terminated: Tensor, values: Tensor, chooser: Option<Tensor>, discount: Tensor) -> Tensor {
    let ahead = match chooser {
        Some(own) => at(values, best(own)),
        None => values.max_keep(2),
    };
    (reward + (1.0 - terminated) * ahead * discount).stop_gradient()
}

/// Huber's loss of each error, `[S, B, 1]`: ½ δ², and |δ| − ½ where |δ| is 1 or more, so that its gradient is at most 1
/// (Mnih et al. 2015, doi:10.1038/nature14236, "clipping"). It is PyTorch's smooth L1 with β = 1.
#[track_caller]
pub fn huber(values: Tensor, target: Tensor) -> Tensor {
    let error = (values - target).abs();
    error.lt(Tensor::constant_f32(1.0)).select(error.square() * 0.5, error - 0.5)
}
