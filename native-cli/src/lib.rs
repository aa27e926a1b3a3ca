//! The quickstudy command line: [`cli`] runs it, also with environments and algorithms of yours, and [`curve`] draws
//! learning curves. Everything that touches files, clocks, signals or the terminal lives here and not in
//! `quickstudy-core`.
//!
//! All else is in rooms, from the lowest up. A module may import those of its own line and of the lines before it.
//!
//! | room | what it is for |
//! |---|---|
//! | `text` `statistics` `onnx` | words and numbers for people; means, intervals, bootstrap; policies as ONNX models |
//! | `outcome` | `Stop`: errors with exit codes and hints |
//! | `json` | lines of `--json`, a verb per file |
//! | `ranks` | processes that a launcher has started: their connection and messages |
//! | `machine` | devices that compute, and free memory |
//! | `files` | files that are replaced whole or not at all, locks, reading within bounds |
//! | `folder` | run folders: their files, locks, segments and provenance; symbolic links |
//! | `terminal` | lines, progress, results that the user names, Ctrl-C |
//! | `settings` | settings of a run, each declared once; parsers; built-in and added names; requests resolved |
//! | `metrics` `pictures` | metrics files and a run's history; drawings as SVG and PNG, animations |
//! | `curve` | learning curves |
//! | `results` `training` | policies that play, experiments, comparisons, reports; runs that begin, go on and end |
//! | `studies` `watch` | trainings as processes, studies, sweeps; a server of one run's page |
//! | `benchmarks` | what `bench` measures: speed, and returns after training |
//! | `verbs` | a verb per file: it parses, calls a room, prints |
//! | `cli` | what can be typed, and where each verb goes |

#![forbid(unsafe_code)]
#![warn(unreachable_pub)]

pub(crate) mod benchmarks;
pub mod cli;
pub mod curve;
pub(crate) mod files;
pub(crate) mod folder;
pub(crate) mod json;
pub(crate) mod machine;
pub(crate) mod metrics;
pub(crate) mod onnx;
pub(crate) mod outcome;
pub(crate) mod pictures;
pub(crate) mod ranks;
pub(crate) mod results;
pub(crate) mod settings;
pub(crate) mod statistics;
pub(crate) mod studies;
pub(crate) mod terminal;
pub(crate) mod text;
pub(crate) mod training;
pub(crate) mod verbs;
pub(crate) mod watch;

/// Items that the tests of this repository take: no public interface.
#[doc(hidden)]
pub mod internals {
    pub use crate::benchmarks::stepping::random_steps;
    pub use crate::benchmarks::training::LINES as TRAINING_LINES;
    pub use crate::files::disk::abort_at;
    pub use crate::folder::provenance::record as record_device;
    pub use crate::folder::{RunFolder, file, read_snapshot};
    pub use crate::machine::device::Reopen;
    pub use crate::metrics::history::History;
    pub use crate::metrics::{MetricsLog, Table};
    pub use crate::results::comparison::references::REFERENCES;
    pub use crate::settings::config::read_file as read_config;
    pub use crate::settings::keep_snapshots::Keep;
    pub use crate::settings::parse::{count, seeds, setting};
    pub use crate::settings::run_settings::RunSettings;
    pub use crate::text::numbers::grouped;
    pub use crate::training::recover::RecordedSession;
    pub use crate::training::run::{End, Pace, SeedRun};
}
