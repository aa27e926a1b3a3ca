//! The measurements of `quickstudy bench`, a part per file. Nothing here prints. The benches in `native-cli/benches`
//! have the same steps and trainings.

pub(crate) mod learning;
pub(crate) mod prediction;
pub(crate) mod stepping;
pub(crate) mod summing;
pub(crate) mod training;
