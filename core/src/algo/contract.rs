//! The contract of algorithms: what each owes to all others, and how its iterations are run.

mod algorithm;
mod count;
mod definition;
mod episodes;
mod groups;
mod learned;
mod numbers;
mod preset_text;
mod row_algorithms;
mod statistics;
mod together;
mod traced;
mod training;

pub use algorithm::{Algorithm, First, Held, StateEntry, update_parameters};
pub(super) use count::Count;
pub use definition::{AlgorithmDef, Configure, Family, IntoAlgorithm};
pub(super) use episodes::RunningEpisodes;
pub use groups::ParameterGroups;
pub use learned::{Course, Learned};
pub(crate) use numbers::MOMENTS;
pub use numbers::{Numbers, Relation};
pub(crate) use preset_text::presets;
#[cfg(all(target_arch = "wasm32", not(test)))]
pub(crate) use preset_text::{bare, text};
pub(crate) use row_algorithms::RowAlgorithms;
pub use statistics::{Statistics, merge_steps};
pub use together::Together;
#[cfg(not(target_arch = "wasm32"))]
pub(crate) use traced::check_variants;
pub use training::Training;
pub(crate) use training::resized;
