//! Losses of one batch per stacked seed.

use crate::Tensor;

/// One minibatch of a rollout: `[S, B, …]`.
#[derive(Clone, Copy, Debug)]
pub struct Minibatch {
    /// Observations as the networks get them, `[S, B, O]`.
    pub obs: Tensor,
    /// Actions as drawn, `[S, B, A]`.
    pub action: Tensor,
    /// Their joint log-probabilities when drawn, `[S, B, 1]`.
    pub logp_old: Tensor,
    /// Values when drawn, `[S, B, 1]`.
    pub value_old: Tensor,
    /// Advantages, `[S, B, 1]`.
    pub advantage: Tensor,
    /// Value targets, `[S, B, 1]`.
    pub returns: Tensor,
}

/// Value loss, ½ (v − R)² averaged: `[S, B, 1]` → `[S, 1]`.
///
/// `clip`: the old values and ε: the larger of the losses with and without limiting the change of the value to ±ε (as
/// in openai/baselines; the paper has none).
#[track_caller]
pub fn value_loss(value: Tensor, returns: Tensor, clip: Option<(Tensor, Tensor)>) -> Tensor {
    let plain = (value - returns).square();
    let square = match clip {
        None => plain,
        Some((old, eps)) => {
            let near = old + (value - old).max(-eps).min(eps);
            plain.max((near - returns).square())
        }
    };
    mean(square) * 0.5
}

/// Zero mean and unit (biased) deviation over the batch, `[S, B, 1]`.
#[track_caller]
pub fn standardise(advantage: Tensor) -> Tensor {
    let n = 1.0 / advantage.size(1) as f64;
    let centred = advantage - advantage.sum_keep(1) * n;
    let std = (centred.square().sum_keep(1) * n).sqrt();
    centred * (std + 1e-8).recip()
}

/// Mean over the batch: `[S, B, 1]` → `[S, 1]`.
#[track_caller]
pub fn mean(x: Tensor) -> Tensor {
    let n = x.size(1) as f64;
    x.sum_keep(1).reshape(&[x.size(0), 1]) * (1.0 / n)
}
