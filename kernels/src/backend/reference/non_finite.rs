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
    /// The call in whose body it is, such as `env_step`.
    pub call: Option<&'static str>,
}

impl NonFinite {
    /// The error that names the operation and its place, with advice.
    pub fn error(&self) -> Error {
        let NonFinite { node, op, origin, place, value, call } = self;
        let advice = match call {
            // Settings of an algorithm change nothing about what an environment divides by.
            Some(call) if call.starts_with("env_") => {
                format!(" in {call}; mend this line of the environment, which `check_env` tests")
            }
            _ => "; train with other settings, such as a lower learning rate".to_owned(),
        };
        Error::NonFinite(format!("{op} gives {value} from finite operands, {origin}: {place} (node %{node}){advice}"))
    }
}
