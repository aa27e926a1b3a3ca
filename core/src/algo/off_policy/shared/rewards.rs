//! Rewards as updates learn from them.

use crate::Tensor;

/// Multiplies rewards by the setting `reward_scale`. Memories hold rewards as they were paid, so this is done once,
/// when a batch is learned from.
#[track_caller]
pub fn scaled(reward: Tensor, scale: f64) -> Tensor {
    if scale == 1.0 { reward } else { reward * scale }
}
