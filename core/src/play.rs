//! Play: how a policy and environments make experience.
//!
//! There is one loop in programs, [`Play`], and one over executors of the host, [`crate::host::Player`]. Rollouts of
//! fixed length, whole episodes, trials, evaluations, recordings and single steps differ in when they stop and in which
//! of their results are read.

mod actor;
mod amount;
mod ask;
mod episodes;
mod experience;
mod fold;
mod host_play;
mod iteration;
mod keys;
mod recorded;
mod room;
mod stage;
mod stepping;

pub use actor::{ActorSpec, BROKEN, PolicyActor};
pub use amount::Amount;
pub use episodes::replay;
pub use experience::{Ends, Experience, Running, Steps, Totals};
pub use host_play::HostPlay;
pub(crate) use iteration::schedule_entry;
pub use iteration::{Cast, Iteration, Tasks};
pub use keys::{Keys, group_keys, row_keys};
pub use recorded::{Recorded, Tape};
pub use room::Room;
pub(crate) use room::{FIRST, Needed};
pub use stage::{Compute, HostAct, HostCall, Stage};
pub use stepping::{Play, Until};
