//! Training: runs that begin, go on, and end.

pub(crate) mod args;
pub(crate) mod joined_snapshot;
mod kept_snapshot;
pub(crate) mod lead;
pub(crate) mod recover;
pub(crate) mod resume;
pub(crate) mod run;
mod session;
mod smaller;
pub(crate) mod start;
pub(crate) mod warm_start;
