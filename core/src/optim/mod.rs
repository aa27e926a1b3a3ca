//! Optimisers on flat parameters `[S, P]`, one row per stacked seed, and schedules.

mod adam;
mod conjugate_gradient;
mod schedule;
mod trust_region;

pub use adam::{Adam, AdamState, clip_by_norm, norm};
pub use conjugate_gradient::{conjugate_gradient, dot};
pub use schedule::{Decay, Schedule};
pub use trust_region::{Hessian, TrustRegion, TrustStep};
