//! Algorithms, one per file, named as their papers.

mod actor_critic;
mod algorithm;
mod on_policy;
pub mod ppo;
pub mod trpo;

pub use actor_critic::ActorCritic;
pub use algorithm::{Algorithm, LocalFuture, StateEntry};
pub(crate) use algorithm::{Held, update_parameters};
pub use on_policy::{OnDevice, OnHost, OnPolicy};
pub use ppo::{HostPpo, Ppo, PpoConfig};
pub use trpo::{HostTrpo, Trpo, TrpoConfig};
