//! Policies as ONNX models, which act in programs of other languages.
//!
//! `docs/onnx.md` describes the models to those who run them.

pub(crate) mod graph;
pub(crate) mod model;
pub(crate) mod policy;
pub(crate) mod wire;
