//! Algorithms by family, one room each, named as their papers, and the contract that all keep.
//!
//! The exports of each family are re-exported here: `algo::PpoConfig` is `algo::on_policy::PpoConfig`.

mod contract;
pub mod off_policy;
pub mod on_policy;
pub mod search;

pub use crate::learn::Metrics;
pub use crate::optim::Trained;
#[cfg(not(target_arch = "wasm32"))]
pub(crate) use contract::check_variants;
pub use contract::{
    Algorithm, AlgorithmDef, Configure, Course, Family, First, Held, IntoAlgorithm, Learned, Numbers, ParameterGroups,
    Relation, StateEntry, Statistics, Together, Training, merge_steps, update_parameters,
};
use contract::{Count, RunningEpisodes};
pub(crate) use contract::{MOMENTS, RowAlgorithms, presets, resized};
#[cfg(all(target_arch = "wasm32", not(test)))]
pub(crate) use contract::{bare, text};
pub use off_policy::*;
pub use on_policy::*;
pub use search::*;
