//! Meta-reinforcement learning: policies that adapt to a task in a few gradient steps (MAML's family), or by their memory ([`rl2`]).
//!
//! How a trained policy adapts is [`crate::algo::Learned`]; [`try_adapting`] plays it in programs, [`Adaptive`] on the host.
//!
//! Of MAML's family, K = S · M rows of parameters stand for M tasks of each of S stacked seeds. Their training is traced: the data of
//! a phase is a [`Phase`], [`InnerSteps`] are made on it, and an [`Objective`] of the adapted parameters on fresh data is
//! differentiated through these steps.

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
