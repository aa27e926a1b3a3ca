//! Meta-reinforcement learning by gradients: policies that adapt to a task in a few gradient steps.
//!
//! K = S · M rows of parameters stand for M tasks of each of S stacked seeds. Everything here is traced: the data of a
//! phase is a [`Phase`], [`InnerSteps`] are made on it, and an [`Objective`] of the adapted parameters on fresh data
//! is differentiated through these steps.

mod adapt;
mod adaptation;
mod collect;
mod config;
mod maml;
mod objective;
mod surrogate;

pub use adapt::{Adapted, InnerSteps, StepSizes, per_task};
pub use adaptation::{Trial, Tried, try_adapting};
pub use collect::{Collected, Collector, row_keys};
pub use config::{MamlConfig, Variant};
pub use maml::{Learner, Maml};
pub use objective::{MetaLoss, Objective, meta_loss};
pub use surrogate::{Phase, Surrogate, clipped, surrogate, weighted};
