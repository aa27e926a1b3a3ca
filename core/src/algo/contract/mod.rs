//! The contract of algorithms: what each owes to all others, and how its iterations are run.

mod algorithm;
mod count;
mod definition;
mod groups;
mod learned;
mod numbers;
mod training;

pub use algorithm::{Algorithm, First, Held, StateEntry, update_parameters};
pub(super) use count::Count;
pub use definition::{AlgorithmDef, Configure, Family, IntoAlgorithm};
pub use groups::ParameterGroups;
pub use learned::{Course, Learned};
pub(crate) use numbers::MOMENTS;
pub use numbers::{Numbers, Relation};
pub(crate) use training::resized;
pub use training::{Arena, Training};
