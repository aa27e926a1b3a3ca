//! Results of runs: read from their folders, compared, and reported.

pub mod comparison;
pub mod experiments;
pub mod report;
pub mod score;
