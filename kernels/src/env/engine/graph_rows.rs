//! Rows of environments in a graph: the shapes that operands of their calls must have, and how they are put together.

use std::panic::Location;
use std::sync::Arc;

use crate::Error;
use crate::env::fields::Fields;
use crate::env::{Env, EnvDef};
use crate::program::NativeCall;
use crate::tensor::{Tensor, call, fail};

impl EnvDef {
    /// Tells whether there is a task where the environment has many, of the right width; records an error if not.
    pub(super) fn task_fits(&self, op: &'static str, task: Option<Tensor>, at: &'static Location<'static>) -> bool {
        match (task, self.spec().task.len()) {
            (None, 0) => true,
            (Some(task), width) if width > 0 => width_fits(op, "task", task, width, at),
            (task, width) => {
                let got = task.map_or("none".to_owned(), |t| format!("{:?}", t.shape()));
                let expected = if width == 0 { "no task".to_owned() } else { format!("a task [rows.., {width}]") };
                fail(Error::Shape { op, expected, got, at: at.to_string() });
                false
            }
        }
    }
}

/// A call, unless an earlier error left one of its inputs without a meaning.
#[track_caller]
pub(super) fn call_if_sound(
    name: &'static str,
    inputs: &[Tensor],
    native: &Arc<dyn NativeCall>,
    body: impl FnOnce(&[Tensor]) -> Vec<Tensor>,
) -> Vec<Tensor> {
    if inputs.iter().any(|t| t.is_poison()) { Vec::new() } else { call(name, inputs, native.clone(), body) }
}

/// Tells whether a tensor's last axis has `width` elements; records an error if not. Poison gives false: its error is
/// recorded already.
pub(super) fn width_fits(
    op: &'static str,
    what: &str,
    x: Tensor,
    width: usize,
    at: &'static Location<'static>,
) -> bool {
    let shape = x.shape();
    let fits = x.is_poison() || shape.last() == Some(&width);
    if !fits {
        let expected = format!("{what} [rows.., {width}]");
        fail(Error::Shape { op, expected, got: format!("{shape:?}"), at: at.to_string() });
    }
    fits && !x.is_poison()
}

/// The results of a call; poison where it failed.
pub(super) fn all<const N: usize>(outs: &[Tensor]) -> [Tensor; N] {
    std::array::from_fn(|i| outs.get(i).copied().unwrap_or(Tensor::poison()))
}

/// `[rows..]` as `[rows.., 1]`.
pub(super) fn column(x: Tensor, rows: &[usize]) -> Tensor {
    x.broadcast_to(rows).unsqueeze(rows.len())
}

pub(super) fn key_pair(key: [Tensor; 2], rows: &[usize]) -> Tensor {
    Tensor::stack(&key.map(|word| word.broadcast_to(rows)), rows.len())
}

/// `[.., M]` broadcast to `[rows.., M]`.
pub(super) fn last_axis(x: Tensor, rows: &[usize]) -> Tensor {
    let width = x.shape().last().copied().unwrap_or(1);
    x.broadcast_to(&[rows, &[width]].concat())
}

/// The numbers of the last axis as single tensors.
pub(super) fn parts(x: Tensor) -> Vec<Tensor> {
    let axis = x.rank().saturating_sub(1);
    (0..x.size(axis)).map(|i| x.index(axis, i)).collect()
}

/// Single tensors as the numbers of a last axis.
pub(super) fn join(parts: &[Tensor], rows: &[usize]) -> Tensor {
    let parts: Vec<Tensor> = parts.iter().map(|p| p.broadcast_to(rows)).collect();
    Tensor::stack(&parts, rows.len())
}

/// The state of rows of environments, of its numbers in the last axis.
pub(super) fn state_of<E: Env>(x: Tensor) -> E::State<Tensor> {
    let fields = parts(x);
    <E::State<Tensor> as Fields<Tensor>>::from_fn(|i| fields[i])
}

/// The numbers of a state in a last axis.
pub(super) fn join_state<E: Env>(state: &E::State<Tensor>, rows: &[usize]) -> Tensor {
    let fields: Vec<Tensor> = (0..<E::State<Tensor> as Fields<Tensor>>::N).map(|i| state.get(i)).collect();
    join(&fields, rows)
}

pub(super) fn rows_of(x: Tensor) -> Vec<usize> {
    let mut shape = x.shape();
    shape.pop();
    shape
}

pub(super) fn two(key: Tensor) -> [Tensor; 2] {
    let axis = key.rank().saturating_sub(1);
    [key.index(axis, 0), key.index(axis, 1)]
}
