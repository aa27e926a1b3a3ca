//! Training: runs that begin, go on, and end.

pub mod args;
mod kept_snapshot;
pub mod lead;
pub mod recover;
pub mod resume;
pub mod run;
mod session;
mod smaller;
pub mod start;
pub mod warm_start;
