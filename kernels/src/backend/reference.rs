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
mod non_finite;
mod scalar;
#[cfg(test)]
mod tests;
mod value;

pub use device::Reference;
pub use non_finite::NonFinite;
pub use value::{Bounded, Data, Value};

use super::ScalarValue;
use crate::Result;
use crate::tensor::{Graph, NodeId};

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

/// The results of one node in f64 from the values of the nodes that it reads: one result, or all of a call.
///
/// # Errors
/// `Error::Program` where it reads a node that `operands` lack, or as [`evaluate`].
pub fn evaluate_node(
    graph: &Graph,
    id: NodeId,
    operands: &[(NodeId, &Value)],
    scalars: &[ScalarValue],
) -> Result<Vec<Value>> {
    interpret::Interpreter::new(graph, &[], scalars, interpret::Mode::Exact).results_of(id, operands)
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
