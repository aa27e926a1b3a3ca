//! The derivative of a loop is a loop in the other direction.
//!
//! Forward, the loop saves its carries and nothing else. Backward, each step runs the body again on the saved carries
//! and takes its vector-Jacobian product with the sweep itself; the cotangents of the carries are the new loop's
//! carries, those of stacked inputs are stacked outputs. Loop invariants (weights) get a cotangent in every step, which
//! is never a carry: a carried sum would be saved at second order, once per step. It leaves the loop
//! * as a product, where every contribution is a matrix product: the operands are stacked and multiplied once, over
//!   steps and rows together. The loop is left with operations on rows only;
//! * elsewhere stacked, and is summed outside.

use rustc_hash::FxHashSet;

use super::apart::apart;
use super::options::{Invariants, SweepOptions};
use super::rerun::{Rerun, add, emit, level, out, param, scan_of};
use super::sweep::{Below, sweep};
use super::vjp::passes;
use crate::tensor::graph::{self, Graph};
use crate::tensor::op::{Body, Scan};
use crate::tensor::{Binary, DType, Node, NodeId, Op, Tensor, rows_of};

/// A copy of the loop `id` that also returns the carries that each step starts from: its last results, as many as
/// carries.
///
/// All orders of derivative share it, and so should a plan: the results of `id` are the first results of this one.
fn stacked(id: NodeId) -> Option<NodeId> {
    if let Some(known) = graph::with(|g| g.stacked.get(&id).copied()).flatten() {
        return Some(known);
    }
    let scan = scan_of(id)?;
    let src = operands(id)?;
    let node = emit(&scan, &src[..scan.carries + scan.xs], |params| {
        let mut rerun = Rerun::new(scan.body.scope);
        for (old, new) in scan.body.params.iter().zip(params) {
            rerun.replace(*old, new.raw());
        }
        let mut outs = rerun.copy(&scan.body.outs);
        outs.extend(&params[1..=scan.carries]);
        outs
    });
    if node.is_poison() {
        return None;
    }
    graph::with(|g| {
        g.stacked.insert(id, node.raw());
        g.stacked.insert(node.raw(), node.raw());
    });
    Some(node.raw())
}

fn operands(id: NodeId) -> Option<Vec<Tensor>> {
    graph::with(|g| g.nodes[id as usize].src.clone()).map(|s| s.into_iter().map(Tensor::from_id).collect())
}

/// Cotangents of the operands of the loop at `id`, from those of its results (by result number).
pub(super) fn vjp(
    how: &SweepOptions,
    id: NodeId,
    cotangents: &[(usize, Tensor)],
    active: &dyn Fn(NodeId) -> bool,
) -> Vec<(NodeId, Tensor)> {
    backward(how, id, cotangents, active).unwrap_or_default()
}

fn backward(
    how: &SweepOptions,
    id: NodeId,
    cotangents: &[(usize, Tensor)],
    active: &dyn Fn(NodeId) -> bool,
) -> Option<Vec<(NodeId, Tensor)>> {
    let node = stacked(id)?;
    let scan = scan_of(node)?;
    let src = operands(node)?;
    let (n, nx, body) = (scan.carries, scan.xs, &scan.body);
    let mut given: Vec<Option<Tensor>> = vec![None; body.outs.len()];
    for (i, g) in cotangents {
        given[*i] = Some(*g);
    }
    let flow = graph::with(|g| Dependences::new(g, &scan, &src, &given, active))?;
    let carried: Vec<usize> = (0..n).filter(|i| flow.carries[*i]).collect();
    let read: Vec<usize> = (n..body.outs.len()).filter(|i| flow.outputs[*i]).collect();

    let mut step = TracedBody::open(&scan)?;
    let incoming: Vec<Tensor> = carried.iter().map(|i| step.carry(src[*i])).collect();
    let saved_at = body.outs.len() - n;
    let saved: Vec<Tensor> = (0..n).map(|i| step.row(out(Tensor::from_id(node), saved_at + i))).collect();
    let rows: Vec<Tensor> = (0..nx).map(|j| step.row(src[n + j])).collect();
    let read_rows: Vec<Tensor> = read.iter().filter_map(|i| given[*i]).map(|g| step.row(g)).collect();

    // Steps after the end of an `until` loop pass cotangents through unchanged, wherever they are linearised. Where the
    // loop ended, the body may be singular (a residual of zero), and zero times infinity is not zero: so it is
    // linearised where it started. Only outputs other than the carries themselves depend on the place, and rows that go
    // on while they see others that have ended.
    let unseen = |done: usize| graph::with(|g| apart(g, body, n, done)) == Some(true);
    let carries_only = read.iter().all(|i| body.params[1..=n].contains(&body.outs[*i]));
    let frozen = scan.until.filter(|done| carries_only && unseen(*done));
    let at: Vec<Tensor> = (0..n)
        .map(|i| match frozen {
            Some(done) if i != done && saved[i].dtype() == DType::F32 => {
                rows_of(saved[done], saved[i]).select(src[i].stop_gradient(), saved[i])
            }
            _ => saved[i],
        })
        .collect();
    let mut rerun = Rerun::new(body.scope);
    for (old, new) in body.params.iter().zip([step.index].iter().chain(&at).chain(&rows)) {
        rerun.replace(*old, new.raw());
    }
    let wanted: Vec<NodeId> = carried.iter().chain(&read).map(|i| body.outs[*i]).collect();
    let results = rerun.copy(&wanted);
    let seeds: Vec<(Tensor, Tensor)> = results.into_iter().zip(incoming.iter().chain(&read_rows).copied()).collect();

    let inputs: Vec<usize> = (0..nx).filter(|j| active(src[n + j].raw())).collect();
    let invariants: Vec<Tensor> = src[n + nx..].iter().copied().filter(|t| active(t.raw())).collect();
    let wrt: Vec<Tensor> = carried
        .iter()
        .map(|i| at[*i])
        .chain(inputs.iter().map(|j| rows[*j]))
        .chain(invariants.iter().copied())
        .collect();
    let parts = sweep(how, &seeds, &wrt, Below::Cut);
    let (of_carries, rest) = parts.split_at(carried.len());
    let (of_inputs, of_invariants) = rest.split_at(inputs.len());
    let outgoing: Vec<Tensor> =
        of_carries.iter().zip(&incoming).map(|(g, c)| g.unwrap_or_else(|| Tensor::zeros(&c.shape()))).collect();
    let of_inputs: Vec<Option<Stack>> = of_inputs.iter().map(|g| g.map(|g| step.stack(g))).collect();
    let of_invariants: Vec<Option<Total>> =
        of_invariants.iter().map(|g| g.map(|g| step.total(how.invariants, g))).collect();

    let initial: Vec<Tensor> =
        carried.iter().map(|i| given[*i].unwrap_or_else(|| Tensor::zeros(&src[*i].shape()))).collect();
    let done = step.close(&scan, &initial, &outgoing)?;
    let mut result = Vec::new();
    for (k, i) in carried.iter().enumerate() {
        result.push((src[*i].raw(), out(done.node, k)));
    }
    for (j, stack) in inputs.iter().zip(&of_inputs) {
        if let Some(stack) = stack {
            result.push((src[n + j].raw(), done.stacked(stack)));
        }
    }
    for (t, total) in invariants.iter().zip(&of_invariants) {
        if let Some(total) = total {
            result.push((t.raw(), done.total(total)));
        }
    }
    Some(result)
}

/// The dependences between carries and results of a loop.
struct Dependences {
    /// Carries that have a cotangent: they depend on what is differentiated, and something asked for depends on them.
    carries: Vec<bool>,
    /// Results of the body with a given cotangent that depend on what is differentiated.
    outputs: Vec<bool>,
}

impl Dependences {
    fn new(
        g: &Graph,
        scan: &Scan,
        src: &[Tensor],
        given: &[Option<Tensor>],
        active: &dyn Fn(NodeId) -> bool,
    ) -> Dependences {
        let (n, body) = (scan.carries, &scan.body);
        let nodes = level(g, &body.outs, body.scope);
        let captures: FxHashSet<NodeId> = src[n + scan.xs..].iter().map(|t| t.raw()).filter(|id| active(*id)).collect();
        let mut differentiated: Vec<bool> = src[..n + scan.xs].iter().map(|t| active(t.raw())).collect();
        let mut outputs;
        loop {
            let mut from = captures.clone();
            from.extend((0..differentiated.len()).filter(|i| differentiated[*i]).map(|i| body.params[1 + i]));
            let on = dependent(g, &nodes, from);
            outputs = body.outs.iter().map(|o| on.contains(o)).collect::<Vec<bool>>();
            let grown: Vec<usize> = (0..n).filter(|i| outputs[*i] && !differentiated[*i]).collect();
            if grown.is_empty() {
                break;
            }
            grown.into_iter().for_each(|i| differentiated[i] = true);
        }
        let reached: Vec<Vec<bool>> = (0..n)
            .map(|i| {
                let on = dependent(g, &nodes, FxHashSet::from_iter([body.params[1 + i]]));
                body.outs.iter().map(|o| on.contains(o)).collect()
            })
            .collect();
        let mut asked: Vec<bool> = given.iter().map(|g| g.is_some()).collect();
        while let Some(i) = (0..n).find(|i| !asked[*i] && (0..asked.len()).any(|j| asked[j] && reached[*i][j])) {
            asked[i] = true;
        }
        let carries = (0..n).map(|i| differentiated[i] && asked[i]).collect();
        let outputs = (0..outputs.len()).map(|i| outputs[i] && given[i].is_some()).collect();
        Dependences { carries, outputs }
    }
}

/// `from` and those of `nodes` (in order) that cotangents can come from to it.
fn dependent(g: &Graph, nodes: &[NodeId], from: FxHashSet<NodeId>) -> FxHashSet<NodeId> {
    let mut on = from;
    for &id in nodes {
        let node = &g.nodes[id as usize];
        if node.src.iter().any(|s| on.contains(s) && passes(node, g.nodes[*s as usize].dtype)) {
            on.insert(id);
        }
    }
    on
}

/// A value of each step, seen from outside of the loop.
#[derive(Clone, Copy, Debug)]
enum Stack {
    /// One value for all steps.
    Same(Tensor),
    /// A row of something that the loop reads.
    Input(usize),
    /// An output of the loop.
    Output(usize),
}

/// The sum over the steps of a value.
#[derive(Debug)]
enum Total {
    Sum(Stack),
    Terms(Vec<Term>),
}

#[derive(Debug)]
enum Term {
    Plain(Stack),
    Product { a: Stack, b: Stack, ta: bool, tb: bool },
}

/// The body of a loop that is being traced.
struct TracedBody {
    scope: u32,
    index: Tensor,
    params: Vec<Tensor>,
    /// Stacked inputs and their rows.
    inputs: Vec<(Tensor, Tensor)>,
    outputs: Vec<Tensor>,
    reverse: bool,
}

impl TracedBody {
    fn open(of: &Scan) -> Option<TracedBody> {
        let scope = graph::with(|g| g.open_scope())?;
        let index = param(0, Vec::new(), DType::U32);
        Some(TracedBody {
            scope,
            index,
            params: vec![index],
            inputs: Vec::new(),
            outputs: Vec::new(),
            reverse: !of.reverse,
        })
    }

    fn carry(&mut self, like: Tensor) -> Tensor {
        let p = param(self.params.len(), like.shape(), like.dtype());
        self.params.push(p);
        p
    }

    fn row(&mut self, stacked: Tensor) -> Tensor {
        let shape = stacked.shape().get(1..).unwrap_or_default().to_vec();
        // The same row in all steps, such as the cotangent of a mean, need not be read from memory.
        let repeated = graph::with(|g| match g.nodes.get(stacked.raw() as usize) {
            Some(Node { op: Op::Broadcast, src, .. }) if g.nodes[src[0] as usize].shape[0] == 1 => Some(src[0]),
            _ => None,
        });
        if let Some(src) = repeated.flatten() {
            let src = Tensor::from_id(src);
            return src.reshape(src.shape().get(1..).unwrap_or_default()).broadcast_to(&shape);
        }
        let p = param(self.params.len(), shape, stacked.dtype());
        self.params.push(p);
        self.inputs.push((stacked, p));
        p
    }

    fn is_inner(&self, t: Tensor) -> bool {
        graph::with(|g| g.nodes.get(t.raw() as usize).is_some_and(|n| g.encloses(self.scope, n.scope))) == Some(true)
    }

    fn stack(&mut self, t: Tensor) -> Stack {
        if !self.is_inner(t) {
            return Stack::Same(t);
        }
        if let Some(i) = self.inputs.iter().position(|(_, row)| *row == t) {
            return Stack::Input(i);
        }
        Stack::Output(self.outputs.iter().position(|o| *o == t).unwrap_or_else(|| {
            self.outputs.push(t);
            self.outputs.len() - 1
        }))
    }

    /// How the sum over the steps of `t` is computed outside.
    fn total(&mut self, how: Invariants, t: Tensor) -> Total {
        let mut leaves = Vec::new();
        let mut stack = vec![t];
        while let Some(t) = stack.pop() {
            let node = graph::with(|g| g.nodes.get(t.raw() as usize).cloned()).flatten();
            match node {
                Some(node) if self.is_inner(t) => match node.op {
                    Op::Binary(Binary::Add) => stack.extend(node.src.iter().rev().map(|s| Tensor::from_id(*s))),
                    Op::MatMul { ta, tb } => leaves.push((t, Some((node.src, ta, tb)))),
                    _ => leaves.push((t, None)),
                },
                _ => leaves.push((t, None)),
            }
        }
        if how == Invariants::Sums || leaves.iter().any(|(t, product)| product.is_none() && self.is_inner(*t)) {
            return Total::Sum(self.stack(t));
        }
        let term = |(t, product)| match product {
            None => Term::Plain(Stack::Same(t)),
            Some((src, ta, tb)) => {
                let src: Vec<NodeId> = src;
                let (a, b) = (self.stack(Tensor::from_id(src[0])), self.stack(Tensor::from_id(src[1])));
                Term::Product { a, b, ta, tb }
            }
        };
        Total::Terms(leaves.into_iter().map(term).collect())
    }

    /// End the body and make the loop, without the inputs that turned out not to be read.
    fn close(self, like: &Scan, initial: &[Tensor], carries: &[Tensor]) -> Option<Done> {
        graph::with(|g| g.close_scope());
        let results: Vec<Tensor> = carries.iter().chain(&self.outputs).copied().collect();
        let stacked: Vec<Tensor> = self.inputs.iter().map(|i| i.0).collect();
        if results.iter().chain(&self.params).any(|t| t.is_poison()) {
            return None;
        }
        let done = |node| Done { node, len: like.len, carries: carries.len(), stacked };
        if results.is_empty() {
            return Some(done(Tensor::poison()));
        }
        let outs: Vec<NodeId> = results.iter().map(|t| t.raw()).collect();
        let used: FxHashSet<NodeId> =
            graph::with(|g| g.reachable(&outs, self.scope)).unwrap_or_default().into_iter().collect();
        let inputs: Vec<(Tensor, Tensor)> = self.inputs.into_iter().filter(|i| used.contains(&i.1.raw())).collect();
        let arguments: Vec<Tensor> = initial.iter().copied().chain(inputs.iter().map(|i| i.0)).collect();
        let reads_all = inputs.len() + carries.len() + 1 == self.params.len();
        let like = Scan {
            body: Body { scope: self.scope, params: self.params.iter().map(|p| p.raw()).collect(), outs },
            len: like.len,
            reverse: self.reverse,
            carries: carries.len(),
            xs: inputs.len(),
            until: None,
        };
        let node = if reads_all {
            let captures = graph::with(|g| g.captures(&like.body.outs, self.scope))?;
            let src: Vec<Tensor> = arguments.into_iter().chain(captures.into_iter().map(Tensor::from_id)).collect();
            add(like, &src)
        } else {
            let mut rerun = Rerun::new(self.scope);
            let kept = self.params[..=carries.len()].iter().copied().chain(inputs.iter().map(|i| i.1));
            let kept: Vec<Tensor> = kept.collect();
            emit(&like, &arguments, |params| {
                for (old, new) in kept.iter().zip(params) {
                    rerun.replace(old.raw(), new.raw());
                }
                rerun.copy(&like.body.outs)
            })
        };
        (!node.is_poison()).then(|| done(node))
    }
}

/// A finished loop.
struct Done {
    node: Tensor,
    len: usize,
    carries: usize,
    stacked: Vec<Tensor>,
}

impl Done {
    fn stacked(&self, stack: &Stack) -> Tensor {
        match stack {
            Stack::Same(t) => t.unsqueeze(0).broadcast_to(&[&[self.len], &t.shape()[..]].concat()),
            Stack::Input(i) => self.stacked[*i],
            Stack::Output(i) => out(self.node, self.carries + i),
        }
    }

    fn sum(&self, stack: &Stack) -> Tensor {
        match stack {
            Stack::Same(t) => *t * self.len as f64,
            _ => self.stacked(stack).sum(&[0]),
        }
    }

    fn total(&self, total: &Total) -> Tensor {
        let terms = match total {
            Total::Sum(stack) => return self.sum(stack),
            Total::Terms(terms) => terms,
        };
        let mut sum = None;
        for term in terms {
            let value = match term {
                Term::Plain(stack) => self.sum(stack),
                Term::Product { a, b, ta, tb } => self.product(a, b, *ta, *tb),
            };
            sum = Some(sum.map_or(value, |s: Tensor| s + value));
        }
        sum.unwrap_or_else(Tensor::poison)
    }

    /// Σₜ op(aₜ) op(bₜ): one product whose inner axis is steps times the inner axis.
    fn product(&self, a: &Stack, b: &Stack, ta: bool, tb: bool) -> Tensor {
        if matches!(a, Stack::Same(_)) || matches!(b, Stack::Same(_)) {
            let one = |s: &Stack| match s {
                Stack::Same(t) => *t,
                _ => self.sum(s),
            };
            return one(a).matmul_with(one(b), ta, tb);
        }
        let a = inner_first(self.stacked(a), !ta);
        let b = inner_first(self.stacked(b), tb);
        a.matmul_with(b, true, false)
    }
}

/// `[T, L.., q, p]` (or `[T, L.., p, q]` if `transposed`) → `[L.., T·q, p]`.
fn inner_first(t: Tensor, transposed: bool) -> Tensor {
    let rank = t.rank();
    let mut order: Vec<usize> = (1..rank - 2).collect();
    order.extend([0, rank - 2, rank - 1]);
    if transposed {
        order.swap(rank - 2, rank - 1);
    }
    let t = t.permute(&order);
    let shape = t.shape();
    let merged = [&shape[..rank - 3], &[shape[rank - 3] * shape[rank - 2], shape[rank - 1]]].concat();
    t.reshape(&merged)
}
