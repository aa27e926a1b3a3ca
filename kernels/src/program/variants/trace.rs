//! Traces of variants.

use crate::Error;
use crate::program::context::Context;
use crate::tensor::Graph;

/// A trace: what it declared, and its operations.
pub(in crate::program) type VariantTrace = (Context, Graph);

/// The scalar that all rows share: the number of the iteration.
pub(super) const SHARED: &str = "iteration";

/// The error of variants that cannot be joined.
pub(super) fn apart(problem: impl std::fmt::Display) -> Error {
    Error::Program(format!("the variants cannot be one program: {problem}"))
}
