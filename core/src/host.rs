//! Environments outside of tensor programs: simulators, games, and others that are stepped on the host.
//!
//! A [`HostEnv`] is one environment, an [`Executor`] runs many of them side by side, and a [`MetaSampler`] or
//! [`Sampler`] collects whole episodes with an [`Actor`]. [`Padded`] packs episodes into the masked block that
//! [`crate::credit::Processor`] reads, whether they come from the host or from a program.
//!
//! An executor runs M groups of E environments, one task per group. Each call gets its random numbers as one key per
//! group, so trajectories are the same in each executor, and a built-in environment (`Wrapped`) plays the episodes that
//! it plays in a program, bit for bit on the CPU. An executor's calls are futures, for environments that answer later.
//!
//! ```
//! use quickstudy_core::env::{ActionSpace, Dim, EnvSpec};
//! use quickstudy_core::host::{Chance, Executor, HostEnv, IterativeExecutor, Transition};
//! use quickstudy_core::Result;
//!
//! /// Walk to the right end of a line.
//! struct Walk(EnvSpec, f64);
//!
//! impl HostEnv for Walk {
//!     fn spec(&self) -> &EnvSpec {
//!         &self.0
//!     }
//!     fn reset(&mut self, chance: Chance) -> Result<Vec<f64>> {
//!         self.1 = chance.rng().uniform() - 0.5;
//!         Ok(vec![self.1])
//!     }
//!     fn step(&mut self, action: &[f64], _chance: Chance) -> Result<Transition> {
//!         self.1 = (self.1 + action[0]).clamp(-1.0, 1.0);
//!         let terminated = self.1 == 1.0;
//!         Ok(Transition { observation: vec![self.1], reward: -1.0, terminated, ..Transition::default() })
//!     }
//! }
//!
//! let action = ActionSpace::continuous(vec![Dim::new("speed", -0.1, 0.1)]);
//! let spec = EnvSpec::new("walk", vec![Dim::new("x", -1.0, 1.0)], action, 50);
//! let mut envs = IterativeExecutor::new(1, 4, 0, |_| Ok(Box::new(Walk(spec.clone(), 0.0))))?;
//! let first = pollster::block_on(envs.reset(&[[1, 2]]))?;
//! let stepped = pollster::block_on(envs.step(&[0.1; 4], &[[1, 3]]))?;
//! assert_eq!((first.len(), stepped.rewards), (4, vec![-1.0; 4]));
//! # Ok::<(), quickstudy_core::Error>(())
//! ```

mod actor;
mod call;
mod episode_state;
mod executor;
mod faults;
mod fleet_size;
mod host_env;
mod iterative;
mod one_of;
mod padded;
#[cfg(feature = "parallel")]
mod parallel;
mod path;
mod place;
mod player;
mod sampler;
pub(crate) mod saved_groups;
mod slot;
#[cfg(feature = "parallel")]
mod slots;
mod some_groups;
mod task_per_episode;
#[cfg(feature = "standalone")]
mod wrapped;

pub(crate) use episode_state::cut_off;

pub use actor::{Acted, Actor};
pub use executor::{Executor, Fleet, Stepped};
#[cfg(feature = "parallel")]
pub use faults::Tolerance;
pub use faults::{FaultKind, Faults};
pub use fleet_size::FleetSize;
pub use host_env::{Chance, HostEnv, SUCCESS, Transition};
pub use iterative::IterativeExecutor;
pub use one_of::OneOf;
pub use padded::{BlockShape, Padded, PathArrays};
#[cfg(feature = "parallel")]
pub use parallel::ParallelExecutor;
pub use path::{HostPath, Samples};
pub use place::{EnvPlace, HostPlace};
pub use player::{PlayedStep, Player};
pub use sampler::{MetaSampler, Quota, Sampler};
pub use some_groups::SomeGroups;
pub use task_per_episode::TaskPerEpisode;
#[cfg(feature = "standalone")]
pub use wrapped::Wrapped;
