//! Learning from experience, as far as algorithms share it: guarded descents, passes over data in minibatches, ratios of probabilities.

mod descent;
mod passes;
mod ratio;

pub use descent::{Descended, Descent, Look};
pub use passes::Passes;
pub use ratio::log_ratio;
