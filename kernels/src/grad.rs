//! Derivatives: functions from graphs to graphs.
//!
//! [`grad`] adds the derivative's nodes to the graph that is being traced. They are ordinary nodes, so a derivative can
//! be differentiated again, to any order, and runs on every backend. The rules are in `vjp`, the order in which they
//! are applied in `sweep`, loops in `scan` (`apart` tells whether their rows see each other); `rerun` traces a body
//! again on other values; `merge` tidies up before planning.
//!
//! ```
//! use quickstudy_core::grad::grad;
//! use quickstudy_core::{DType, Device, Program, State};
//!
//! let device = Device::cpu(1);
//! let mut cube = Program::new(&device, |cx| {
//!     let x = cx.input("x", &[], DType::F32);
//!     let first = grad(x * x * x, &[x])[0]; // 3x²
//!     let second = grad(first, &[x])[0]; // 6x
//!     cx.output("first", first);
//!     cx.output("second", second);
//! })?;
//! let x = device.array(&[], &[2.0])?;
//! let outputs = cube.run(&State::new(), &[("x", &x)], &[])?;
//! let read = |name| pollster::block_on(device.read(outputs.get(name)?));
//! assert_eq!((read("first")?, read("second")?), (vec![12.0], vec![12.0]));
//! # Ok::<(), quickstudy_core::Error>(())
//! ```

mod apart;
pub mod check;
mod merge;
mod options;
mod rerun;
mod scan;
mod sweep;
#[cfg(test)]
mod tests;
mod vjp;

use std::panic::Location;

use crate::tensor::{DType, Op, Tensor, Tree, fail, graph};
use crate::{Error, Result};
pub(crate) use merge::tidy_loops;
use options::{Invariants, SweepOptions};
use rerun::Rerun;
use sweep::{Below, sweep};

type At = &'static Location<'static>;

/// Gradient of `loss` (f32, one element) with respect to each of `wrt` (f32): tensors of their shapes.
///
/// Zero where the loss does not depend on one. Derivatives that are a matter of choice: `max` and `min` of equal
/// operands pass to the first one; the largest element over an axis shares among all that equal it; `floor`,
/// comparisons, conversions, random numbers and `stop_gradient` pass nothing.
///
/// Equal expressions are one node. So a gradient with respect to a *computed* tensor counts every use of an equal
/// expression, and if `w` is a view of `u` then a view of `w` may have become one of `u`: where the loss also uses `u`
/// otherwise, that is an error. [`value_and_grad`] differentiates with respect to fresh variables, without such doubts.
///
/// # Errors
/// Recorded in the trace: a loss of more than one element, a data type other than f32, a constant in `wrt`, a tensor of
/// another trace or of a closed loop body, a gather whose source depends on `wrt`.
#[track_caller]
pub fn grad(loss: Tensor, wrt: &[Tensor]) -> Vec<Tensor> {
    let how = SweepOptions { invariants: Invariants::Products, at: Location::caller() };
    grad_with(&how, loss, wrt)
}

/// The value of `f` (f32, one element) at `at` and its gradient with respect to each argument.
///
/// `f` gets fresh variables in place of `at`: only what it computes from these counts, even where the same expressions
/// exist outside.
///
/// # Errors
/// As [`grad`]; `at` may be anything of data type f32.
#[track_caller]
pub fn value_and_grad(at: &[Tensor], f: impl FnOnce(&[Tensor]) -> Tensor) -> (Tensor, Vec<Tensor>) {
    let (value, grads, ()) = value_and_grad_with(at, |at| (f(at), ()));
    (value, grads)
}

/// As [`value_and_grad`]; and what else `f` computed on the way, such as what is reported about a loss. Computed anew,
/// loops in it would be run twice: a loop that is differentiated is not the same as one that is not.
///
/// # Errors
/// As [`value_and_grad`].
#[track_caller]
pub fn value_and_grad_with<T: Tree + Default>(
    at: &[Tensor],
    f: impl FnOnce(&[Tensor]) -> (Tensor, T),
) -> (Tensor, Vec<Tensor>, T) {
    let (mut f, mut seen) = (Some(f), None);
    let mut once = |at: &[Tensor]| match f.take() {
        Some(f) => {
            let (value, others) = f(at);
            let flat = others.flat();
            seen = Some(others);
            (value, flat)
        }
        None => (Tensor::poison(), Vec::new()),
    };
    let (value, grads, others) = differentiate(at, &mut once, Location::caller());
    (value, grads, seen.map_or_else(T::default, |seen| seen.with(&others)))
}

/// `f` is called once. It is no type parameter, so that this is compiled once and not for every loss.
#[allow(clippy::type_complexity, reason = "said once")]
fn differentiate(
    at: &[Tensor],
    f: &mut dyn FnMut(&[Tensor]) -> (Tensor, Vec<Tensor>),
    caller: At,
) -> (Tensor, Vec<Tensor>, Vec<Tensor>) {
    let how = SweepOptions { invariants: Invariants::Products, at: caller };
    let poison = || (Tensor::poison(), vec![Tensor::poison(); at.len()], Vec::new());
    if at.iter().any(|t| t.is_poison()) {
        return poison();
    }
    if let Some(e) = at.iter().find_map(|t| check_variable(*t, caller).err()) {
        fail(e);
        return poison();
    }
    let Some(scope) = graph::with(|g| g.open_scope()) else {
        return poison();
    };
    let variables: Vec<Tensor> = at.iter().enumerate().map(|(i, t)| rerun::param(i, t.shape(), DType::F32)).collect();
    let (loss, others) = f(&variables);
    let mut results = vec![loss];
    results.extend(grad_with(&how, loss, &variables));
    results.extend(others);
    graph::with(|g| g.close_scope());
    if results.iter().any(|t| t.is_poison()) {
        return poison();
    }
    let mut rerun = Rerun::new(scope);
    for (variable, value) in variables.iter().zip(at) {
        rerun.replace(variable.raw(), value.raw());
    }
    let ids: Vec<_> = results.iter().map(|t| t.raw()).collect();
    let copies = rerun.copy(&ids);
    let (grads, others) = copies[1..].split_at(at.len());
    (copies[0], grads.to_vec(), others.to_vec())
}

fn grad_with(how: &SweepOptions, loss: Tensor, wrt: &[Tensor]) -> Vec<Tensor> {
    let poison = || vec![Tensor::poison(); wrt.len()];
    if loss.is_poison() || wrt.iter().any(|t| t.is_poison()) {
        return poison();
    }
    if let Err(e) = check(loss, wrt, how.at) {
        fail(e);
        return poison();
    }
    let one = Tensor::ones(&loss.shape());
    let found = sweep(how, &[(loss, one)], wrt, Below::Through);
    if graph::with(|g| g.failed()) != Some(false) {
        return poison();
    }
    found.iter().zip(wrt).map(|(g, t)| g.unwrap_or_else(|| Tensor::zeros(&t.shape()))).collect()
}

fn check(loss: Tensor, wrt: &[Tensor], at: At) -> Result<()> {
    loss.node("grad", at)?;
    in_scope(loss, at)?;
    if loss.dtype() != DType::F32 {
        return Err(Error::DType {
            op: "grad",
            expected: "an f32 loss".to_owned(),
            got: loss.dtype().to_string(),
            at: at.to_string(),
        });
    }
    if loss.len() != 1 {
        return Err(Error::Shape {
            op: "grad",
            expected: "a loss of one element; sum or average it first".to_owned(),
            got: format!("{:?}", loss.shape()),
            at: at.to_string(),
        });
    }
    for t in wrt {
        check_variable(*t, at)?;
        if t.constant().is_some() {
            return Err(Error::Gradient(format!(
                "a constant is folded into what uses it, so nothing depends on it; use an input or `value_and_grad` \
                 (at {at})"
            )));
        }
        if hidden_by_view(loss, *t) {
            return Err(Error::Gradient(format!(
                "the loss depends on a tensor both directly and by way of a view (reshape, slice or broadcast) that \
                 is differentiated by; differentiate by the tensor itself, or use `value_and_grad` (at {at})"
            )));
        }
    }
    Ok(())
}

fn check_variable(t: Tensor, at: At) -> Result<()> {
    t.node("grad", at)?;
    in_scope(t, at)?;
    if t.dtype() != DType::F32 {
        return Err(Error::DType {
            op: "grad",
            expected: "f32 tensors to differentiate by".to_owned(),
            got: t.dtype().to_string(),
            at: at.to_string(),
        });
    }
    Ok(())
}

fn in_scope(t: Tensor, at: At) -> Result<()> {
    let open = graph::with(|g| g.encloses(g.nodes[t.raw() as usize].scope, g.current_scope()));
    if open == Some(true) {
        return Ok(());
    }
    Err(Error::Scope {
        op: "grad",
        problem: "a tensor made inside a loop body is used outside of it; return it from the body instead".to_owned(),
        at: at.to_string(),
    })
}

/// Tells whether views of `t` cannot be told apart from views of the tensor that `t` itself is a view of.
fn hidden_by_view(loss: Tensor, t: Tensor) -> bool {
    graph::with(|g| {
        let node = &g.nodes[t.raw() as usize];
        let Some(&of) = node.src.first() else {
            return false;
        };
        match node.op {
            Op::Reshape | Op::Broadcast => sweep::uses(g, loss.raw(), t.raw(), |id, _| id == of),
            // A slice of another part cannot be a slice of this one.
            Op::Slice { axis, lo, hi } => sweep::uses(g, loss.raw(), t.raw(), |_, node| {
                matches!(node.op, Op::Slice { axis: a, lo: l, hi: h } if a == axis && lo <= l && h <= hi)
                    && node.src[0] == of
            }),
            _ => false,
        }
    }) == Some(true)
}
