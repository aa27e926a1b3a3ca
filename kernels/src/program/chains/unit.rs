//! The nodes of each scope one by one.

use rustc_hash::FxHashMap;

use crate::math::order::by_key;
use crate::program::views::{is_leaf, is_view};
use crate::tensor::graph::ROOT;
use crate::tensor::{Graph, NodeId, Op};

/// A node that takes work, and its results if it is a loop or a call.
#[derive(Clone, Debug)]
pub(crate) struct Unit {
    /// The node, then its results.
    pub(crate) nodes: Vec<NodeId>,
}

/// The units of a program and of the bodies of its loops.
#[derive(Debug)]
pub(crate) struct Units(FxHashMap<u32, Vec<Unit>>);

impl Units {
    /// The units that `outs` need, in the order of the trace: operands come first.
    ///
    /// A loop has all of its results, because a carry is kept even if only the loop reads it. A call has those that
    /// are needed.
    #[inline(never)]
    pub(crate) fn new(graph: &Graph, outs: &[NodeId]) -> Units {
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
            units.entry(node.scope).or_default().push(Unit { nodes });
        }
        Units(units)
    }

    /// Those of a scope.
    pub(crate) fn of(&self, scope: u32) -> &[Unit] {
        self.0.get(&scope).map_or(&[], Vec::as_slice)
    }
}
