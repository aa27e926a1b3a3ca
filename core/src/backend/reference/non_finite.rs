//! The operation at which numbers left the range of f32.

use crate::Error;
use crate::tensor::NodeId;
use crate::tensor::graph::Origin;

/// The first operation whose result f32 cannot hold.
#[derive(Clone, Debug)]
pub struct NonFinite {
    /// The node.
    pub node: NodeId,
    /// Name of its operation.
    pub op: &'static str,
    /// Source position that asked for it.
    pub origin: Origin,
    /// The element by its indices, and the loops and their steps around it.
    pub place: String,
    /// The element: NaN or infinite.
    pub value: f64,
}

impl NonFinite {
    /// The error that says this.
    pub fn error(&self) -> Error {
        let NonFinite { node, op, origin, place, value } = self;
        Error::NonFinite(format!("{op} gives {value} from finite operands, {origin}: {place} (node %{node})"))
    }
}
