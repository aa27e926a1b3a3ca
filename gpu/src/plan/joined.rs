//! Concatenations of sums over the rows of a chain, such as the gradients of all parameters: the sums are written in
//! their place.

use quickstudy_kernels::program::chains::{ChainProduct, RowChain, Unit, Values};
use quickstudy_kernels::program::{fold, is_leaf};
use quickstudy_kernels::tensor::{NodeId, Op};
use rustc_hash::FxHashMap;

use super::chain::{AfterSums, SumPlace};
use super::values::ScopeValues;

/// Nodes of an operand that are looked at for one sum.
const MOST: usize = 32;

/// Concatenations of sums over rows.
#[derive(Default)]
pub(super) struct Joined {
    /// The units of these concatenations, and of what only they read.
    pub units: Vec<usize>,
    /// Their nodes.
    pub nodes: Vec<NodeId>,
    /// The place of each sum that is in one.
    pub places: FxHashMap<NodeId, SumPlace>,
    /// Nodes that are computed from sums and joined in their stead.
    pub after: Vec<AfterSums>,
}

impl Joined {
    /// Concatenations along the last of two axes whose every operand is a sum over rows of a chain that nothing else
    /// reads, or follows from one element by element.
    pub fn of(values: &ScopeValues<'_>, chain: &RowChain<ChainProduct>, kernels: &[Unit], done: &[bool]) -> Joined {
        let graph = values.graph;
        let mut joined = Joined::default();
        let owner: FxHashMap<NodeId, usize> =
            kernels.iter().enumerate().flat_map(|(k, unit)| unit.nodes.iter().map(move |id| (*id, k))).collect();
        for (k, unit) in kernels.iter().enumerate().filter(|(k, _)| !done[*k]) {
            let [id] = unit.nodes[..] else { continue };
            let node = &graph.nodes[id as usize];
            let (Op::Concat { axis: 1 }, [groups, width]) = (&node.op, &node.shape[..]) else { continue };
            if chain.groups != *groups {
                continue;
            }
            let mut found = Joined { units: vec![k], nodes: vec![id], ..Joined::default() };
            let mut offset = 0;
            let fits = node.src.iter().all(|src| {
                let mut nodes = Vec::new();
                let (value, whole) = fold(graph, *src);
                let Some(sums) = sums_of(values, chain, value, &mut nodes).filter(|_| whole) else { return false };
                let place = SumPlace { node: id, offset, group: *width };
                let len = graph.nodes[*src as usize].shape[1];
                offset += len;
                found.nodes.extend(&nodes);
                match sums[..] {
                    [sum] if sum == value => found.places.insert(sum, place).is_none(),
                    _ => {
                        found.after.push(AfterSums { value, nodes, sums, place, len });
                        true
                    }
                }
            });
            found.units.extend(found.nodes.iter().filter(|node| **node != id).filter_map(|node| owner.get(node)));
            let is_read_here = |id: &NodeId| {
                let inside = |user: &usize| found.units.contains(user);
                values.users.get(id).is_some_and(|users| users.iter().all(inside))
            };
            let all_read_here = found
                .nodes
                .iter()
                .filter(|node| **node != id)
                .chain(found.places.keys())
                .chain(found.after.iter().flat_map(|after| &after.sums))
                .all(is_read_here);
            if fits && all_read_here {
                joined.units.extend(found.units);
                joined.nodes.extend(found.nodes);
                joined.places.extend(found.places);
                joined.after.extend(found.after);
            }
        }
        joined.nodes.sort_unstable();
        joined.nodes.dedup();
        joined
    }
}

/// The sums of a chain that a node follows from element by element, if there are any and all else is in memory; and the
/// nodes between them.
fn sums_of(
    values: &ScopeValues<'_>,
    chain: &RowChain<ChainProduct>,
    id: NodeId,
    nodes: &mut Vec<NodeId>,
) -> Option<Vec<NodeId>> {
    let graph = values.graph;
    let size_of = |id: NodeId| chain.terminals.iter().find(|(value, _)| values.nodes[*value] == id).map(|sum| sum.1);
    if size_of(id).is_some() {
        return Some(vec![id]);
    }
    let (mut sums, mut stack) = (Vec::new(), vec![id]);
    while let Some(id) = stack.pop() {
        let node = &graph.nodes[id as usize];
        if nodes.contains(&id) {
            continue;
        }
        if !matches!(node.op, Op::Unary(_) | Op::Binary(_) | Op::Select) || nodes.len() == MOST {
            return None;
        }
        nodes.push(id);
        for src in &node.src {
            let (root, whole) = fold(graph, *src);
            let of = &graph.nodes[root as usize];
            if let Some(size) = size_of(root) {
                // A single number may be repeated.
                if !whole && size > 1 {
                    return None;
                }
                if !sums.contains(&root) {
                    sums.push(root);
                }
            } else if !(is_leaf(&of.op) || of.scope != values.scope || values.is_kept(root)) {
                if !whole {
                    return None;
                }
                stack.push(root);
            }
        }
    }
    (!sums.is_empty()).then_some(sums)
}
