//! Algorithms, one per file, named as their papers.

mod actor_critic;
mod algorithm;
mod count;
pub mod ddpg;
mod definition;
pub mod deterministic;
pub mod dql;
pub mod dqn;
mod groups;
mod learned;
pub mod off_policy;
mod on_policy;
pub mod ppo;
pub mod q_learning;
pub mod sac;
pub mod td3;
mod training;
pub mod trpo;

pub use crate::learn::Metrics;
pub use actor_critic::ActorCritic;
pub use algorithm::{Algorithm, First, Held, StateEntry, update_parameters};
pub use ddpg::{DDPG, DdpgConfig};
pub use definition::{AlgorithmDef, Configure, Family, IntoAlgorithm};
pub use dql::{DQL, DqlConfig};
pub use dqn::{DQN, DqnConfig};
pub use groups::{ParameterGroups, Trained};
pub use learned::{Course, Learned};
pub use on_policy::{OnPolicy, OnPolicyLearner, Sampling};
pub use ppo::{PPO, Ppo, PpoConfig};
pub use sac::{SAC, Sac, SacConfig};
pub use td3::{TD3, Td3Config};
pub use training::{Arena, Training};
pub use trpo::{TRPO, Trpo, TrpoConfig};
