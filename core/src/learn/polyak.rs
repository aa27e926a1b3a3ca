//! Targets that follow what is learned.

use crate::Tensor;
use crate::settings::Range;

crate::settings! {
    /// The setting of targets that follow what is learned, as a moving average of it.
    ///
    /// Polyak averaging, algorithm 1 of arXiv:1509.02971. Pyrado's `tau` is 1 − τ.
    #[derive(Copy)]
    pub struct PolyakConfig {
        /// share of what is learned in its target, at each step of the target; small is slow, 1 copies it
        tau: f64 = 0.005, Range::Share;
    }
}

impl PolyakConfig {
    /// The target after a step, (1 − τ) θ' + τ θ; of any shape.
    #[must_use]
    pub fn step(&self, target: Tensor, learned: Tensor) -> Tensor {
        target + (learned - target) * self.tau
    }
}
