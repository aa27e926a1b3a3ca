//! Which kernels run together.

use std::collections::{HashMap, HashSet};

use super::super::lower::{Lowering, Step};
use super::build::{Builder, Domain, Loc};
use super::registers::assign;
use super::{Instr, Mem, Opnd, Table, Tile};
use crate::program::{Kernel, is_view};
use crate::tensor::{NodeId, Op};

/// Compile a group that starts with kernel `first` of `kernels`; returns the kernels that it took.
///
/// Kernels that do not fit are left for later if what follows does not need them. So are kernels of the same rows that
/// only a later group needs: their rows would have to be written to memory and read again.
pub fn form(low: &mut Lowering<'_>, kernels: &[Kernel], done: &[bool], first: usize) -> Option<Vec<usize>> {
    let mut best: Option<(f64, Builder, Vec<usize>)> = None;
    for domain in candidates(low, &kernels[first]) {
        let (builder, taken) = gather(low, kernels, done, first, domain);
        let rows = builder.domain.rows();
        let nodes: usize = taken.iter().map(|k| kernels[*k].nodes.len()).sum();
        let score = nodes as f64 * rows as f64 / rows.next_multiple_of(16) as f64;
        if taken.first() == Some(&first) && best.as_ref().is_none_or(|b| score > b.0) {
            if let Some((_, loser, _)) = best.replace((score, builder, taken)) {
                discard(low, loser);
            }
        } else {
            discard(low, builder);
        }
    }
    let (_, mut builder, mut taken) = best?;
    while let Some(needed) = phase(low, &builder, kernels, done, &taken) {
        let domain = builder.domain.clone();
        discard(low, builder);
        let wanted: Vec<bool> = (0..kernels.len()).map(|k| done[k] || !needed.contains(&k)).collect();
        let start = *needed.iter().min()?;
        (builder, taken) = gather(low, kernels, &wanted, start, domain);
    }
    commit(low, builder, kernels, &taken);
    Some(taken)
}

/// The kernels that a sum over rows needs which later kernels on the same rows wait for, if they are fewer than `taken`.
fn phase(
    low: &Lowering<'_>,
    builder: &Builder,
    kernels: &[Kernel],
    done: &[bool],
    taken: &[usize],
) -> Option<HashSet<usize>> {
    let graph = low.graph;
    let members: HashSet<usize> = taken.iter().copied().collect();
    let owner: HashMap<NodeId, usize> = taken.iter().flat_map(|k| kernels[*k].nodes.iter().map(|n| (*n, *k))).collect();
    if builder.terminals.is_empty() {
        return None;
    }
    // Later kernels that read rows of this group, and the sums that those wait for.
    let mut stack: Vec<NodeId> = Vec::new();
    for (k, kernel) in kernels.iter().enumerate() {
        let reads_rows = |n: &NodeId| {
            let mut id = *n;
            while is_view(&graph.nodes[id as usize].op) && !builder.map.contains_key(&id) {
                id = graph.nodes[id as usize].src[0];
            }
            matches!(builder.map.get(&id), Some(Loc::Row(_)))
        };
        if !done[k] && !members.contains(&k) {
            let later = kernel.nodes.iter().any(|n| graph.nodes[*n as usize].src.iter().any(reads_rows));
            if later {
                stack.extend(&kernel.nodes);
            }
        }
    }
    let mut seen: HashSet<NodeId> = HashSet::new();
    let mut sums: Vec<NodeId> = Vec::new();
    while let Some(id) = stack.pop() {
        if !seen.insert(id) || low.is_kept(id) {
            continue;
        }
        match builder.map.get(&id) {
            Some(Loc::Terminal) => sums.push(id),
            Some(_) => {}
            None => stack.extend(&graph.nodes[id as usize].src),
        }
    }
    // What those sums need.
    let mut needed: HashSet<usize> = HashSet::new();
    let mut seen: HashSet<NodeId> = HashSet::new();
    while let Some(id) = sums.pop() {
        if !seen.insert(id) || low.is_kept(id) {
            continue;
        }
        if let Some(k) = owner.get(&id) {
            needed.insert(*k);
        }
        sums.extend(&graph.nodes[id as usize].src);
    }
    (!needed.is_empty() && needed.len() < taken.len()).then_some(needed)
}

fn discard(low: &mut Lowering<'_>, builder: Builder) {
    builder.pending.into_iter().for_each(|(_, value)| low.release(value));
}

fn candidates(low: &Lowering<'_>, kernel: &Kernel) -> Vec<Domain> {
    let graph = low.graph;
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
            found.push(Domain { lead: shape[..p].to_vec(), flat: false });
        }
    };
    lead(2);
    let whole =
        matches!(node.op, Op::Sum { .. } | Op::ReduceMax { .. } | Op::MatMul { .. } | Op::Scan(_) | Op::Call(_));
    if shape.len() == 1 || whole {
        lead(1);
    } else {
        found.push(Domain { lead: shape.clone(), flat: true });
        if !shape.is_empty() {
            found.push(Domain { lead: shape[..1].to_vec(), flat: false });
        }
    }
    found
}

fn gather(
    low: &mut Lowering<'_>,
    kernels: &[Kernel],
    done: &[bool],
    first: usize,
    domain: Domain,
) -> (Builder, Vec<usize>) {
    let mut builder = Builder::new(domain);
    let mut taken = Vec::new();
    for (k, kernel) in kernels.iter().enumerate().skip(first) {
        if done[k] || kernel.nodes.is_empty() {
            continue;
        }
        let mark = builder.mark();
        match builder.kernel(low, &kernel.nodes, kernel.body.as_deref()) {
            Ok(()) => taken.push(k),
            Err(_) => {
                builder.rollback(low, mark, &kernel.nodes);
                if taken.is_empty() {
                    break;
                }
            }
        }
    }
    (builder, taken)
}

fn commit(low: &mut Lowering<'_>, mut builder: Builder, kernels: &[Kernel], taken: &[usize]) {
    let members: HashSet<usize> = taken.iter().copied().collect();
    let mut nodes: Vec<NodeId> = taken.iter().flat_map(|k| kernels[*k].nodes.iter().copied()).collect();
    nodes.sort_unstable();
    nodes.dedup();
    let (rows, groups) = (builder.domain.rows(), builder.domain.groups());
    for (id, value) in std::mem::take(&mut builder.pending) {
        low.register(id, value);
    }
    for id in nodes {
        let Some(Loc::Row(reg)) = builder.map.get(&id).copied() else { continue };
        if low.used_outside(id, &members) {
            let m = builder.sizes[reg];
            let value = low.reserve(groups * rows * m);
            low.register(id, value);
            let table = Table::Dense { start: 0, len: m };
            let dst = Mem { value, offset: 0, group: rows * m, row: m, time: Vec::new(), table: table.clone() };
            builder.code.push(Instr::Store { src: Opnd::Reg(reg, table), dst });
        }
    }
    for (id, terminal) in &mut builder.terminals {
        terminal.dst = low.reserve(groups * terminal.size);
        low.register(*id, terminal.dst);
    }
    let terminals = builder.terminals.into_iter().map(|t| t.1).collect();
    let code = super::fuse::fuse(builder.code);
    let (registers, blocks) = assign(&code, &builder.sizes);
    let widest = registers.iter().map(|r| r.1).max().unwrap_or(1);
    let cap = match widest {
        0..=1 => 1024,
        2..=4 => 256,
        5..=16 => 128,
        _ => 64,
    };
    // At most this much scratch: the second-level cache is shared with the data.
    let room = ((1 << 16) / blocks.max(1) / 16 * 16).max(16);
    let lanes = rows.next_multiple_of(16).min(cap).min(room.max(if widest > 16 { 64 } else { 16 }));
    low.step(Step::Tile(Box::new(Tile {
        groups,
        rows,
        lanes,
        registers,
        blocks,
        code,
        terminals,
        work: builder.work,
        depth: builder.deepest,
    })));
}
