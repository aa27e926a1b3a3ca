//! Parts that algorithms with a replay buffer share: their iteration, its settings, and the contract between both.

mod contract;
pub mod deterministic;
mod learner;
mod memory_entries;
mod period;
pub mod q_learning;
mod replay;
pub(super) mod rewards;
pub(super) mod target_steps;

pub use contract::{Occasion, OffPolicy, UpdateOutcome};
pub use learner::OffPolicyLearner;
pub use replay::{Replay, WarmUp};
