//! The room of a device for a chain.

/// The room of a device for a chain.
#[derive(Clone, Copy, Debug)]
pub struct ChainBudget {
    /// Most numbers of a row that stay on the chip as one value. What is wider ends the chain.
    pub widest: usize,
    /// Most elements of a sum over rows, such as the gradient of a matrix.
    pub largest_sum: usize,
    /// Rows of several groups may be taken together, where those of one leave lanes unused.
    pub merged: bool,
}
