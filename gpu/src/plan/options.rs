//! How a program is planned.

/// How a program is planned.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PlanOptions {
    /// Join nodes into kernels. Without it every node is a kernel of its own, which tests compare with.
    pub fuse: bool,
    /// Buffers that one kernel may bind.
    pub max_bindings: usize,
    /// Bytes of workgroup memory that a chain may take; none for no chains.
    pub chains: Option<usize>,
}

impl Default for PlanOptions {
    fn default() -> Self {
        PlanOptions { fuse: true, max_bindings: 8, chains: Some(16_384) }
    }
}
