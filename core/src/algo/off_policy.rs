//! Learning from a replay buffer: steps under a policy that explores, and updates on batches of all that was seen.
//!
//! DQN, DQL, DDPG, TD3 and SAC share their iteration, [`OffPolicyLearner`]; each is an [`OffPolicy`], which says who
//! acts and what an update is. [`q_learning`] is what DQN and DQL share, [`deterministic`] what DDPG and TD3 do, and
//! [`ParameterGroups`](crate::algo::ParameterGroups) are parameters that make their steps apart.
//!
//! # From a memory to a changed parameter
//!
//! 1. **The pass.** An iteration is a loop of passes ([`Iteration::repeat`](crate::play::Iteration::repeat)). Each
//!    plays `train_freq` steps by [`Iteration::go_on`](crate::play::Iteration::go_on), as PPO does. With `min_rollouts`
//!    or `min_steps` it is one pass of whole episodes, and
//!    [`ReplayMemory::push_valid`](crate::replay::ReplayMemory::push_valid) stores the steps that count, environment by
//!    environment.
//! 2. **The row.** [`ReplayMemory::push`](crate::replay::ReplayMemory::push) stores observation, action, next
//!    observation, reward and end where the oldest were. The rows are a bulk entry of the state: a pass touches those
//!    that it writes and draws.
//! 3. **The batch.** [`ReplayMemory::sample`](crate::replay::ReplayMemory::sample) draws rows, evenly or through the
//!    sum tree of [`Priorities`](crate::replay::Priorities). `replay/ahead.rs` follows them to later steps of their
//!    episodes, for targets of n steps and for [hindsight](crate::replay::Hindsight). Both are made when drawn; the
//!    stored rows stay as they are.
//! 4. **The update.** [`OffPolicy::update`] gets the batch in an [`Occasion`] and gives an [`UpdateOutcome`]: the
//!    learner, metrics, and errors, which [`ReplayMemory::learned`](crate::replay::ReplayMemory::learned) makes
//!    priorities of.
//! 5. **The period.** Where updates differ, as TD3's policy moves in every second one only, `shared/period.rs` counts
//!    them across passes, and [`run_if`](crate::tensor::run_if) leaves out those that are not due. Passes, their
//!    updates and the steps of a target are loops, so a trace is as large for 65,536 updates as for three.
//!
//! The warm-up is a stage of its own ([`Algorithm::stages`](crate::algo::Algorithm::stages)), whose program has no
//! updates. [`Algorithm::for_steps`](crate::algo::Algorithm::for_steps) makes the memory no larger than the run.

pub mod ddpg;
pub mod dql;
pub mod dqn;
pub mod sac;
mod shared;
pub mod td3;

pub use ddpg::{DDPG, DdpgConfig};
pub use dql::{DQL, DqlConfig};
pub use dqn::{DQN, DqnConfig};
pub use sac::{SAC, Sac, SacConfig};
pub use shared::{Occasion, OffPolicy, OffPolicyLearner, Replay, UpdateOutcome, WarmUp, deterministic, q_learning};
pub use td3::{TD3, Td3Config};
