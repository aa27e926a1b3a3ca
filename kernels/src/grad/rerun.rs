//! A body traced again, with other nodes in place of its parameters.

use std::panic::Location;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::tensor::graph::{self, Graph};
use crate::tensor::op::{Body, Scan};
use crate::tensor::{DType, NodeId, Op, Tensor, push};

/// Nodes of a body that `outs` depend on, in topological order; not the insides of loops in it.
#[inline(never)]
pub(super) fn level(g: &Graph, outs: &[NodeId], scope: u32) -> Vec<NodeId> {
    let mut seen: FxHashSet<NodeId> = FxHashSet::default();
    let mut stack = outs.to_vec();
    while let Some(id) = stack.pop() {
        let node = &g.nodes[id as usize];
        if g.encloses(scope, node.scope) && seen.insert(id) {
            stack.extend(&node.src);
        }
    }
    let mut order: Vec<NodeId> = seen.into_iter().collect();
    order.sort_unstable();
    order
}

/// Copies the nodes of one scope. What lies outside of it is used as it is.
pub(super) struct Rerun {
    from: u32,
    map: FxHashMap<NodeId, Tensor>,
}

impl Rerun {
    /// Copies nodes of the scope `from`, into the scopes that the replaced nodes imply.
    pub(super) fn new(from: u32) -> Rerun {
        Rerun { from, map: FxHashMap::default() }
    }

    /// Use `new` where a node of the body is `old`.
    pub(super) fn replace(&mut self, old: NodeId, new: NodeId) {
        self.map.insert(old, Tensor::from_id(new));
    }

    /// Copies of `outs` and of all that they depend on. Nodes are copied as they are, without the simplifications of
    /// the tensor methods: a copy depends on exactly the copies of what the original depends on.
    pub(super) fn copy(&mut self, outs: &[NodeId]) -> Vec<Tensor> {
        let from = self.from;
        let order = graph::with(|g| level(g, outs, from)).unwrap_or_default();
        let present: FxHashSet<NodeId> = order.iter().copied().collect();
        for id in order {
            self.copy_node(id, &present);
        }
        outs.iter().map(|o| self.get(*o)).collect()
    }

    fn get(&self, id: NodeId) -> Tensor {
        self.map.get(&id).copied().unwrap_or_else(|| Tensor::from_id(id))
    }

    fn copy_node(&mut self, id: NodeId, present: &FxHashSet<NodeId>) {
        if self.map.contains_key(&id) {
            return;
        }
        let found = graph::with(|g| (g.nodes[id as usize].clone(), g.stacked.get(&id).copied()));
        let Some((node, stacked)) = found else {
            return;
        };
        let src: Vec<Tensor> = node.src.iter().map(|s| self.get(*s)).collect();
        let at = Location::caller();
        let blame = graph::with(|g| g.blame.replace(node.origin)).flatten();
        let copy = match &node.op {
            Op::Scan(scan) => {
                // Of a loop and the same loop with stacked carries, one copy is enough.
                let twin = stacked.filter(|s| *s != id && present.contains(s));
                let source = twin.unwrap_or(id);
                let scan = match twin.and_then(scan_of) {
                    Some(twin) => twin,
                    None => Arc::clone(scan),
                };
                let copy = self.copy_scan(&scan, &src);
                if !copy.is_poison() && (twin.is_some() || stacked == Some(id)) {
                    graph::with(|g| g.stacked.insert(copy.raw(), copy.raw()));
                }
                self.map.insert(source, copy);
                copy
            }
            // A call's body reads nothing but its parameters: it can be shared.
            Op::Call(call) => {
                let copy = push(node.op.clone(), &src, node.shape.clone(), node.dtype, at);
                for (i, result) in call.body.outs.iter().enumerate() {
                    let result = Tensor::from_id(*result);
                    push(Op::Out(i as u32), &[copy], result.shape(), result.dtype(), at);
                }
                copy
            }
            op => push(op.clone(), &src, node.shape.clone(), node.dtype, at),
        };
        graph::with(|g| g.blame = blame);
        self.map.insert(id, copy);
    }

    fn copy_scan(&self, scan: &Scan, src: &[Tensor]) -> Tensor {
        let arguments = &src[..scan.carries + scan.xs];
        let map = self.map.clone();
        emit(scan, arguments, |params| {
            let mut inner = Rerun { from: scan.body.scope, map };
            for (old, new) in scan.body.params.iter().zip(params) {
                inner.map.insert(*old, *new);
            }
            inner.copy(&scan.body.outs)
        })
    }
}

/// The loop at a node.
pub(super) fn scan_of(id: NodeId) -> Option<Arc<Scan>> {
    graph::with(|g| match &g.nodes.get(id as usize)?.op {
        Op::Scan(scan) => Some(Arc::clone(scan)),
        _ => None,
    })
    .flatten()
}

/// A loop like `like` in length, direction and numbers of carries and stacked inputs, with a body of its own.
///
/// `arguments` are the initial carries and the stacked inputs; `body` gets the parameters and returns the results.
pub(super) fn emit(like: &Scan, arguments: &[Tensor], body: impl FnOnce(&[Tensor]) -> Vec<Tensor>) -> Tensor {
    let Some(scope) = graph::with(|g| g.open_scope()) else {
        return Tensor::poison();
    };
    let mut params = vec![param(0, Vec::new(), DType::U32)];
    for (i, t) in arguments.iter().enumerate() {
        let shape = t.shape();
        let shape = if i < like.carries { shape } else { shape.get(1..).unwrap_or_default().to_vec() };
        params.push(param(i + 1, shape, t.dtype()));
    }
    let outs = body(&params);
    graph::with(|g| g.close_scope());
    if params.iter().chain(&outs).any(|t| t.is_poison()) {
        return Tensor::poison();
    }
    let outs: Vec<NodeId> = outs.iter().map(|t| t.raw()).collect();
    let captures = graph::with(|g| g.captures(&outs, scope)).unwrap_or_default();
    let src: Vec<Tensor> = arguments.iter().copied().chain(captures.into_iter().map(Tensor::from_id)).collect();
    let body = Body { scope, params: params.iter().map(|t| t.raw()).collect(), outs };
    add(Scan { body, ..like.clone() }, &src)
}

/// Add a loop and all of its results: devices expect that each has a node.
pub(super) fn add(scan: Scan, src: &[Tensor]) -> Tensor {
    let results = scan.body.outs.len();
    let node = push(Op::Scan(Arc::new(scan)), src, Vec::new(), DType::F32, Location::caller());
    (0..results).for_each(|i| {
        out(node, i);
    });
    node
}

/// A parameter of the body that is being traced.
pub(super) fn param(i: usize, shape: Vec<usize>, dtype: DType) -> Tensor {
    push(Op::Param(i as u32), &[], shape, dtype, Location::caller())
}

/// Result number `i` of a loop.
pub(super) fn out(scan: Tensor, i: usize) -> Tensor {
    let Some(s) = scan_of(scan.raw()) else {
        return Tensor::poison();
    };
    let inner = Tensor::from_id(s.body.outs[i]);
    let mut shape = inner.shape();
    if i >= s.carries {
        shape.insert(0, s.len);
    }
    push(Op::Out(i as u32), &[scan], shape, inner.dtype(), Location::caller())
}
