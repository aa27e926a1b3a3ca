//! Algorithms, one per file, named as their papers.

mod actor_critic;
pub mod ppo;

pub use actor_critic::{ActorCritic, Distribution, NetConfig};
pub use ppo::{Ppo, PpoConfig};
