//! Training: runs that begin, go on, and end.

pub(crate) mod args;
mod kept_snapshot;
pub(crate) mod lead;
pub(crate) mod recover;
pub(crate) mod resume;
pub(crate) mod run;
mod session;
mod smaller;
pub(crate) mod start;
pub(crate) mod warm_start;
