//! Which kernels run together.

use std::collections::HashSet;

use super::super::lower::{Lowering, Step};
use super::build::{Builder, Domain, Loc};
use super::registers::assign;
use super::{Instr, Mem, Opnd, Table, Tile};
use crate::program::Kernel;
use crate::tensor::{NodeId, Op};

/// Compile a group that starts with kernel `first` of `kernels`; returns the kernels that it took.
///
/// Kernels that do not fit are left for later if what follows does not need them.
pub fn form(low: &mut Lowering<'_>, kernels: &[Kernel], done: &[bool], first: usize) -> Option<Vec<usize>> {
    let mut best: Option<(f64, Builder, Vec<usize>)> = None;
    for domain in candidates(low, &kernels[first]) {
        let (builder, taken) = gather(low, kernels, done, first, domain);
        let rows = builder.domain.rows();
        let nodes: usize = taken.iter().map(|k| kernels[*k].nodes.len()).sum();
        let score = nodes as f64 * rows as f64 / rows.next_multiple_of(16) as f64;
        if taken.first() == Some(&first) && best.as_ref().is_none_or(|b| score > b.0) {
            best = Some((score, builder, taken));
        }
    }
    let (_, builder, taken) = best?;
    commit(low, builder, kernels, &taken);
    Some(taken)
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
    for p in [2, 1] {
        if shape.len() >= p {
            found.push(Domain { lead: shape[..p].to_vec(), flat: false });
        }
    }
    let whole =
        matches!(node.op, Op::Sum { .. } | Op::ReduceMax { .. } | Op::MatMul { .. } | Op::Scan(_) | Op::Call(_));
    if shape.len() != 1 && !whole {
        found.push(Domain { lead: shape.clone(), flat: true });
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
