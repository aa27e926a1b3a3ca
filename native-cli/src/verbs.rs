//! The verbs, one per file.

pub mod adapt;
pub mod bench;
pub mod compare;
pub mod completions;
pub mod devices;
pub mod eval;
pub mod export;
pub mod list;
pub mod man;
mod particles;
pub mod plot;
pub mod python;
pub mod report;
pub mod sweep;
pub mod train;
pub mod watch;
