//! Action spaces, in traces.

use crate::Tensor;
use crate::dist::RowNoise;
use crate::env::ActionSpace;

/// The actions that an environment takes.
#[derive(Clone, Debug, PartialEq)]
pub enum Bounds {
    /// One or several choices, with a number of options each; the action is the number of an option of each.
    Choices(Vec<usize>),
    /// Continuous actions: each number lies between its lowest and its highest value.
    Box {
        /// The lowest value of each number.
        low: Vec<f64>,
        /// The highest value of each number.
        high: Vec<f64>,
        /// True for each number that environments get as a whole one.
        whole: Vec<bool>,
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
                let (low, high) = dims.iter().map(|d| (d.low, d.high)).unzip();
                Bounds::Box { low, high, whole: dims.iter().map(|d| d.whole).collect() }
            }
        }
    }

    /// The nearest action within the bounds, `[K, N, A]`; of whole numbers the nearest whole one.
    #[track_caller]
    pub fn clamp(&self, action: Tensor) -> Tensor {
        match self {
            Bounds::Choices(_) => action,
            Bounds::Box { low, high, whole } => {
                let action = match whole.contains(&true) {
                    true => {
                        let whole: Vec<u32> = whole.iter().map(|whole| u32::from(*whole)).collect();
                        Tensor::literal_u32(&whole).select((action + 0.5).floor(), action)
                    }
                    false => action,
                };
                action.max(Tensor::literal_f32(low)).min(Tensor::literal_f32(high))
            }
        }
    }

    /// Scales numbers from −1 to 1 to actions from the lowest to the highest, `[K, N, A]`. Choices stay as they are.
    ///
    /// Each whole number has an equal part of −1 to 1.
    #[track_caller]
    pub fn scale(&self, action: Tensor) -> Tensor {
        match self {
            Bounds::Choices(_) => action,
            Bounds::Box { .. } => {
                let (half, middle) = self.half_and_middle();
                // Rounding must not lead out of the bounds.
                self.clamp(action * Tensor::literal_f32(&half) + Tensor::literal_f32(&middle))
            }
        }
    }

    /// Half the width of each number's range, and its middle; the range of a whole number is wider by one half on
    /// either side, where the lowest and the highest are still the nearest. Empty for choices.
    #[must_use]
    pub fn half_and_middle(&self) -> (Vec<f64>, Vec<f64>) {
        let Bounds::Box { low, high, whole } = self else { return (Vec::new(), Vec::new()) };
        let ranges = low.iter().zip(high);
        let half = ranges.clone().zip(whole).map(|((low, high), whole)| {
            let more = if *whole { 1.0 } else { 0.0 };
            0.5 * (high - low + more)
        });
        (half.collect(), ranges.map(|(low, high)| 0.5 * (high + low)).collect())
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
