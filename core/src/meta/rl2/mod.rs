//! RL²: a recurrent policy that learns within its memory, across the episodes of a trial on one task.
//!
//! Duan et al. 2016, arXiv:1611.02779. A trial is several episodes on one task; the memory lasts from the first step to
//! the last. Trials are sampled, credited and optimised as if each were one long path: returns and advantages go on from
//! an episode to the next.

mod adaptation;
mod collect;
mod config;
mod credit;
mod learner;
mod loss;
mod rl2;

pub use adaptation::{TrialSpec, try_trials};
pub use collect::{Collector, Trials, augmented};
pub(crate) use config::MAX_BATCH;
pub use config::{AdvantageCentre, Critic, EntropyMethod, Rl2Config, Rl2Variant};
pub use credit::Credit;
pub use learner::Rl2Net;
pub use loss::{TrialBatch, TrialLosses, losses};
pub use rl2::Rl2;
