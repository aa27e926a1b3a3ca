//! Credit assignment, which turns rollouts into training data: advantages, value targets, baselines, running
//! statistics.

mod baseline;
mod gae;
mod moments;
mod paths;
mod processor;

pub use baseline::{
    Baseline, Feature, REGULARISATION, least_squares, least_squares_at, least_squares_weights, multi_feature,
};
pub use gae::{Gae, ValuedSteps, explained_variance, explained_variance_of_valid, gae};
pub use moments::Moments;
pub use paths::Paths;
pub use processor::{Processed, Processor, adjusted_rewards};
