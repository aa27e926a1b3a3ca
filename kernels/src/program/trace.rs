//! A trace: what a program declared, and the operations that compute its results.

use super::context::Context;
use crate::tensor::{Graph, NodeId};
use crate::{DType, Error, Result};

/// The use of an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// Only read.
    Input,
    /// Read and, if it has a result, overwritten.
    State,
    /// Only written, fresh at each run.
    Output,
}

impl Role {
    /// Its name in printed traces and in messages.
    pub fn name(self) -> &'static str {
        match self {
            Role::Input => "input",
            Role::State => "state",
            Role::Output => "output",
        }
    }
}

/// An argument of a program.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Arg {
    /// Its name.
    pub name: String,
    /// Size of each axis.
    pub shape: Vec<usize>,
    /// Data type.
    pub dtype: DType,
    /// Its use.
    pub role: Role,
    /// The array is too large to be touched as a whole: every operation that would is an error of the trace.
    pub bulk: bool,
}

/// A run-time scalar of a program.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ScalarSpec {
    /// Its name.
    pub name: String,
    /// Data type.
    pub dtype: DType,
}

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
        super::bulk::check(&trace)?;
        Ok(trace)
    }

    /// The values that end in arguments.
    pub fn outs(&self) -> Vec<NodeId> {
        self.results.iter().map(|result| result.0).collect()
    }
}
