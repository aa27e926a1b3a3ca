//! Learning from a replay memory: steps under a policy that explores, and updates on batches of all that was seen.

pub mod ddpg;
pub mod dql;
pub mod dqn;
pub mod sac;
mod shared;
pub mod td3;

pub use ddpg::{DDPG, DdpgConfig};
pub use dql::{DQL, DqlConfig};
pub use dqn::{DQN, DqnConfig};
pub use sac::{SAC, Sac, SacConfig};
pub use shared::{Occasion, OffPolicy, OffPolicyLearner, Replay, UpdateOutcome, WarmUp, deterministic, q_learning};
pub use td3::{TD3, Td3Config};
