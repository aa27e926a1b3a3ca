//! The primitives with a body: `scan`, the one loop, and `call`, a sub-graph with a native twin;
//! and `run_if`, a loop of one step or none.

use std::cell::Cell;
use std::panic::Location;
use std::sync::Arc;

use super::Tensor;
use super::dtype::DType;
use super::graph;
use super::handle::{fail, push, shape_error};
use super::op::NodeId;
use super::op::{Body, Call, Op, Scan};
use crate::Error;
use crate::program::NativeCall;

type At = &'static Location<'static>;

/// The results of a scan's body.
#[derive(Clone, Debug, Default)]
pub struct Loop {
    /// The new carries: as many, of the same shapes and data types, as the initial ones.
    pub carry: Vec<Tensor>,
    /// Values of this step; the scan stacks them along a new leading axis.
    pub ys: Vec<Tensor>,
}

/// Run `body` for indices `0..len` (from the last to the first if `reverse`).
///
/// `init` are the first carries; `xs` have a leading axis of `len`, of which the body gets one row. The body is called
/// once, with the index (u32, shape `[]`), the carries and the rows; tensors from outside may be used in it. Returns
/// the last carries and the stacked outputs, `ys[t]` being that of index `t` whatever the direction.
#[track_caller]
pub fn scan(
    len: usize,
    reverse: bool,
    init: &[Tensor],
    xs: &[Tensor],
    body: impl FnOnce(Tensor, &[Tensor], &[Tensor]) -> Loop,
) -> (Vec<Tensor>, Vec<Tensor>) {
    let mut body = Some(body);
    let mut once = |t, c: &[Tensor], x: &[Tensor]| body.take().map_or_else(Loop::default, |body| body(t, c, x));
    scan_at(len, reverse, init, xs, LoopEnd::Never, &mut once, Location::caller())
}

/// A scan that stops changing its carries once a condition holds: all of them, or row by row.
///
/// `body` returns, besides the loop's values, a u32 that is not 0 where the loop ends. Of shape `[]` it ends the loop
/// as a whole: after the first step where it holds, every carry keeps its value. Otherwise its axes are the first axes
/// of every carry, such as `[S, N]` of carries `[S, N]` and `[S, N, F]`, and each of these rows keeps its values after
/// the first step where the condition holds in it; the other rows go on.
///
/// Later steps still run, and what they compute of rows that have ended is dropped, but for the stacked outputs, which
/// are those of the carries that these rows keep. Where nothing is stacked, a device that can ends the loop once the
/// condition holds in all rows that it computes together, with the same results: the CPU in all rows, or in those of a
/// tile where the loop is run row by row; a GPU in each row by itself where the loop is one kernel, and not otherwise.
#[track_caller]
pub fn scan_until(
    len: usize,
    init: &[Tensor],
    xs: &[Tensor],
    body: impl FnOnce(Tensor, &[Tensor], &[Tensor]) -> (Loop, Tensor),
) -> (Vec<Tensor>, Vec<Tensor>) {
    let at = Location::caller();
    let (mut body, done) = (Some(body), Cell::new(Tensor::poison()));
    let mut once = |t, c: &[Tensor], x: &[Tensor]| {
        let Some(body) = body.take() else { return Loop::default() };
        let (step, stop) = body(t, c, x);
        freeze(step, Some(stop), c, &done, at)
    };
    let (mut finals, ys) = scan_at(len, false, init, xs, LoopEnd::Done(&done), &mut once, at);
    finals.truncate(init.len());
    (finals, ys)
}

/// Run `body` once on the carries where `condition`, u32 `[]`, is not 0; otherwise they keep their values.
///
/// A loop of one step that may have ended before it begins. A device that can leaves the body out then:
/// the CPU; a GPU where the condition is a number that depends on the steps of the loops around alone.
/// Others compute the body and drop its results.
#[track_caller]
pub fn run_if(condition: Tensor, init: &[Tensor], body: impl FnOnce(&[Tensor]) -> Vec<Tensor>) -> Vec<Tensor> {
    let at = Location::caller();
    if condition.is_poison() {
        return vec![Tensor::poison(); init.len()];
    }
    if !condition.shape().is_empty() || condition.dtype() != DType::U32 {
        let got = format!("{:?} {}", condition.shape(), condition.dtype());
        shape_error("run_if", "a condition [] u32", got, at);
        return vec![Tensor::poison(); init.len()];
    }
    let (mut body, done) = (Some(body), Cell::new(Tensor::poison()));
    let mut once = |_: Tensor, c: &[Tensor], _: &[Tensor]| {
        let carry = body.take().map_or_else(Vec::new, |body| body(c));
        freeze(Loop { carry, ys: Vec::new() }, None, c, &done, at)
    };
    let left_out = condition.eq(Tensor::constant_u32(0));
    let (mut finals, _) = scan_at(1, false, init, &[], LoopEnd::From(&done, left_out), &mut once, at);
    finals.truncate(init.len());
    finals
}

/// When a loop ends before its last step. The parameter that tells it shows only when the body is traced.
#[derive(Clone, Copy)]
enum LoopEnd<'a> {
    /// The loop does not end early.
    Never,
    /// Once the last carry, 0 at first, is not 0.
    Done(&'a Cell<Tensor>),
    /// As `Done`, where the carry begins as this value.
    From(&'a Cell<Tensor>, Tensor),
}

/// A step that leaves the carries `old` as they are in rows where the loop has ended. One more carry, `done`, tells
/// where it has; without `stop` this is a single number that stays what it was.
fn freeze(mut step: Loop, stop: Option<Tensor>, old: &[Tensor], done: &Cell<Tensor>, at: At) -> Loop {
    let shape = stop.map_or_else(Vec::new, |stop| stop.shape());
    for (i, carry) in old.iter().enumerate().filter(|(_, carry)| !carry.is_poison()) {
        if !carry.shape().starts_with(&shape) {
            let expected = format!("carry {i} to begin with the condition's axes {shape:?}");
            shape_error("scan", expected, format!("{:?}", carry.shape()), at);
        }
    }
    done.set(param(1 + old.len(), shape, DType::U32, at));
    // As many as there are: another number is an error.
    for (new, old) in step.carry.iter_mut().zip(old) {
        *new = rows_of(done.get(), *old).select(*old, *new);
    }
    step.carry.push(stop.map_or(done.get(), |stop| done.get().bit_or(stop.ne(Tensor::constant_u32(0)))));
    step
}

/// A condition of the first axes of `like` with as many axes as that, so that it selects rows of it.
pub fn rows_of(condition: Tensor, like: Tensor) -> Tensor {
    match condition.shape() {
        shape if shape.is_empty() => condition,
        mut shape => {
            shape.resize(like.rank().max(shape.len()), 1);
            condition.reshape(&shape)
        }
    }
}

/// The body of a loop, for a step's number, carries and rows.
type LoopBody<'a> = &'a mut dyn FnMut(Tensor, &[Tensor], &[Tensor]) -> Loop;

/// `body` is called once. It is no type parameter, so that this is compiled once and not for every loop. Of a loop that
/// ends early it also makes the parameter of `until`, a last carry.
fn scan_at(
    len: usize,
    reverse: bool,
    init: &[Tensor],
    xs: &[Tensor],
    until: LoopEnd<'_>,
    body: LoopBody<'_>,
    at: At,
) -> (Vec<Tensor>, Vec<Tensor>) {
    let ends = !matches!(until, LoopEnd::Never);
    let (own, n) = (init.len(), init.len() + usize::from(ends));
    let poison = |ys: usize| (vec![Tensor::poison(); n], vec![Tensor::poison(); ys]);
    if len == 0 {
        shape_error("scan", "at least one step", "0", at);
    }
    for x in xs {
        if !x.is_poison() && x.size(0) != len {
            shape_error("scan", format!("stacked inputs with a leading axis of {len}"), format!("{:?}", x.shape()), at);
        }
    }
    let Some(scope) = graph::with(|g| g.open_scope()) else {
        return poison(0);
    };
    let mut params = vec![param(0, Vec::new(), DType::U32, at)];
    for c in init {
        params.push(param(params.len(), c.shape(), c.dtype(), at));
    }
    for x in xs {
        let row = x.shape().get(1..).unwrap_or_default().to_vec();
        params.push(param(params.len() + n - own, row, x.dtype(), at));
    }
    let step = body(params[0], &params[1..=own], &params[own + 1..]);
    let mut init = init.to_vec();
    if let LoopEnd::Done(done) | LoopEnd::From(done, _) = until {
        params.insert(n, done.get());
        init.push(match until {
            LoopEnd::From(_, first) => first,
            _ => Tensor::constant_u32(0).broadcast_to(&done.get().shape()),
        });
    }
    graph::with(|g| g.close_scope());
    if step.carry.len() != n {
        let got = step.carry.len().saturating_sub(n - own);
        shape_error("scan", format!("{own} carries from the body"), got.to_string(), at);
    }
    for (i, (new, old)) in step.carry.iter().zip(&init).enumerate() {
        if !new.is_poison() && !old.is_poison() && (new.shape(), new.dtype()) != (old.shape(), old.dtype()) {
            let say = |t: &Tensor| format!("{:?} {}", t.shape(), t.dtype());
            shape_error("scan", format!("carry {i} to stay {}", say(old)), say(new), at);
        }
    }
    let ys: Vec<(Vec<usize>, DType)> = step.ys.iter().map(|y| ([&[len], &y.shape()[..]].concat(), y.dtype())).collect();
    let Some(outs) = ids(&step.carry, at).zip(ids(&step.ys, at)).map(|(a, b)| [a, b].concat()) else {
        return poison(ys.len());
    };
    let Some(param_ids) = ids(&params, at) else {
        return poison(ys.len());
    };
    let captures: Vec<Tensor> =
        graph::with(|g| g.captures(&outs, scope)).unwrap_or_default().into_iter().map(Tensor::from_id).collect();
    let src = [&init, xs, &captures[..]].concat();
    let body = Body { scope, params: param_ids, outs };
    let scan = Scan { body, len, reverse, carries: n, xs: xs.len(), until: ends.then(|| n - 1) };
    let node = push(Op::Scan(Arc::new(scan)), &src, Vec::new(), DType::F32, at);
    let finals = init.iter().enumerate().map(|(i, c)| out(node, i, c.shape(), c.dtype(), at)).collect();
    let stacked = ys.into_iter().enumerate().map(|(i, (s, d))| out(node, n + i, s, d, at)).collect();
    (finals, stacked)
}

/// A sub-graph with a native twin.
///
/// All `inputs` and all results have the same leading axes, the rows, and one trailing axis each (of any size). `body`
/// gets tensors of the inputs' shapes and may use no other tensors from outside.
#[track_caller]
pub fn call(
    name: &'static str,
    inputs: &[Tensor],
    native: Arc<dyn NativeCall>,
    body: impl FnOnce(&[Tensor]) -> Vec<Tensor>,
) -> Vec<Tensor> {
    let at = Location::caller();
    let rows = |t: &Tensor| t.shape().split_last().map(|(_, r)| r.to_vec());
    let Some(scope) = graph::with(|g| g.open_scope()) else {
        return Vec::new();
    };
    let params: Vec<Tensor> = inputs.iter().enumerate().map(|(i, t)| param(i, t.shape(), t.dtype(), at)).collect();
    let results = body(&params);
    graph::with(|g| g.close_scope());
    let lead = inputs.first().and_then(rows);
    let poisoned = inputs.iter().chain(&results).any(|t| t.is_poison());
    if !poisoned && (lead.is_none() || inputs.iter().chain(&results).any(|t| rows(t) != lead)) {
        let got: Vec<_> = inputs.iter().chain(&results).map(|t| t.shape()).collect();
        shape_error("call", "operands and results with the same leading axes", format!("{got:?}"), at);
    }
    let (Some(outs), Some(param_ids)) = (ids(&results, at), ids(&params, at)) else {
        return vec![Tensor::poison(); results.len()];
    };
    let captured = |g: &mut graph::Graph| g.captures(&outs, scope).iter().any(|id| !g.is_constant(*id));
    if graph::with(captured).unwrap_or(false) {
        fail(Error::Scope {
            op: name,
            problem: "the body of a call may only use its parameters and constants".to_owned(),
            at: at.to_string(),
        });
    }
    let body = Body { scope, params: param_ids, outs };
    let node = push(Op::Call(Arc::new(Call { name, body, native })), inputs, Vec::new(), DType::F32, at);
    results.iter().enumerate().map(|(i, r)| out(node, i, r.shape(), r.dtype(), at)).collect()
}

fn param(i: usize, shape: Vec<usize>, dtype: DType, at: At) -> Tensor {
    push(Op::Param(i as u32), &[], shape, dtype, at)
}

pub(crate) fn out(node: Tensor, i: usize, shape: Vec<usize>, dtype: DType, at: At) -> Tensor {
    push(Op::Out(i as u32), &[node], shape, dtype, at)
}

fn ids(tensors: &[Tensor], at: At) -> Option<Vec<NodeId>> {
    let found: crate::Result<Vec<NodeId>> = tensors.iter().map(|t| t.node("body", at)).collect();
    match found {
        Ok(ids) if !tensors.iter().any(|t| t.is_poison()) => Some(ids),
        Ok(_) => None,
        Err(e) => {
            if !tensors.iter().any(|t| t.is_poison()) {
                fail(e);
            }
            None
        }
    }
}
