//! Action distributions, traced over rows: `[S, B, …]`, stacked seeds and then rows.
//!
//! An action is a vector of f32; a choice is its index as a float. Log-probabilities and entropies are joint over the
//! action's numbers, `[S, B, 1]`.

mod categorical;
mod gaussian;
mod noise;
mod squashed;
mod state_dependent;

pub use categorical::{Categorical, best};
pub use gaussian::{Gaussian, LOG_STD_RANGE};
pub use noise::{RowNoise, fold_in};
pub use squashed::SquashedGaussian;
pub use state_dependent::StateDependent;
