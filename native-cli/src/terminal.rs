//! What a command says: lines, progress and results; and how it is stopped.

pub(crate) mod activity;
pub(crate) mod json_args;
pub(crate) mod output;
pub(crate) mod progress;
pub(crate) mod signals;
pub(crate) mod ticker;
