//! Optimisers on flat parameters `[S, P]`, one row per stacked seed, and schedules.

mod adam;
mod schedule;

pub use adam::{Adam, AdamState, clip_by_norm, norm};
pub use schedule::Schedule;
