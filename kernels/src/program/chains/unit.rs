//! The nodes of each scope one by one.

use rustc_hash::FxHashMap;

use crate::math::order::by_key;
use crate::program::views::{is_leaf, is_view};
use crate::tensor::graph::ROOT;
use crate::tensor::op::Body;
use crate::tensor::{Graph, NodeId, Op};

/// A node that takes work, and its results if it is a loop or a call.
#[derive(Clone, Debug)]
pub struct Unit {
    /// The node, then its results.
    pub nodes: Vec<NodeId>,
    /// The device has a kernel for all of it, so that it joins no chain.
    pub alone: bool,
}

/// The units of a program and of the bodies of its loops.
#[derive(Debug)]
pub struct Units {
    scopes: FxHashMap<u32, Vec<Unit>>,
    /// True where a call loops, such as the step of a body: a row of it takes as long as thousands of products, so that
    /// lanes must not be left unused.
    pub calls_loop: bool,
}

impl Units {
    /// The units that `outs` need, in the order of the trace: operands come first.
    ///
    /// A loop has all of its results, because a carry is kept even if only the loop reads it. A call has those that
    /// are needed.
    #[inline(never)]
    pub fn new(graph: &Graph, outs: &[NodeId]) -> Units {
        let needed = graph.reachable(outs, ROOT);
        let mut results: FxHashMap<NodeId, Vec<NodeId>> = FxHashMap::default();
        let mut is_needed = vec![false; graph.nodes.len()];
        needed.iter().for_each(|id| is_needed[*id as usize] = true);
        for (id, node) in graph.nodes.iter().enumerate() {
            let Op::Out(_) = node.op else { continue };
            let of_loop = matches!(graph.nodes[node.src[0] as usize].op, Op::Scan(_));
            if of_loop || is_needed[id] {
                results.entry(node.src[0]).or_default().push(id as NodeId);
            }
        }
        let mut units: FxHashMap<u32, Vec<Unit>> = FxHashMap::default();
        for id in needed {
            let node = &graph.nodes[id as usize];
            if is_view(&node.op) || is_leaf(&node.op) || matches!(node.op, Op::Out(_)) {
                continue;
            }
            let results = by_key(results.remove(&id).unwrap_or_default(), &|id| match graph.nodes[*id as usize].op {
                Op::Out(i) => u64::from(i),
                _ => 0,
            });
            let nodes = std::iter::once(id).chain(results).collect();
            units.entry(node.scope).or_default().push(Unit { nodes, alone: false });
        }
        Units { scopes: units, calls_loop: calls_loop(graph) }
    }

    /// Returns the units of a scope.
    pub fn of(&self, scope: u32) -> &[Unit] {
        self.scopes.get(&scope).map_or(&[], Vec::as_slice)
    }
}

/// The readers of each node, also through views, of pairs of a node that is read and its reader: those of one reader
/// follow each other.
pub fn readers(graph: &Graph, reads: impl IntoIterator<Item = (NodeId, usize)>) -> FxHashMap<NodeId, Vec<usize>> {
    let mut readers: FxHashMap<NodeId, Vec<usize>> = FxHashMap::default();
    for (mut id, reader) in reads {
        loop {
            let list = readers.entry(id).or_default();
            if list.last() != Some(&reader) {
                list.push(reader);
            }
            if !is_view(&graph.nodes[id as usize].op) {
                break;
            }
            id = graph.nodes[id as usize].src[0];
        }
    }
    readers
}

/// The operands that units read, each with the number of its unit, then results, with `usize::MAX`.
pub fn reads<'a>(
    graph: &'a Graph,
    units: &'a [Unit],
    outs: &'a [NodeId],
) -> impl Iterator<Item = (NodeId, usize)> + use<'a> {
    let operands = |(k, unit): (usize, &'a Unit)| {
        unit.nodes.iter().flat_map(|id| &graph.nodes[*id as usize].src).map(move |id| (*id, k))
    };
    units.iter().enumerate().flat_map(operands).chain(outs.iter().map(|id| (*id, usize::MAX)))
}

/// Tells whether the body of a call loops.
fn calls_loop(graph: &Graph) -> bool {
    let loops = |body: &Body| {
        let within = graph.reachable(&body.outs, body.scope);
        within.iter().any(|id| matches!(graph.nodes[*id as usize].op, Op::Scan(_)))
    };
    graph.nodes.iter().any(|node| matches!(&node.op, Op::Call(call) if loops(&call.body)))
}
