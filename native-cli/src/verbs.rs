//! The verbs, one per file.

pub(crate) mod adapt;
pub(crate) mod bench;
pub(crate) mod compare;
pub(crate) mod completions;
pub(crate) mod devices;
pub(crate) mod eval;
pub(crate) mod export;
pub(crate) mod list;
pub(crate) mod man;
pub(crate) mod plot;
pub(crate) mod python;
pub(crate) mod report;
pub(crate) mod sweep;
pub(crate) mod train;
pub(crate) mod watch;
