//! Learning from a replay memory: steps under a policy that explores, and updates on batches of all that was seen.

pub mod ddpg;
pub mod dql;
pub mod dqn;
pub mod sac;
mod shared;
pub mod td3;

pub use shared::{Occasion, OffPolicy, OffPolicyLearner, Replay, UpdateOutcome, WarmUp, deterministic, q_learning};
