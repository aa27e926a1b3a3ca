//! A trace: what a program declared, and the operations that compute its results.

use super::arg::{Arg, ScalarSpec};
use super::context::Context;
use crate::tensor::{Graph, NodeId};
use crate::{Error, Result};

/// A traced program: what every device compiles.
#[derive(Debug)]
pub struct Trace {
    /// The traced expressions.
    pub graph: Graph,
    /// Arguments, in the order in which they are bound.
    pub args: Vec<Arg>,
    /// Run-time scalars.
    pub scalars: Vec<ScalarSpec>,
    /// Which value ends in which argument.
    pub results: Vec<(NodeId, usize)>,
}

impl Trace {
    /// The trace of what a function declared, whose loops are tidied.
    ///
    /// # Errors
    /// If nothing is computed or, with the feature `debug`, all of a large entry of the state would be touched.
    pub(super) fn new(cx: Context, graph: Graph) -> Result<Trace> {
        if cx.results.is_empty() {
            return Err(Error::Program("nothing is computed: declare an output or update a state".to_owned()));
        }
        let results = cx.results.iter().map(|(value, arg)| (value.raw(), *arg)).collect();
        let mut trace = Trace { graph, args: cx.args, scalars: cx.scalars, results };
        let outs = trace.outs();
        crate::grad::tidy_loops(&mut trace.graph, &outs);
        #[cfg(feature = "debug")]
        super::bulk::check(&trace.graph, &trace.args, &trace.results)?;
        Ok(trace)
    }

    /// The values that end in arguments.
    pub fn outs(&self) -> Vec<NodeId> {
        self.results.iter().map(|result| result.0).collect()
    }
}
