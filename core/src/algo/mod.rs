//! Algorithms, one per file, named as their papers.

mod actor_critic;
mod algorithm;
mod policy;
pub mod ppo;

pub use actor_critic::ActorCritic;
pub use algorithm::{Algorithm, LocalFuture, StateEntry};
pub use policy::{Distribution, NetConfig, PolicyNet};
pub use ppo::{Ppo, PpoConfig};
