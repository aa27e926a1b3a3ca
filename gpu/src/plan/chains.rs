//! Chains of a scope: nodes that one kernel computes, tile by tile.
//!
//! A chain is worth it where it ends in sums over its rows, as the gradient of a minibatch does: then its row values
//! never leave a workgroup. Other chains are left to the planner's own kernels.

use std::sync::Arc;

use quickstudy_kernels::program::chains::{
    ChainInstr, ChainProduct, Formed, RowChain, Scope as ChainScope, Units, form,
};
use quickstudy_kernels::program::{fold, is_constant};
use quickstudy_kernels::tensor::{DType, Graph, NodeId, Op};
use rustc_hash::FxHashSet;

use super::chain::{PlannedChain, SumPlace};
use super::joined::Joined;
use super::scope::Scope;
use super::values::ScopeValues;
use crate::tile::{BUDGET, Tile};

/// Words that a buffer of several values has at least, where there are more.
const SHARED: usize = 1 << 24;

/// Forms the chains of a scope, whose results `outs` are.
#[inline(never)]
pub(super) fn chains(scope: &Scope<'_>, units: &Units, outs: &[NodeId], bytes: usize) -> Vec<Arc<PlannedChain>> {
    let graph = scope.graph;
    let mut kernels = units.of(scope.scope).to_vec();
    // Loops have kernels of their own.
    let is_alone = |id: &NodeId| matches!(graph.nodes[*id as usize].op, Op::Scan(_) | Op::Call(_) | Op::Store);
    kernels.iter_mut().for_each(|unit| unit.alone = unit.nodes.iter().any(is_alone));
    if !kernels.iter().any(|unit| unit.nodes.iter().any(|id| matches!(graph.nodes[*id as usize].op, Op::MatMul { .. })))
    {
        return Vec::new();
    }
    let chain_scope = ChainScope { graph, units, kernels: &kernels, budget: BUDGET };
    let mut values = ScopeValues::new(scope, &kernels, outs);
    let mut done = vec![false; kernels.len()];
    let mut found = Vec::new();
    while let Some(first) = done.iter().position(|done| !done) {
        match form(&mut values, &chain_scope, &done, first, true) {
            Formed::Group(chain, taken) => {
                let unit_nodes = taken.iter().flat_map(|k| kernels[*k].nodes.iter().copied());
                let mut nodes: Vec<NodeId> = unit_nodes.collect();
                nodes.sort_unstable();
                nodes.dedup();
                let tile = if pays(graph, &chain, &nodes) { Tile::new(&chain, bytes) } else { None };
                taken.into_iter().for_each(|k| done[k] = true);
                let planned = tile.and_then(|tile| {
                    let joined = Joined::of(&values, &chain, &kernels, &done);
                    let planned = PlannedChain::of(&values, (chain, tile), nodes.clone(), &joined);
                    (planned.buffers(&values, outs) <= scope.options.max_bindings).then_some((planned, joined.units))
                });
                match planned {
                    Some((planned, units)) => {
                        planned.outs.iter().for_each(|id| values.keep(*id));
                        units.into_iter().for_each(|k| done[k] = true);
                        found.push(Arc::new(planned));
                    }
                    None => nodes.iter().for_each(|id| values.keep(*id)),
                }
            }
            Formed::Alone(k) => {
                kernels[k].nodes.iter().for_each(|id| values.keep(*id));
                done[k] = true;
            }
        }
    }
    found
}

/// Tells whether a chain is worth a kernel of its own: its rows are multiplied with matrices, and it has sums over
/// them, all of floats.
fn pays(graph: &Graph, chain: &RowChain<ChainProduct>, nodes: &[NodeId]) -> bool {
    let multiplies = chain.code.iter().any(|instr| matches!(instr, ChainInstr::Own(_)));
    let sums_integers = nodes.iter().any(|id| {
        let node = &graph.nodes[*id as usize];
        matches!(node.op, Op::Sum { .. }) && node.dtype == DType::U32
    });
    multiplies && !chain.terminals.is_empty() && !sums_integers
}

impl PlannedChain {
    /// The chain with the sums that are joined into others.
    fn of(
        values: &ScopeValues<'_>,
        (chain, tile): (RowChain<ChainProduct>, Tile),
        mut nodes: Vec<NodeId>,
        joined: &Joined,
    ) -> PlannedChain {
        let graph = values.graph;
        let in_after = |node: NodeId| joined.after.iter().any(|after| after.sums.contains(&node));
        let sums: Vec<(NodeId, Option<SumPlace>)> = chain
            .terminals
            .iter()
            .map(|(value, size)| {
                let node = values.nodes[*value];
                let own = SumPlace { node, offset: 0, group: *size };
                (node, if in_after(node) { None } else { Some(joined.places.get(&node).copied().unwrap_or(own)) })
            })
            .collect();
        let stored = chain.code.iter().filter_map(|instr| match instr {
            ChainInstr::Store { dst, .. } => Some(values.nodes[dst.value]),
            _ => None,
        });
        let mut outs: Vec<NodeId> = stored.chain(sums.iter().filter_map(|sum| sum.1).map(|place| place.node)).collect();
        outs.extend(
            &joined
                .nodes
                .iter()
                .copied()
                .filter(|id| matches!(graph.nodes[*id as usize].op, Op::Concat { .. }))
                .collect::<Vec<_>>(),
        );
        outs.sort_unstable();
        outs.dedup();
        nodes.extend(&joined.nodes);
        nodes.sort_unstable();
        let members: FxHashSet<NodeId> = nodes.iter().copied().collect();
        let src = nodes.iter().flat_map(|id| &graph.nodes[*id as usize].src);
        let mut reads: Vec<NodeId> = src.map(|id| fold(graph, *id).0).collect();
        reads.retain(|id| !members.contains(id) && !is_constant(&graph.nodes[*id as usize].op));
        reads.sort_unstable();
        reads.dedup();
        PlannedChain { tile, nodes, reads, outs, values: values.nodes.clone(), sums, after: joined.after.clone() }
    }

    /// Buffers that a chain binds at most, if what is in buffers of the program's own shares as few as can be.
    fn buffers(&self, values: &ScopeValues<'_>, outs: &[NodeId]) -> usize {
        let graph = values.graph;
        // The scope's results have places of their own, also where they are other views of the nodes.
        let results: FxHashSet<NodeId> =
            outs.iter().map(|id| fold(graph, *id)).filter(|(_, whole)| *whole).map(|(root, _)| root).collect();
        let is_own = |id: &&NodeId| {
            let node = &graph.nodes[**id as usize];
            let is_param = matches!(node.op, Op::Param(_)) && node.scope == values.scope;
            !matches!(node.op, Op::Input(_)) && !is_param && !results.contains(*id)
        };
        // Sums that a second dispatch finishes are written by it, and parts of them by the first.
        let is_sum = |id: &NodeId| self.sums.iter().filter_map(|sum| sum.1).any(|place| place.node == *id);
        let written = self.outs.iter().filter(|id| !self.has_end() || !is_sum(id));
        let (own, others): (Vec<NodeId>, Vec<NodeId>) = self.reads.iter().chain(written).partition(is_own);
        let words: usize = own.iter().map(|id| graph.nodes[*id as usize].len()).sum();
        others.len() + words.div_ceil(SHARED) + usize::from(self.has_end())
    }
}
