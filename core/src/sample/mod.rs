//! What turns rollouts into training data: advantages, value targets, running statistics.

mod gae;
mod moments;

pub use gae::{Gae, Steps, explained_variance, gae};
pub use moments::Moments;
