//! Sessions: an algorithm on an environment under one or several seeds, stepped, saved, restored and evaluated.
//!
//! ```
//! use quickstudy_core::{Device, env, train::{Layer, Session, Setup}};
//!
//! let mut small = Layer { origin: "example".into(), ..Layer::default() };
//! small.settings.insert("hidden".into(), toml::Value::Array(vec![8.into()]));
//! let setup = Setup::resolve("ppo", env::builtin("cartpole")?, &[0], Some(512), &[small])?;
//! let mut session = Session::new(&Device::cpu(1), &setup)?;
//! session.run_to_end(|rows| {
//!     assert!(rows[0].iter().any(|(name, _)| name == "rollout/ep_return_mean"));
//! })?;
//! assert!(session.done());
//! # Ok::<(), quickstudy_core::Error>(())
//! ```
//!
//! # Counts of steps, and ends of runs
//!
//! A step is counted once: by the iteration in which an environment makes it for an algorithm to learn from. If
//! iterations always make the planned steps, these are counted
//! ([`Algorithm::planned`](crate::algo::Algorithm::planned)); if episodes may end early, the iteration counts its steps
//! itself ([`Algorithm::counts_steps`](crate::algo::Algorithm::counts_steps), `Metrics::STEPS`). A step at which an
//! environment of the host fails or takes too long is counted like any other; it cuts its episode off. Three kinds of
//! rows are not counted: those behind the last whole episode, which are masked; those of environments that run on while
//! others end their episodes, or for seeds that are done; those of evaluations. An iteration that fails on the host
//! changes nothing, counts nothing, and is made again; an iteration whose updates were dropped, because gradients were
//! not finite, has made its steps.
//!
//! A seed ends with the iteration in which it makes the steps that were asked for, and not before an iteration that
//! learns. Where a number of iterations was asked for ([`Length::Iterations`]), it ends after so many, however many
//! steps these make, and its schedules follow iterations. Otherwise schedules follow
//! [`Progress`](crate::optim::Progress): the steps made, divided by the budget, which is the steps asked for, rounded
//! up to iterations as they are planned, so that without early ends it is the share of iterations to the last bit.
//! Stacked seeds then have rates of their own, `[S, 1]` ([`Iteration::scalar`](crate::play::Iteration::scalar)).
//! Quantities that papers count in iterations or updates are counted in these: CEM's `extra_decay_time`, DQL's εᵏ,
//! periods of targets, MAML's clip range. A seed that is done leaves its stack (`session/stacks.rs`): the arrays of the
//! other seeds are copied into smaller ones, and their programs are compiled again. On the host the environments of a
//! done seed run on beside the others, unseen. Seeds that were restored after different numbers of iterations are
//! trained one stack after the other.

mod attempt;
mod saved;
mod session;
mod setup;

pub use attempt::adapted::{Adaptation, AdaptationStage, MetaTest, PathStep, StageUnit};
pub use attempt::episode_program::evaluation_trace;
pub use attempt::evaluation::{Episode, Evaluation, MAX_EPISODES};
pub use attempt::evaluator::Evaluator;
pub use attempt::guesses::Guesses;
pub use attempt::networks::{ObservationScale, PolicyNetworks, SliceNumbers};
pub use attempt::trajectory::Trajectory;
pub use attempt::viewer::Viewer;
pub use saved::segments::{ReadSegment, Ring};
pub use saved::{Saved, joined};
#[cfg(not(target_arch = "wasm32"))]
pub use session::restored::trial_stacks;
pub use session::restored::{SnapshotProgress, snapshot_progress, stacks};
pub use session::snapshots::{SegmentRows, SnapshotParts, Snapshots};
#[cfg(not(target_arch = "wasm32"))]
pub use session::trials::check_stackable;
pub use session::{Row, Session};
pub use setup::length::{DEFAULT_STEPS, Length};
pub use setup::metric_docs::METRIC_DOCS;
pub use setup::own::{Own, PlaceBySpec};
pub use setup::presets::{Preset, preset, presets};
pub use setup::register::{ALGORITHMS, algorithm};
#[cfg(any(test, feature = "debug"))]
pub use setup::small::small;
pub use setup::{Layer, Setting, Setup};
