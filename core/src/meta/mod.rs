//! Meta-reinforcement learning: policies that adapt to a task by a few gradient steps (MAML's family), by their memory
//! ([`rl2`]), or by inferring a belief about it ([`pearl`]).
//!
//! [`crate::algo::Learned`] says how a trained policy adapts; [`try_adapting`] lets it
//! adapt in programs, [`Adaptive`] on the host.
//!
//! In MAML's family, K = S · M rows of parameters stand for M tasks of each of S stacked seeds. Training is traced:
//! each phase's data is a [`Phase`], [`InnerSteps`] adapt to it, and an [`Objective`] of the adapted parameters on
//! fresh data is differentiated through these steps.

mod adaptation;
mod adaptive;
mod deviation;
mod maml;
mod meta_algorithm;
mod meta_evaluator;
pub mod pearl;
mod per_task;
mod performance;
pub mod rl2;
mod test_sizes;

pub use adaptation::{Trial, Tried, try_adapting};
pub use adaptive::{Adaptive, Values};
pub use maml::adapt::{Adapted, InnerSteps, StepSizes};
pub use maml::config::{MamlConfig, Variant};
pub use maml::objective::{MetaLoss, Objective, meta_loss};
pub use maml::surrogate::{Phase, Surrogate, clipped, surrogate, weighted};
pub use maml::{Learner, MAML_FAMILY, Maml};
pub use meta_algorithm::{MetaAlgorithm, MetaPolicy};
pub use meta_evaluator::{MetaEvaluator, TestTask};
pub use pearl::{PEARL, Pearl, PearlConfig};
pub use per_task::per_task;
pub use performance::{AVERAGE, EpisodeOutcome, Performance, UNNAMED};
pub use rl2::{RL2, Rl2, Rl2Config, Rl2Variant};
pub use test_sizes::{TestSizes, try_exploring};
