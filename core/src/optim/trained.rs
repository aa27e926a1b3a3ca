//! Parameters and their optimiser's memory.

use super::GradientMoments;
use crate::Tensor;
use crate::tensor::tree;

/// Parameters that make their steps together, and their optimiser's memory.
#[derive(Clone, Copy, Debug)]
pub struct Trained {
    /// θ, `[S, P]`.
    pub theta: Tensor,
    /// The optimiser's memory.
    pub moments: GradientMoments,
}

tree!(Trained: theta, moments);
