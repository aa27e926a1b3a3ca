//! Algorithms, one per file, named as their papers.

mod actor_critic;
mod algorithm;
mod policy;
mod policy_actor;
pub mod ppo;
mod recurrent_policy;

pub use actor_critic::ActorCritic;
pub use algorithm::{Algorithm, LocalFuture, StateEntry};
pub use policy::{Distribution, NetConfig, PolicyNet};
pub use policy_actor::PolicyActor;
pub use ppo::{Ppo, PpoConfig};
pub use recurrent_policy::{RecurrentConfig, RecurrentPolicy};
