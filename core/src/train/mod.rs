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

mod attempt;
mod saved;
mod session;
mod setup;

pub use attempt::adapted::{Adaptation, AdaptationStage, MetaTest, PathStep, StageUnit};
pub use attempt::evaluate::{Episode, Evaluation, Evaluator, MAX_EPISODES, Trajectory, evaluation_plan};
pub use attempt::guesses::Guesses;
pub use attempt::viewer::Viewer;
pub use saved::segments::{ReadSegment, Ring};
pub use saved::{Saved, whole};
pub use session::restored::stacks;
pub use session::snapshots::{SegmentRows, SnapshotParts, Snapshots};
pub use session::{Row, Session};
pub use setup::metric_docs::METRIC_DOCS;
pub use setup::own::Own;
pub use setup::presets::{Preset, preset, presets};
pub use setup::register::{ALGORITHMS, algorithm};
pub use setup::{DEFAULT_STEPS, Layer, Setting, Setup};
