//! Parameters and their optimiser's memory.

use super::GradientMoments;
use crate::Tensor;

/// Parameters that make their steps together, and their optimiser's memory.
#[derive(Clone, Copy, Debug)]
pub struct Trained {
    /// θ, `[S, P]`.
    pub theta: Tensor,
    /// The optimiser's memory.
    pub moments: GradientMoments,
}

crate::tree!(Trained: theta, moments);
