//! Learning from a replay memory: steps under a policy that explores, and updates on batches of all that was seen.

mod contract;
mod learner;
mod period;
mod replay;

pub use contract::{Occasion, OffPolicy, UpdateOutcome};
pub use learner::OffPolicyLearner;
pub use replay::{Replay, WarmUp};
