//! The verbs, one per file.

pub mod plot;
