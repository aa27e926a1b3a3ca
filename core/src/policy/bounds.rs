//! The actions that an environment takes.

use crate::Tensor;
use crate::dist::RowNoise;
use crate::env::ActionSpace;

/// An action space, in traces.
#[derive(Clone, Debug, PartialEq)]
pub enum Bounds {
    /// One of so many choices, as its number.
    Choices(usize),
    /// Vectors between the lowest and the highest numbers.
    Box {
        /// The lowest of each number.
        low: Vec<f64>,
        /// The highest of each number.
        high: Vec<f64>,
    },
}

impl Bounds {
    /// Those of an action space.
    #[must_use]
    pub fn of(action: &ActionSpace) -> Bounds {
        match action {
            ActionSpace::Discrete { .. } => Bounds::Choices(action.choices().unwrap_or(1)),
            ActionSpace::Box { dims } => {
                Bounds::Box { low: dims.iter().map(|d| d.low).collect(), high: dims.iter().map(|d| d.high).collect() }
            }
        }
    }

    /// The nearest action inside, `[K, N, A]`.
    #[track_caller]
    pub fn clamp(&self, action: Tensor) -> Tensor {
        match self {
            Bounds::Choices(_) => action,
            Bounds::Box { low, high } => action.max(Tensor::literal_f32(low)).min(Tensor::literal_f32(high)),
        }
    }

    /// Numbers in −1 to 1 as actions from the lowest to the highest, `[K, N, A]`. Choices stay.
    #[track_caller]
    pub fn scale(&self, action: Tensor) -> Tensor {
        match self {
            Bounds::Choices(_) => action,
            Bounds::Box { low, high } => {
                let of = |f: &dyn Fn(f64, f64) -> f64| -> Vec<f64> {
                    low.iter().zip(high).map(|(low, high)| f(*low, *high)).collect()
                };
                let (half, middle) = (of(&|low, high| 0.5 * (high - low)), of(&|low, high| 0.5 * (high + low)));
                // Rounding must not lead outside.
                self.clamp(action * Tensor::literal_f32(&half) + Tensor::literal_f32(&middle))
            }
        }
    }

    /// An action per row, each as likely as any other, `[K, N, A]`; of a box as numbers in −1 to 1, to be [scaled](Bounds::scale).
    #[track_caller]
    pub fn uniform(&self, noise: &RowNoise) -> Tensor {
        match self {
            Bounds::Choices(count) => (noise.uniform() * *count as f64).floor(),
            Bounds::Box { low, .. } => noise.uniforms(low.len()) * 2.0 - 1.0,
        }
    }
}
