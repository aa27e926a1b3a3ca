//! Results of runs: read from their folders, compared, and reported.

pub(crate) mod comparison;
pub(crate) mod experiments;
pub(crate) mod report;
pub(crate) mod score;
