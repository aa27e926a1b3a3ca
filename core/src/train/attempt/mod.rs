//! Trained policies at their tasks: evaluations, meta-tests and viewers, in programs and on the host.

mod adapt_on_host;
pub(super) mod adapted;
pub(super) mod evaluate;
pub(super) mod guesses;
mod meta_test;
mod play_on_host;
pub(super) mod viewer;
