//! Policies as ONNX models, which act in programs of other languages.
//!
//! `docs/onnx.md` describes the models to those who run them.

pub mod graph;
pub mod model;
pub mod policy;
pub mod wire;
