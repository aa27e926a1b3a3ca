//! Meta-reinforcement learning: policies that adapt to a task by a few gradient steps (MAML's family), by their memory
//! ([`rl2`]), or by inferring a belief about it ([`pearl`]).
//!
//! [`crate::algo::Learned`] says how a trained policy adapts; [`try_adapting`] lets it
//! adapt in programs, [`Adaptive`] on the host.
//!
//! In MAML's family, K = S · M rows of parameters stand for M tasks of each of S stacked seeds. Training is traced:
//! each phase's data is a [`Phase`], [`InnerSteps`] adapt to it, and an [`Objective`] of the adapted parameters on
//! fresh data is differentiated through these steps.
//!
//! # How policies that adapt are played
//!
//! [`Learned`](crate::algo::Learned) asks a trained algorithm for five functions. `policy` gives the policy that acts.
//! `course` tells how it comes to a task: its family, rounds of adaptation, rollouts, episodes. `start` gives the
//! values by which it acts before it has seen its tasks, and `adapt` those after it has seen some episodes. Algorithms
//! of particles also tell how each of these acts (`particles`). MAML's family adapts by an inner step,
//! [`Learner::adapt`], as in training. RL² has no rounds: the memory of its policy lasts through the episodes of a
//! trial. PEARL's `start` and `adapt` give evidence, from which its policy draws z when an episode begins; each round
//! is an episode. PPO acts on a task as it was trained.
//!
//! Two functions play by these, and know no algorithm: on a device [`try_adapting`] traces all rounds into one program;
//! on the host [`Adaptive`] makes a program of each step, for [`MetaEvaluator`] and `quickstudy adapt`.
//! [`try_exploring`] plays the sizes of a [`MetaEvaluator`] in a program. Held-out tasks come from a random stream that
//! training never draws from.
//!
//! # From a context to a belief
//!
//! PEARL adapts and learns from memories: an iteration visits some training tasks, then makes many updates.
//!
//! 1. **The visit.** `Pearl::play` collects whole episodes on the tasks that are dealt
//!    ([`TaskSource::Dealt`](crate::task::TaskSource::Dealt)), first by the prior, then by the belief.
//!    [`Amount::Steps`](crate::play::Amount::Steps) ends a play after the episode in which enough steps were made.
//!    [`ContextPolicy`](pearl::ContextPolicy) draws z where an episode begins.
//! 2. **The rows.** [`TaskMemory::add`](pearl::TaskMemory::add) puts them into the rings of their tasks.
//!    Their context is the rows of the last visit.
//! 3. **The evidence.** [`ContextEncoder`](pearl::ContextEncoder) turns transitions into evidence, sums that grow
//!    with each (or a recurrent state), and evidence into a belief. So evidence is a policy's memory within a
//!    play, and its acting values between plays.
//! 4. **The update.** [`PearlNets::update`](pearl::PearlNets::update): the critics' loss and the belief's divergence
//!    move critics and encoder; then value function and policy make their steps by a z without a gradient.

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
pub use performance::{AVERAGE, EpisodeOutcome, Performance, UNNAMED, by_class};
pub use rl2::{RL2, Rl2, Rl2Config, Rl2Variant};
pub use test_sizes::{TestSizes, try_exploring};
