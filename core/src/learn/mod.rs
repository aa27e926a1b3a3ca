//! Learning from experience, as far as algorithms share it: guarded descents, and passes over data in minibatches.

mod descent;
mod passes;

pub use descent::{Descended, Descent, Look};
pub use passes::Passes;
