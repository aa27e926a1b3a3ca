//! Trainings.

pub mod smaller;
