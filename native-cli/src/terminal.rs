//! What a command says: lines, progress and results; and how it is stopped.

pub mod activity;
pub mod json_args;
pub mod output;
pub mod progress;
pub mod signals;
pub mod ticker;
