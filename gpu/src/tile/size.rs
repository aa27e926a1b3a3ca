//! Sizes of workgroups and vectors.

/// Invocations of a workgroup.
pub const INVOCATIONS: usize = 256;
/// Rows of a vector.
pub const ROWS: usize = 4;
