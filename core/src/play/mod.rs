//! Playing: how a policy and environments make experience.
//!
//! There is one loop in programs, [`Play`], and one over executors of the host, [`crate::host::Player`]. Rollouts of fixed length, whole
//! episodes, trials, evaluations, recordings and single steps differ in when they stop and in what is read of what they leave.

mod actor;
mod experience;
mod iteration;
mod keys;
mod recorded;
mod stage;
mod stepping;

pub use actor::{ActorSpec, BROKEN, PolicyActor};
pub use experience::{Experience, Running, Steps, Totals};
pub(crate) use iteration::schedule_entry;
pub use iteration::{Cast, Iteration, Tasks};
pub use keys::{Keys, group_keys, row_keys};
pub use recorded::{Recorded, Tape};
pub use stage::{Compute, HostAct, HostCall, HostPlay, Stage};
pub use stepping::{Amount, Play, Until, replay};
