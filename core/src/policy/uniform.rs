//! A policy that acts at random.

use super::{Act, Acting, Bounds, How, Policy};
use crate::Tensor;
use crate::dist::RowNoise;
use crate::env::ActionSpace;
use crate::tensor::Named;

/// Draws evenly among all actions. Algorithms with a replay buffer begin with it, and a policy must do better.
#[derive(Clone, Debug, PartialEq)]
pub struct Uniform {
    bounds: Bounds,
}

impl Uniform {
    /// Makes the policy of an action space.
    #[must_use]
    pub fn new(space: &ActionSpace) -> Uniform {
        Uniform { bounds: Bounds::of(space) }
    }
}

impl Policy for Uniform {
    fn act(&self, _: &Acting, _: Tensor, memory: &Named, _: Option<Tensor>, noise: &RowNoise, how: How) -> Act {
        let action = match how {
            How::Recorded(action) => action,
            _ => self.bounds.uniform(noise),
        };
        Act { action, played: self.bounds.scale(action), memory: memory.clone(), extras: Named::new() }
    }
}
