//! The f64 reference: an interpreter of traced graphs that is simple enough to be believed.
//!
//! It walks the graph node by node, without planning or fusing: f32 tensors hold f64 numbers that are never rounded,
//! u32 tensors are exact. Golden tests and gradient checks run the shipped programs here, and the fuzz tests compare
//! the CPU with it.
//!
//! Where f64 numbers cannot follow the letter of an f32 operation:
//! * `bitcast` of a float gives the bits of the value rounded to f32; of an integer, the f64 of that f32 pattern;
//! * constants keep their f64 digits; run-time scalars and inputs are what the caller passes.
//!
//! [`evaluate_with_bounds`] carries, along with each number, a bound on how far an f32 execution may be from it: the
//! rules are in `bounds`. [`first_non_finite`] finds the operation that first left the numbers that f32 can hold.

mod bounds;
mod device;
mod interpret;
mod moves;
mod planned;
mod scalar;
#[cfg(test)]
mod tests;

pub use device::Reference;
pub use planned::run_plan;

use super::ScalarValue;
use crate::tensor::graph::Origin;
use crate::tensor::{Graph, NodeId};
use crate::{Error, Result};

/// The elements of a tensor, in row-major order.
#[derive(Clone, Debug, PartialEq)]
pub enum Data {
    /// Of an f32 tensor.
    F64(Vec<f64>),
    /// Of a u32 tensor.
    U32(Vec<u32>),
}

impl Data {
    /// Number of elements.
    pub fn len(&self) -> usize {
        match self {
            Data::F64(x) => x.len(),
            Data::U32(x) => x.len(),
        }
    }

    /// Tells whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A tensor's value.
#[derive(Clone, Debug, PartialEq)]
pub struct Value {
    /// Size of each axis.
    pub shape: Vec<usize>,
    /// Its elements.
    pub data: Data,
}

impl Value {
    /// Value of an f32 tensor. `data` has as many elements as `shape` says.
    pub fn f64(shape: &[usize], data: Vec<f64>) -> Value {
        Value { shape: shape.to_vec(), data: Data::F64(data) }
    }

    /// Value of a u32 tensor. `data` has as many elements as `shape` says.
    pub fn u32(shape: &[usize], data: Vec<u32>) -> Value {
        Value { shape: shape.to_vec(), data: Data::U32(data) }
    }

    /// The elements as numbers, whichever the data type.
    pub fn to_f64(&self) -> Vec<f64> {
        match &self.data {
            Data::F64(x) => x.clone(),
            Data::U32(x) => x.iter().map(|v| f64::from(*v)).collect(),
        }
    }
}

/// A value and, per element, how far an f32 execution may be from it.
#[derive(Clone, Debug, PartialEq)]
pub struct Bounded {
    /// The value in f64.
    pub value: Value,
    /// Absolute error bounds: 0 where f32 is exact, infinite where nothing can be said.
    pub bound: Vec<f64>,
}

/// The first operation whose result f32 cannot hold.
#[derive(Clone, Debug)]
pub struct NonFinite {
    /// The node.
    pub node: NodeId,
    /// Name of its operation.
    pub op: &'static str,
    /// Source position that asked for it.
    pub origin: Origin,
    /// Which element, and the loops and their steps around it.
    pub place: String,
    /// The element: NaN or infinite.
    pub value: f64,
}

impl NonFinite {
    /// As an error.
    pub fn error(&self) -> Error {
        let NonFinite { node, op, origin, place, value } = self;
        Error::NonFinite(format!("{op} gives {value} from finite operands, {origin}: {place} (node %{node})"))
    }
}

/// The values of `outs` in f64.
///
/// `inputs` are the program's arguments in order, `scalars` its run-time scalars, of which f32 ones keep all digits.
///
/// # Errors
/// `Error::Program` where inputs or scalars do not fit the graph, or stored rows are not distinct.
pub fn evaluate(graph: &Graph, outs: &[NodeId], inputs: &[Value], scalars: &[ScalarValue]) -> Result<Vec<Value>> {
    let mut run = interpret::Interpreter::new(graph, inputs, scalars, interpret::Mode::Exact);
    Ok(run.run(outs)?.into_iter().map(|b| b.value).collect())
}

/// The values of `outs` in f64, each element with the largest error that an f32 execution may have.
///
/// The execution is one that follows the project's order of summation (`bounds` cites it) and the accuracy that
/// [`crate::math`] documents. The bound is rigorous but for the f64 rounding of the reference itself.
///
/// # Errors
/// As [`evaluate`].
pub fn evaluate_with_bounds(
    graph: &Graph,
    outs: &[NodeId],
    inputs: &[Value],
    scalars: &[ScalarValue],
) -> Result<Vec<Bounded>> {
    interpret::Interpreter::new(graph, inputs, scalars, interpret::Mode::Bounds).run(outs)
}

/// The first operation, in the order of the trace, that gives a NaN or an infinity from finite operands.
///
/// Every result is rounded to f32 on the way, so that overflow and underflow are those of an f32 device.
///
/// # Errors
/// As [`evaluate`].
pub fn first_non_finite(
    graph: &Graph,
    outs: &[NodeId],
    inputs: &[Value],
    scalars: &[ScalarValue],
) -> Result<Option<NonFinite>> {
    let mut run = interpret::Interpreter::new(graph, inputs, scalars, interpret::Mode::Find);
    match run.run(outs) {
        Err(error) if run.found.is_none() => Err(error),
        _ => Ok(run.found),
    }
}
