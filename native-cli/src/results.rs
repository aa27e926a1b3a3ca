//! Results of runs: played by their policies or read from their folders, compared, and reported.

pub(crate) mod adaptation;
pub(crate) mod comparison;
pub(crate) mod curves;
pub(crate) mod evaluation;
pub(crate) mod experiments;
pub(crate) mod policies;
pub(crate) mod report;
pub(crate) mod score;
