//! Parts of learning that algorithms share: guarded descents, metrics and the joining of passes, passes over data in
//! minibatches, the order of data's rows, ratios of probabilities, the use of entropy, targets that follow.

mod descent;
mod entropy;
mod metrics;
mod passes;
mod polyak;
mod ratio;
mod rows;

pub use descent::{Between, Descended, Descent, Look, PartNorms, Turn};
pub use entropy::EntropyMethod;
pub use metrics::{Join, Metrics};
pub use passes::{Passes, Split};
pub(crate) use passes::{nearest_divisor, running_sum};
pub use polyak::PolyakConfig;
pub use ratio::log_ratio;
pub(crate) use rows::{by_environment, by_seed};
