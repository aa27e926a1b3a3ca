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

mod adapt_on_host;
mod adapted;
#[cfg(not(target_arch = "wasm32"))]
mod blocking;
mod end_rule;
mod evaluate;
mod finished;
mod guesses;
mod meta_test;
mod metric_docs;
mod own;
mod play_on_host;
mod presets;
mod register;
mod restored;
mod rules;
mod saved;
mod seed_progress;
mod segments;
mod session;
mod setup;
mod snapshot;
mod snapshots;
mod tensors;
mod viewer;
mod warm_start;

pub use adapted::{Adaptation, AdaptationStage, MetaTest, PathStep, StageUnit};
pub use evaluate::{Episode, Evaluation, Evaluator, MAX_EPISODES, Trajectory, evaluation_plan};
pub use guesses::Guesses;
pub use metric_docs::METRIC_DOCS;
pub use own::Own;
pub use presets::{Preset, preset, presets};
pub use register::{ALGORITHMS, algorithm};
pub use restored::stacks;
pub use saved::{Saved, whole};
pub use segments::{ReadSegment, Ring};
pub use session::{Row, Session};
pub use setup::{DEFAULT_STEPS, Layer, Setting, Setup};
pub use snapshots::{SegmentRows, SnapshotParts, Snapshots};
pub use viewer::Viewer;
