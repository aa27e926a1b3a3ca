//! Attempts of trained policies at their tasks: evaluations, meta-tests and viewers, in programs and on the host.

mod adapt;
mod adapt_on_host;
pub(super) mod adapted;
pub(super) mod episode_program;
pub(super) mod evaluation;
pub(super) mod evaluator;
pub(super) mod guesses;
mod meta_test;
pub(super) mod networks;
mod play_on_host;
pub(super) mod trajectory;
pub(super) mod under_test;
pub(super) mod viewer;
