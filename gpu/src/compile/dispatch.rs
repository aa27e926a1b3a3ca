//! A dispatch of a compiled plan.

use quickstudy_kernels::tensor::NodeId;

use super::spot::Home;
use crate::plan::Plan;
use crate::wgsl::{self, Body, Part, Shader};

/// A dispatch.
#[derive(Debug)]
pub(crate) struct Dispatch {
    /// The buffers that it binds.
    pub homes: Vec<Home>,
    /// Tells which of these are written.
    pub written: Vec<bool>,
    /// The kernels that it runs: one, or several small ones in turn.
    pub parts: Vec<Part>,
    /// Words that it writes.
    pub moved: usize,
    /// The nodes of the plan that it computes; none of copies.
    pub nodes: Vec<NodeId>,
}

impl Dispatch {
    /// The dispatch of a kernel of these nodes. `homes` are the buffers of the body's numbers.
    pub(super) fn new(body: Body, homes: &[Home], moved: usize, nodes: Vec<NodeId>) -> Dispatch {
        let bindings = body.bindings();
        let (homes, written) = bindings.iter().map(|(k, written)| (homes[*k], *written)).unzip();
        let bindings = bindings.iter().enumerate().map(|(binding, (k, _))| (*k, binding)).collect();
        Dispatch { homes, written, parts: vec![Part { body, bindings }], moved, nodes }
    }

    /// The shader that it runs, of a kernel of that plan.
    pub fn shader(&self, plan: &Plan) -> Shader {
        wgsl::shader(&plan.trace.graph, &self.parts, &self.written, plan.trace.scalars.len())
    }
}
