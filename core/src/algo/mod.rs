//! Algorithms, one per file, named as their papers.

mod actor_critic;
mod algorithm;
mod on_policy;
mod policy;
mod policy_actor;
pub mod ppo;
mod recurrent_policy;
pub mod trpo;

pub use actor_critic::ActorCritic;
pub use algorithm::{Algorithm, LocalFuture, StateEntry};
pub(crate) use algorithm::{Held, update_parameters};
pub(crate) use on_policy::{OBS_LIMIT, Recorded};
pub use on_policy::{OnDevice, OnHost, OnPolicy};
pub use policy::{Distribution, NetConfig, PolicyNet};
pub use policy_actor::PolicyActor;
pub(crate) use policy_actor::{declare_parts, part_inputs, part_names};
pub use ppo::{HostPpo, Ppo, PpoConfig};
pub use recurrent_policy::{RecurrentConfig, RecurrentPolicy};
pub use trpo::{HostTrpo, Trpo, TrpoConfig};
