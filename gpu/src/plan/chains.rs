//! Chains of a scope: nodes that one kernel computes, tile by tile.
//!
//! A chain is worth it where it ends in sums over its rows, as the gradient of a minibatch does: then its row values
//! never leave a workgroup. Other chains are left to the planner's own kernels.

use std::sync::Arc;

use quickstudy_kernels::program::chains::{
    ChainInstr, ChainProduct, Formed, RowChain, Scope as ChainScope, Unit, Units, ValueId, Values, form,
};
use quickstudy_kernels::program::{Access, fold, is_constant, is_leaf, is_view};
use quickstudy_kernels::tensor::{DType, Graph, NodeId, Op};
use quickstudy_kernels::{Error, Result};
use rustc_hash::{FxHashMap, FxHashSet};

use super::scope::Scope;
use crate::tile::{BUDGET, Tile};

/// Words that a buffer of several values has at least, where there are more.
const SHARED: usize = 1 << 24;

/// A chain of a plan.
#[derive(Clone, Debug)]
pub struct PlannedChain {
    /// How workgroups compute it.
    pub(crate) tile: Tile,
    /// The nodes that it computes, in order.
    pub(crate) nodes: Vec<NodeId>,
    /// The values in memory that it reads.
    pub(crate) reads: Vec<NodeId>,
    /// The values that it leaves in memory.
    pub(crate) outs: Vec<NodeId>,
    /// The node of each value that its instructions name.
    pub(crate) values: Vec<NodeId>,
    /// Where each sum over rows goes.
    pub(crate) sums: Vec<SumPlace>,
}

/// The place of a sum over rows in the value that it is, or is joined into.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SumPlace {
    /// The value.
    pub node: NodeId,
    /// Position of the sum's first number, of the first group.
    pub offset: usize,
    /// Distance of groups.
    pub group: usize,
}

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
                    let joined = values.joined(&chain, &kernels, &done);
                    let planned = values.planned((chain, tile), nodes.clone(), &joined);
                    (values.buffers(&planned, outs) <= scope.options.max_bindings).then_some((planned, joined.units))
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

/// Tells whether a chain is worth a kernel of its own: its rows are multiplied with matrices, and it has sums over them,
/// all of floats.
fn pays(graph: &Graph, chain: &RowChain<ChainProduct>, nodes: &[NodeId]) -> bool {
    let multiplies = chain.code.iter().any(|instr| matches!(instr, ChainInstr::Own(_)));
    let sums_integers = nodes.iter().any(|id| {
        let node = &graph.nodes[*id as usize];
        matches!(node.op, Op::Sum { .. }) && node.dtype == DType::U32
    });
    multiplies && !chain.terminals.is_empty() && !sums_integers
}

/// Concatenations of sums over rows, which are written in their place.
#[derive(Default)]
struct Joined {
    /// The units of these concatenations.
    units: Vec<usize>,
    /// Their nodes.
    nodes: Vec<NodeId>,
    /// The place of each sum that is in one.
    places: FxHashMap<NodeId, SumPlace>,
}

/// What is in memory while the chains of a scope are formed: the values of nodes, wherever they will be.
struct ScopeValues<'a> {
    graph: &'a Graph,
    scope: u32,
    /// The node of each value.
    nodes: Vec<NodeId>,
    kept: FxHashMap<NodeId, ValueId>,
    /// Units that read a node, also through views; `usize::MAX` for the scope's results.
    users: FxHashMap<NodeId, Vec<usize>>,
}

impl<'a> ScopeValues<'a> {
    fn new(scope: &Scope<'a>, kernels: &[Unit], outs: &[NodeId]) -> ScopeValues<'a> {
        let graph = scope.graph;
        let mut users: FxHashMap<NodeId, Vec<usize>> = FxHashMap::default();
        let mut read = |mut id: NodeId, user: usize| loop {
            let list = users.entry(id).or_default();
            if list.last() != Some(&user) {
                list.push(user);
            }
            if !is_view(&graph.nodes[id as usize].op) {
                break;
            }
            id = graph.nodes[id as usize].src[0];
        };
        for (k, kernel) in kernels.iter().enumerate() {
            kernel.nodes.iter().flat_map(|id| &graph.nodes[*id as usize].src).for_each(|id| read(*id, k));
        }
        outs.iter().for_each(|id| read(*id, usize::MAX));
        ScopeValues { graph, scope: scope.scope, nodes: Vec::new(), kept: FxHashMap::default(), users }
    }

    /// Notes that a node's value is in memory from now on.
    fn keep(&mut self, id: NodeId) {
        let value = self.reserve(0);
        self.register(id, value);
    }

    /// Concatenations along the last of two axes of nothing but sums over rows of a chain that nobody else reads.
    fn joined(&self, chain: &RowChain<ChainProduct>, kernels: &[Unit], done: &[bool]) -> Joined {
        let graph = self.graph;
        let mut joined = Joined::default();
        let is_sum = |id: NodeId| chain.terminals.iter().any(|(value, _)| self.nodes[*value] == id);
        for (k, unit) in kernels.iter().enumerate().filter(|(k, _)| !done[*k]) {
            let [id] = unit.nodes[..] else { continue };
            let node = &graph.nodes[id as usize];
            let (Op::Concat { axis: 1 }, [groups, width]) = (&node.op, &node.shape[..]) else { continue };
            let part = |src: &NodeId| {
                let (root, whole) = fold(graph, *src);
                (whole && is_sum(root) && self.users.get(&root).is_some_and(|users| users[..] == [k])).then_some(root)
            };
            let parts: Option<Vec<NodeId>> = node.src.iter().map(part).collect();
            let Some(parts) = parts.filter(|_| chain.groups == *groups) else { continue };
            let (mut offset, mut places) = (0, FxHashMap::default());
            for (root, src) in parts.iter().zip(&node.src) {
                places.insert(*root, SumPlace { node: id, offset, group: *width });
                offset += graph.nodes[*src as usize].shape[1];
            }
            // Each has one place.
            if places.len() == parts.len() {
                joined.units.push(k);
                joined.nodes.push(id);
                joined.places.extend(places);
            }
        }
        joined
    }

    /// Buffers that a chain binds at most, if what is in buffers of the program's own shares as few as can be.
    fn buffers(&self, chain: &PlannedChain, outs: &[NodeId]) -> usize {
        // The scope's results have places of their own, also where they are other views of the nodes.
        let results: FxHashSet<NodeId> =
            outs.iter().map(|id| fold(self.graph, *id)).filter(|(_, whole)| *whole).map(|(root, _)| root).collect();
        let is_own = |id: &&NodeId| {
            let node = &self.graph.nodes[**id as usize];
            let is_param = matches!(node.op, Op::Param(_)) && node.scope == self.scope;
            !matches!(node.op, Op::Input(_)) && !is_param && !results.contains(*id)
        };
        // The sums of several workgroups are written by the next dispatch, and parts of them by this one.
        let several = chain.tile.workgroups > 1;
        let is_sum = |id: &NodeId| chain.sums.iter().any(|sum| sum.node == *id);
        let written = chain.outs.iter().filter(|id| !several || !is_sum(id));
        let (own, others): (Vec<NodeId>, Vec<NodeId>) = chain.reads.iter().chain(written).partition(is_own);
        let words: usize = own.iter().map(|id| self.graph.nodes[*id as usize].len()).sum();
        others.len() + words.div_ceil(SHARED) + usize::from(several)
    }

    fn planned(
        &self,
        (chain, tile): (RowChain<ChainProduct>, Tile),
        mut nodes: Vec<NodeId>,
        joined: &Joined,
    ) -> PlannedChain {
        let graph = self.graph;
        let sums: Vec<SumPlace> = chain
            .terminals
            .iter()
            .map(|(value, size)| {
                let node = self.nodes[*value];
                joined.places.get(&node).copied().unwrap_or(SumPlace { node, offset: 0, group: *size })
            })
            .collect();
        let stored = chain.code.iter().filter_map(|instr| match instr {
            ChainInstr::Store { dst, .. } => Some(self.nodes[dst.value]),
            _ => None,
        });
        let mut outs: Vec<NodeId> = stored.chain(sums.iter().map(|sum| sum.node)).collect();
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
        PlannedChain { tile, nodes, reads, outs, values: self.nodes.clone(), sums }
    }
}

impl Values for ScopeValues<'_> {
    fn is_kept(&self, id: NodeId) -> bool {
        self.kept.contains_key(&id)
    }

    fn known(&self, id: NodeId) -> Option<Access> {
        self.is_kept(id).then(|| Access::whole(id, &self.graph.nodes[id as usize].shape))
    }

    fn external(&mut self, root: NodeId) -> Option<ValueId> {
        let node = &self.graph.nodes[root as usize];
        if !self.is_kept(root) && (is_leaf(&node.op) || node.scope != self.scope) {
            self.keep(root);
        }
        self.kept.get(&root).copied()
    }

    fn copy(&mut self, _id: NodeId) -> Result<()> {
        Err(Error::Program("chains of a GPU copy nothing".to_owned()))
    }

    fn reserve(&mut self, _len: usize) -> ValueId {
        self.nodes.push(NodeId::MAX);
        self.nodes.len() - 1
    }

    fn release(&mut self, _value: ValueId) {}

    fn register(&mut self, id: NodeId, value: ValueId) {
        self.nodes[value] = id;
        self.kept.insert(id, value);
    }

    fn used_outside(&self, id: NodeId, members: &FxHashSet<usize>) -> bool {
        self.users.get(&id).is_some_and(|users| users.iter().any(|user| !members.contains(user)))
    }
}
