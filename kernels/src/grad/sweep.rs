//! The reverse sweep: cotangents from the last node to the first, over the nodes that depend on what is differentiated.

use rustc_hash::{FxHashMap, FxHashSet};

use super::options::SweepOptions;
use super::rerun::Rerun;
use super::{scan, vjp};
use crate::math::order::by_key;
use crate::tensor::graph::{self, Graph, Origin};
use crate::tensor::{Node, NodeId, Op, Tensor};

/// How far down a sweep goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Below {
    /// Through the nodes that are differentiated, to others that they depend on.
    Through,
    /// Down to them and no further: they count as independent of each other.
    Cut,
}

/// Cotangents of `wrt`, given those of some results. `None` where there is no dependence.
pub(super) fn sweep(
    how: &SweepOptions,
    seeds: &[(Tensor, Tensor)],
    wrt: &[Tensor],
    below: Below,
) -> Vec<Option<Tensor>> {
    let targets: FxHashSet<NodeId> = wrt.iter().map(|t| t.raw()).collect();
    let roots: Vec<NodeId> = seeds.iter().map(|(t, _)| t.raw()).collect();
    let Some(active) = graph::with(|g| Active::new(g, &roots, &targets, below)) else {
        return vec![None; wrt.len()];
    };
    let mut cotangents = Cotangents::default();
    for (t, g) in seeds {
        if active.on.contains(&t.raw()) {
            cotangents.add(t.raw(), *g);
        }
    }
    let blame = graph::with(|g| g.blame).flatten();
    for &id in active.order.iter().rev() {
        if below == Below::Cut && targets.contains(&id) {
            continue;
        }
        let Some(node) = graph::with(|g| g.nodes[id as usize].clone()) else {
            continue;
        };
        graph::with(|g| g.blame = Some(Origin { derivative: true, ..node.origin }));
        let contributions = match &node.op {
            Op::Out(i) => {
                if let Some(g) = cotangents.get(id) {
                    cotangents.add_out(node.src[0], *i as usize, g);
                }
                continue;
            }
            Op::Scan(_) => {
                let Some(outs) = cotangents.outs.remove(&id) else {
                    continue;
                };
                if let Some(base) = active.base.get(&id) {
                    for (i, g) in outs {
                        cotangents.add_out(*base, i, g);
                    }
                    continue;
                }
                scan::vjp(how, id, &outs, &|s| active.on.contains(&s))
            }
            Op::Call(call) => {
                let Some(outs) = cotangents.outs.remove(&id) else {
                    continue;
                };
                call_vjp(how, call, &node, &outs, &active)
            }
            _ => {
                let Some(g) = cotangents.get(id) else {
                    continue;
                };
                let needs: Vec<bool> = node.src.iter().map(|s| active.on.contains(s)).collect();
                let parts = vjp::vjp(how, id, &node, g, &needs);
                node.src.iter().zip(parts).filter_map(|(s, g)| Some((*s, g?))).collect()
            }
        };
        for (s, g) in contributions {
            if active.on.contains(&s) {
                cotangents.add(s, g);
            }
        }
    }
    let found = wrt.iter().map(|t| cotangents.get(t.raw())).collect();
    graph::with(|g| g.blame = blame);
    found
}

#[derive(Default)]
struct Cotangents {
    /// Contributions to the cotangent of a node.
    of: FxHashMap<NodeId, Vec<Tensor>>,
    /// Cotangents of the results of loops and calls, by result number.
    outs: FxHashMap<NodeId, Vec<(usize, Tensor)>>,
}

impl Cotangents {
    fn add(&mut self, id: NodeId, g: Tensor) {
        self.of.entry(id).or_default().push(g);
    }

    /// The sum of the contributions.
    fn get(&mut self, id: NodeId) -> Option<Tensor> {
        let parts = self.of.get_mut(&id)?;
        if parts.len() > 1 {
            *parts = join_slices(std::mem::take(parts)).into_iter().reduce(|a, b| a + b).into_iter().collect();
        }
        parts.first().copied()
    }

    fn add_out(&mut self, node: NodeId, i: usize, g: Tensor) {
        let outs = self.outs.entry(node).or_default();
        match outs.iter_mut().find(|(j, _)| *j == i) {
            Some((_, sum)) => *sum = *sum + g,
            None => outs.push((i, g)),
        }
    }
}

/// Cotangents of slices of one tensor as one concatenation, instead of a sum of as many padded tensors: parameters are
/// slices of one vector.
fn join_slices(parts: Vec<Tensor>) -> Vec<Tensor> {
    let padded = |t: &Tensor| {
        graph::with(|g| match g.nodes.get(t.raw() as usize)? {
            Node { op: Op::Pad { axis, lo, .. }, src, .. } => Some((*axis, *lo, src[0])),
            _ => None,
        })
        .flatten()
    };
    let Some(common) = parts.iter().find_map(padded).map(|p| p.0) else {
        return parts;
    };
    let mut slices: Vec<(usize, usize, Tensor)> = Vec::new();
    let mut rest = Vec::new();
    for t in &parts {
        if let Some((axis, lo, inner)) = padded(t) {
            let inner = Tensor::from_id(inner);
            let hi = lo + inner.size(axis);
            if axis == common && slices.iter().all(|(l, h, _)| hi <= *l || *h <= lo) {
                slices.push((lo, hi, inner));
                continue;
            }
        }
        rest.push(*t);
    }
    if slices.len() < 2 {
        return parts;
    }
    let slices = by_key(slices, &|s| s.0 as u64);
    let shape = parts[0].shape();
    let gap = |n: usize| {
        let mut shape = shape.clone();
        shape[common] = n;
        Tensor::zeros(&shape)
    };
    let mut pieces = Vec::new();
    let mut end = 0;
    for (lo, hi, inner) in slices {
        if lo > end {
            pieces.push(gap(lo - end));
        }
        pieces.push(inner);
        end = hi;
    }
    if end < shape[common] {
        pieces.push(gap(shape[common] - end));
    }
    rest.push(Tensor::concat(&pieces, common));
    rest
}

/// The nodes between seeds and targets.
struct Active {
    /// The nodes, in topological order.
    order: Vec<NodeId>,
    on: FxHashSet<NodeId>,
    /// The loop from which another one was made to stack its carries, by that other one. The results of one are the
    /// first results of the other, so both get one common derivative.
    base: FxHashMap<NodeId, NodeId>,
}

impl Active {
    fn new(g: &Graph, roots: &[NodeId], targets: &FxHashSet<NodeId>, below: Below) -> Active {
        let base: FxHashMap<NodeId, NodeId> = g.stacked.iter().filter(|(a, b)| a != b).map(|(a, b)| (*b, *a)).collect();
        let order = ancestors(g, roots, &base, |id| below == Below::Cut && targets.contains(&id));
        let mut on: FxHashSet<NodeId> = FxHashSet::default();
        for &id in &order {
            let node = &g.nodes[id as usize];
            let depends = |s: &NodeId| on.contains(s) && vjp::passes(node, g.nodes[*s as usize].dtype);
            if targets.contains(&id) || node.src.iter().any(depends) {
                on.insert(id);
            }
        }
        let order = order.into_iter().filter(|id| on.contains(id)).collect();
        Active { order, on, base }
    }
}

/// `roots` and what they depend on, in topological order, but not below the nodes where `stop` holds.
fn ancestors(
    g: &Graph,
    roots: &[NodeId],
    base: &FxHashMap<NodeId, NodeId>,
    stop: impl Fn(NodeId) -> bool,
) -> Vec<NodeId> {
    let mut seen: FxHashSet<NodeId> = FxHashSet::default();
    let mut stack = roots.to_vec();
    while let Some(id) = stack.pop() {
        if !seen.insert(id) || stop(id) {
            continue;
        }
        stack.extend(&g.nodes[id as usize].src);
        stack.extend(base.get(&id));
    }
    let mut order: Vec<NodeId> = seen.into_iter().collect();
    order.sort_unstable();
    order
}

/// Tells whether `root` depends, by a way around `via`, on a node where `found` holds.
pub(super) fn uses(g: &Graph, root: NodeId, via: NodeId, found: impl Fn(NodeId, &Node) -> bool) -> bool {
    let order = ancestors(g, &[root], &FxHashMap::default(), |id| id == via);
    order.into_iter().any(|id| id != via && found(id, &g.nodes[id as usize]))
}

/// A call is differentiated through its sub-graph, traced again on the actual operands.
fn call_vjp(
    how: &SweepOptions,
    call: &crate::tensor::op::Call,
    node: &Node,
    outs: &[(usize, Tensor)],
    active: &Active,
) -> Vec<(NodeId, Tensor)> {
    let mut rerun = Rerun::new(call.body.scope);
    for (param, s) in call.body.params.iter().zip(&node.src) {
        rerun.replace(*param, *s);
    }
    let wanted: Vec<NodeId> = outs.iter().map(|(i, _)| call.body.outs[*i]).collect();
    let results = rerun.copy(&wanted);
    let seeds: Vec<(Tensor, Tensor)> = results.into_iter().zip(outs.iter().map(|(_, g)| *g)).collect();
    let mut operands: Vec<NodeId> = node.src.iter().copied().filter(|s| active.on.contains(s)).collect();
    operands.sort_unstable();
    operands.dedup();
    let wrt: Vec<Tensor> = operands.iter().map(|s| Tensor::from_id(*s)).collect();
    let parts = sweep(how, &seeds, &wrt, Below::Cut);
    operands.into_iter().zip(parts).filter_map(|(s, g)| Some((s, g?))).collect()
}
