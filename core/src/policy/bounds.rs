//! Action spaces, in traces.

use crate::Tensor;
use crate::dist::RowNoise;
use crate::env::ActionSpace;

/// The actions that an environment takes.
#[derive(Clone, Debug, PartialEq)]
pub enum Bounds {
    /// One or several choices, with a number of options each; the action is the number of an option of each.
    Choices(Vec<usize>),
    /// Vectors of numbers, each between its lowest and its highest.
    Box {
        /// The lowest value of each number.
        low: Vec<f64>,
        /// The highest value of each number.
        high: Vec<f64>,
    },
}

impl Bounds {
    /// The bounds of an action space.
    #[must_use]
    pub fn of(action: &ActionSpace) -> Bounds {
        match action {
            ActionSpace::Discrete { .. } | ActionSpace::MultiDiscrete { .. } => {
                Bounds::Choices(action.counts().unwrap_or_default())
            }
            ActionSpace::Box { dims } => {
                Bounds::Box { low: dims.iter().map(|d| d.low).collect(), high: dims.iter().map(|d| d.high).collect() }
            }
        }
    }

    /// The nearest action within the bounds, `[K, N, A]`.
    #[track_caller]
    pub fn clamp(&self, action: Tensor) -> Tensor {
        match self {
            Bounds::Choices(_) => action,
            Bounds::Box { low, high } => action.max(Tensor::literal_f32(low)).min(Tensor::literal_f32(high)),
        }
    }

    /// Scales numbers from −1 to 1 to actions from the lowest to the highest, `[K, N, A]`. Choices stay as they are.
    #[track_caller]
    pub fn scale(&self, action: Tensor) -> Tensor {
        match self {
            Bounds::Choices(_) => action,
            Bounds::Box { low, high } => {
                let of = |f: &dyn Fn(f64, f64) -> f64| -> Vec<f64> {
                    low.iter().zip(high).map(|(low, high)| f(*low, *high)).collect()
                };
                let (half, middle) = (of(&|low, high| 0.5 * (high - low)), of(&|low, high| 0.5 * (high + low)));
                // Rounding must not lead out of the bounds.
                self.clamp(action * Tensor::literal_f32(&half) + Tensor::literal_f32(&middle))
            }
        }
    }

    /// Draws an action per row, evenly among all actions, `[K, N, A]`; a vector as numbers from −1 to 1, which
    /// [`scale`](Bounds::scale) turns into an action.
    #[track_caller]
    pub fn uniform(&self, noise: &RowNoise) -> Tensor {
        match self {
            Bounds::Choices(counts) => match counts[..] {
                [count] => (noise.uniform() * count as f64).floor(),
                _ => {
                    let counts: Vec<f64> = counts.iter().map(|count| *count as f64).collect();
                    (noise.uniforms(counts.len()) * Tensor::literal_f32(&counts)).floor()
                }
            },
            Bounds::Box { low, .. } => noise.uniforms(low.len()) * 2.0 - 1.0,
        }
    }
}
