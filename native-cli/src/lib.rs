//! The quickstudy command line, as a library so that tests, benches and examples use the same parts.
//!
//! Each verb is one file in [`cmd`]; everything that touches files, clocks, signals or the terminal lives here and
//! not in `quickstudy-core`.

#![forbid(unsafe_code)]

pub mod adaptation_plot;
pub mod agreement;
pub mod args;
pub mod axis_words;
pub mod cli;
pub mod cmd;
pub mod comparison;
pub mod config;
pub mod controls;
pub mod curve;
pub mod engine;
pub mod experiments;
pub mod files;
pub mod fits;
pub mod folder;
pub mod gif;
pub mod history;
pub mod jobs;
pub mod json;
pub mod keep;
pub mod kept;
pub mod kinds;
pub mod known;
pub mod lettering;
pub mod machine;
pub mod meta_test;
pub mod metrics;
pub mod onnx;
pub mod outcome;
pub mod particles;
pub mod picture_file;
pub mod plan;
pub mod planned;
pub mod preset_origin;
pub mod python;
pub mod ranks;
pub mod raster;
pub mod recording;
pub mod recover;
pub mod report;
pub mod run;
pub mod run_settings;
pub mod scene_picture;
pub mod score;
pub mod sheet;
pub mod statistics;
pub mod study;
pub mod sweep;
pub mod terminal;
pub mod text;
pub mod tfevents;
pub mod training;
pub mod warm_start;
pub mod watch;

/// What the tests of this repository take of the inside: no public interface.
#[doc(hidden)]
pub mod internals {
    pub use crate::args::{count, seeds, setting};
    pub use crate::comparison::references::REFERENCES;
    pub use crate::config::read_file as read_config;
    pub use crate::files::disk::abort_at;
    pub use crate::folder::provenance::record as record_device;
    pub use crate::folder::{RunFolder, file, read_snapshot};
    pub use crate::history::History;
    pub use crate::keep::Keep;
    pub use crate::metrics::{MetricsLog, Table};
    pub use crate::recover::RecordedSession;
    pub use crate::run::{End, Pace, SeedRun};
    pub use crate::run_settings::RunSettings;
    pub use crate::text::numbers::grouped;
}
