//! Lines, progress and results that a command shows, and how it is stopped.

pub(crate) mod activity;
pub(crate) mod json_args;
pub(crate) mod output;
pub(crate) mod progress;
pub(crate) mod signals;
pub(crate) mod ticker;
