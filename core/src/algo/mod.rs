//! Algorithms, one per file, named as their papers.

mod actor_critic;
mod algorithm;
mod count;
mod definition;
pub mod dqn;
mod groups;
mod learned;
pub mod off_policy;
mod on_policy;
pub mod ppo;
pub mod sac;
mod training;
pub mod trpo;

pub use crate::learn::Metrics;
pub use actor_critic::ActorCritic;
pub use algorithm::{Algorithm, First, Held, StateEntry, update_parameters};
pub use definition::{AlgorithmDef, Configure, Family, IntoAlgorithm};
pub use dqn::{DQN, Dqn, DqnConfig};
pub use learned::{Course, Learned};
pub use on_policy::{OnPolicy, OnPolicyLearner, Sampling};
pub use ppo::{PPO, Ppo, PpoConfig};
pub use sac::{SAC, Sac, SacConfig};
pub use training::{Arena, Training};
pub use trpo::{TRPO, Trpo, TrpoConfig};
