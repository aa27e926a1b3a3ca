//! Chooses which kernels run together.

use std::collections::VecDeque;

use rustc_hash::{FxHashMap, FxHashSet};

use super::build::{Builder, Loc};
use super::chain::RowChain;
use super::domain::{Domain, Lead};
use super::instr::{ChainInstr, ChainProduct, Opnd};
use super::scope::Scope;
use super::table::Table;
use super::unit::Unit;
use super::values::Values;
use crate::program::is_view;
use crate::tensor::{Graph, NodeId, Op};

/// The kernels that run next, and how.
#[derive(Debug)]
pub enum Formed<O> {
    /// The kernels that run as one chain.
    Group(RowChain<O>, Vec<usize>),
    /// The kernel is not for chains.
    Alone(usize),
}

/// Form a chain that starts with kernel `first` or, if `others_first`, with a kernel that should run before it.
///
/// Kernels that do not fit are left for later if what follows does not need them. So are kernels of the same rows that
/// only a later chain needs: their rows would have to be written to memory and read again.
pub fn form<O: Clone + From<ChainProduct>>(
    values: &mut dyn Values,
    scope: &Scope<'_>,
    done: &[bool],
    first: usize,
    others_first: bool,
) -> Formed<O> {
    let kernels = scope.kernels;
    if kernels[first].alone {
        return Formed::Alone(first);
    }
    let mut best: Option<(f64, Builder<'_, O>, Vec<usize>)> = None;
    let mut domains = VecDeque::from(candidates(scope.graph, &kernels[first]));
    // The work of the group whose rows are not taken together with others.
    let mut apart = 0;
    while let Some(domain) = domains.pop_front() {
        let (builder, taken) = gather(values, scope, done, first, domain);
        let [_, rows] = builder.domain.apart();
        let nodes: usize = taken.iter().map(|k| kernels[*k].nodes.len()).sum();
        let score = nodes as f64 * rows as f64 / rows.next_multiple_of(16) as f64;
        // Groups are taken together for the sake of loops, and only if what is left to do outside of these is little.
        let suits = !builder.domain.merged || builder.work >= apart / 10 * 9;
        if let Some(merged) = builder.domain.merge().filter(|_| scope.budget.merged && builder.deepest > 0) {
            apart = builder.work;
            domains.push_front(merged);
        }
        if suits && taken.first() == Some(&first) && best.as_ref().is_none_or(|b| score > b.0) {
            if let Some((_, loser, _)) = best.replace((score, builder, taken)) {
                discard(values, loser);
            }
        } else {
            discard(values, builder);
        }
    }
    let Some((_, mut builder, mut taken)) = best else { return Formed::Alone(first) };
    loop {
        match phase(values, &builder, done, &taken, others_first) {
            NextPart::Whole => break,
            NextPart::Part(needed) => {
                let domain = builder.domain.clone();
                discard(values, builder);
                let wanted: Vec<bool> = (0..kernels.len()).map(|k| done[k] || !needed.contains(&k)).collect();
                let start = needed.iter().copied().min().unwrap_or(first);
                (builder, taken) = gather(values, scope, &wanted, start, domain);
            }
            NextPart::After(kernel) => {
                discard(values, builder);
                return form(values, scope, done, kernel, false);
            }
        }
    }
    Formed::Group(commit(values, builder, &taken), taken)
}

/// The part of a group that should run next.
enum NextPart {
    /// The whole group.
    Whole,
    /// Only these kernels: later ones on the same rows wait for sums that they make.
    Part(FxHashSet<usize>),
    /// The kernel that runs first: later ones on the same rows wait for it, and it does not wait for the group.
    After(usize),
}

/// Decides which part of a group runs next: it looks for later kernels that read rows of this group, and for what those
/// wait.
#[inline(never)]
fn phase<O: From<ChainProduct>>(
    values: &dyn Values,
    builder: &Builder<'_, O>,
    done: &[bool],
    taken: &[usize],
    others_first: bool,
) -> NextPart {
    let Scope { graph, kernels, .. } = builder.scope;
    let members: FxHashSet<usize> = taken.iter().copied().collect();
    let mut owner: FxHashMap<NodeId, usize> = FxHashMap::default();
    for (k, kernel) in kernels.iter().enumerate().filter(|(k, _)| !done[*k]) {
        for n in &kernel.nodes {
            // A node that several kernels compute belongs to the first, but for those of the group.
            if members.contains(&k) {
                owner.insert(*n, k);
            } else {
                owner.entry(*n).or_insert(k);
            }
        }
    }
    let reads_rows = |n: &NodeId| {
        let mut id = *n;
        while is_view(&graph.nodes[id as usize].op) && !builder.map.contains_key(&id) {
            id = graph.nodes[id as usize].src[0];
        }
        matches!(builder.map.get(&id), Some(Loc::Row(_)))
    };
    // Readers that do not fit these rows read memory whatever is done.
    let fits = |n: &NodeId| match builder.shape_of(&graph.nodes[*n as usize].shape) {
        Some((Lead::Rows, m)) => m <= builder.widest(),
        _ => true,
    };
    let reads_here = |n: &NodeId| fits(n) && graph.nodes[*n as usize].src.iter().any(reads_rows);
    let mut stack: Vec<NodeId> = Vec::new();
    for (_, kernel) in kernels.iter().enumerate().filter(|(k, _)| !done[*k] && !members.contains(k)) {
        if kernel.nodes.iter().any(reads_here) {
            kernel.nodes.iter().for_each(|n| stack.extend(&graph.nodes[*n as usize].src));
        }
    }
    let mut seen: FxHashSet<NodeId> = FxHashSet::default();
    let (mut sums, mut waiting): (Vec<NodeId>, Vec<NodeId>) = (Vec::new(), Vec::new());
    while let Some(id) = stack.pop() {
        if !seen.insert(id) || values.is_kept(id) {
            continue;
        }
        match builder.map.get(&id) {
            Some(Loc::Terminal) => sums.push(id),
            Some(_) => {}
            None => {
                if owner.contains_key(&id) {
                    waiting.push(id);
                }
                stack.extend(&graph.nodes[id as usize].src);
            }
        }
    }
    let mut memo: FxHashMap<NodeId, bool> = FxHashMap::default();
    // An optimiser's step has several results, and waits for all that the last one needs.
    for id in &mut waiting {
        let k = owner[&*id];
        if kernels[k].alone {
            *id = kernels[k].nodes.iter().copied().max().unwrap_or(*id);
        }
    }
    waiting.sort_unstable();
    for id in waiting {
        if others_first && !depends(values, graph, &builder.map, id, &mut memo) {
            return NextPart::After(owner[&id]);
        }
    }
    // What those sums need.
    let mut needed: FxHashSet<usize> = FxHashSet::default();
    let mut seen: FxHashSet<NodeId> = FxHashSet::default();
    while let Some(id) = sums.pop() {
        if !seen.insert(id) || values.is_kept(id) {
            continue;
        }
        if let Some(k) = owner.get(&id).filter(|k| members.contains(k)) {
            needed.insert(*k);
        }
        sums.extend(&graph.nodes[id as usize].src);
    }
    if needed.is_empty() || needed.len() == taken.len() { NextPart::Whole } else { NextPart::Part(needed) }
}

/// Tells whether a node needs any value of a group.
#[inline(never)]
fn depends(
    values: &dyn Values,
    graph: &Graph,
    group: &FxHashMap<NodeId, Loc>,
    id: NodeId,
    memo: &mut FxHashMap<NodeId, bool>,
) -> bool {
    if group.contains_key(&id) {
        return true;
    }
    if values.is_kept(id) {
        return false;
    }
    if let Some(known) = memo.get(&id) {
        return *known;
    }
    memo.insert(id, false);
    let found = graph.nodes[id as usize].src.iter().any(|s| depends(values, graph, group, *s, memo));
    memo.insert(id, found);
    found
}

fn discard<O>(values: &mut dyn Values, builder: Builder<'_, O>) {
    builder.pending.into_iter().for_each(|(_, value)| values.release(value));
}

#[inline(never)]
fn candidates(graph: &Graph, kernel: &Unit) -> Vec<Domain> {
    let Some(&id) = kernel.nodes.iter().find(|n| !matches!(graph.nodes[**n as usize].op, Op::Out(_))) else {
        return Vec::new();
    };
    let node = &graph.nodes[id as usize];
    let shape = match &node.op {
        Op::Sum { .. } | Op::ReduceMax { .. } | Op::MatMul { .. } => &graph.nodes[node.src[0] as usize].shape,
        Op::Scan(s) => match s.body.params.get(1) {
            Some(p) => &graph.nodes[*p as usize].shape,
            None => return Vec::new(),
        },
        Op::Call(_) => &graph.nodes[node.src[0] as usize].shape,
        _ => &node.shape,
    };
    let mut found = Vec::new();
    let mut lead = |p: usize| {
        if shape.len() >= p {
            found.push(Domain { lead: shape[..p].to_vec(), flat: false, merged: false });
        }
    };
    lead(2);
    let whole =
        matches!(node.op, Op::Sum { .. } | Op::ReduceMax { .. } | Op::MatMul { .. } | Op::Scan(_) | Op::Call(_));
    if shape.len() == 1 || whole {
        lead(1);
    } else {
        found.push(Domain { lead: shape.clone(), flat: true, merged: false });
        if !shape.is_empty() {
            found.push(Domain { lead: shape[..1].to_vec(), flat: false, merged: false });
        }
    }
    found
}

#[inline(never)]
fn gather<'a, O: Clone + From<ChainProduct>>(
    values: &mut dyn Values,
    scope: &Scope<'a>,
    done: &[bool],
    first: usize,
    domain: Domain,
) -> (Builder<'a, O>, Vec<usize>) {
    let mut builder = Builder::new(*scope, domain);
    let mut taken = Vec::new();
    for (k, kernel) in scope.kernels.iter().enumerate().skip(first) {
        if done[k] || kernel.nodes.is_empty() || kernel.alone {
            continue;
        }
        let mark = builder.mark();
        match builder.kernel(values, &kernel.nodes) {
            Ok(()) => taken.push(k),
            Err(_) => {
                builder.rollback(values, mark, &kernel.nodes);
                if taken.is_empty() {
                    break;
                }
            }
        }
    }
    (builder, taken)
}

/// Writes to memory what others read of a group.
#[inline(never)]
fn commit<O: From<ChainProduct>>(values: &mut dyn Values, mut builder: Builder<'_, O>, taken: &[usize]) -> RowChain<O> {
    let members: FxHashSet<usize> = taken.iter().copied().collect();
    let mut nodes: Vec<NodeId> = taken.iter().flat_map(|k| builder.scope.kernels[*k].nodes.iter().copied()).collect();
    nodes.sort_unstable();
    nodes.dedup();
    let (rows, groups) = (builder.domain.rows(), builder.domain.groups());
    let apart = builder.domain.apart();
    for (id, value) in std::mem::take(&mut builder.pending) {
        values.register(id, value);
    }
    for id in nodes {
        let Some(Loc::Row(reg)) = builder.map.get(&id).copied() else { continue };
        if values.used_outside(id, &members) {
            let m = builder.sizes[reg];
            let value = values.reserve(groups * rows * m);
            values.register(id, value);
            let table = Table::Dense { start: 0, len: m };
            let dst = builder.mem((value, 0), [rows * m, m], Vec::new(), table.clone());
            builder.code.push(ChainInstr::Store { src: Opnd::Reg(reg, table), dst });
        }
    }
    let mut sum = |(id, size): (NodeId, usize)| {
        let value = values.reserve(groups * size);
        values.register(id, value);
        (value, size)
    };
    let terminals = builder.terminals.into_iter().map(&mut sum).collect();
    let ([groups, rows], sizes) = (apart, builder.sizes);
    RowChain { groups, rows, sizes, code: builder.code, terminals, work: builder.work, depth: builder.deepest }
}
