//! Algorithms, one per file, named as their papers.

mod actor_critic;
mod algorithm;
mod on_policy;
pub mod ppo;
mod training;
pub mod trpo;

pub use actor_critic::ActorCritic;
pub(crate) use algorithm::update_parameters;
pub use algorithm::{Algorithm, Family, First, Held, Metrics, StateEntry};
pub use on_policy::{OnPolicy, OnPolicyLearner};
pub use ppo::{Ppo, PpoConfig};
pub use training::{Arena, Training};
pub use trpo::{Trpo, TrpoConfig};
