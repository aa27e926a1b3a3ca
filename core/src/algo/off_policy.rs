//! Learning from a replay memory: steps under a policy that explores, and updates on batches of all that was seen.

mod learner;
mod replay;

pub use learner::{OffPolicy, OffPolicyLearner};
pub use replay::Replay;
