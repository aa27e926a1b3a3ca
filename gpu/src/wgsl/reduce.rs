//! Reductions: one workgroup per result, a tree over its invocations.

use quickstudy_core::program::Kernel;
use quickstudy_core::tensor::{Graph, NodeId, Op};

use super::emit::Emitter;
use super::index::Ix;
use super::{GROUP, Memory, write};

/// Elements that one invocation sums by itself.
const SERIAL: usize = 32;

fn reductions(graph: &Graph, kernel: &Kernel, emitter: &Emitter<'_>) -> Vec<NodeId> {
    let results: usize = kernel.space.iter().product();
    let reduces = |id: &NodeId| matches!(graph.nodes[*id as usize].op, Op::Sum { .. } | Op::ReduceMax { .. });
    // Those inside of others have more elements.
    let all: Vec<NodeId> = kernel.nodes.iter().copied().filter(reduces).collect();
    all.into_iter().filter(|id| graph.nodes[*id as usize].len() == results && !emitter.stages(*id).is_empty()).collect()
}

/// Whether a kernel's reductions are long enough to be shared by a workgroup.
pub(super) fn by_groups(graph: &Graph, kernel: &Kernel, emitter: &Emitter<'_>) -> bool {
    let of = reductions(graph, kernel, emitter);
    let Some(first) = of.first() else {
        return false;
    };
    let stages = emitter.stages(*first);
    let same = of.iter().all(|id| emitter.stages(*id) == stages);
    same && stages.iter().product::<usize>() > SERIAL
}

pub(super) fn emit(emitter: &mut Emitter<'_>, kernel: &Kernel, memory: &Memory) -> (String, usize) {
    let graph = emitter.graph;
    let results: usize = kernel.space.iter().product();
    let of = reductions(graph, kernel, emitter);
    let stages = of.first().map(|id| emitter.stages(*id)).unwrap_or_default();
    let total: usize = stages.iter().product();
    let mut module = String::new();
    for (k, id) in of.iter().enumerate() {
        let (_, ty) = emitter.start_of(*id);
        module.push_str(&format!("var<workgroup> shared{k}: array<{ty}, {GROUP}>;\n"));
    }
    emitter.line("let item = group.x + group.y * count.x;");
    // The same for a whole workgroup.
    emitter.line(&format!("if (item >= {results}u) {{ return; }}"));
    let item = if results == 1 { Ix::Known(0) } else { Ix::var("item") };
    for (k, id) in of.iter().enumerate() {
        let (first, _) = emitter.start_of(*id);
        emitter.line(&format!("var sum{k} = {first};"));
    }
    emitter.block(&format!("for (var i = local; i < {total}u; i += {GROUP}u)"), |emitter| {
        let along = emitter.unflat(&stages, &Ix::var("i"));
        for (k, id) in of.iter().enumerate() {
            let at = emitter.unflat(&graph.nodes[*id as usize].shape, &item);
            let x = emitter.reduced(*id, &at, &along);
            let next = emitter.combined(*id, &format!("sum{k}"), &x);
            emitter.line(&format!("sum{k} = {next};"));
        }
    });
    for k in 0..of.len() {
        emitter.line(&format!("shared{k}[local] = sum{k};"));
    }
    emitter.line("workgroupBarrier();");
    emitter.block(&format!("for (var width = {}u; width > 0u; width = width / 2u)", GROUP / 2), |emitter| {
        emitter.block("if (local < width)", |emitter| {
            for (k, id) in of.iter().enumerate() {
                let (a, b) = (emitter.name("v"), emitter.name("v"));
                emitter.line(&format!("let {a} = shared{k}[local];"));
                emitter.line(&format!("let {b} = shared{k}[local + width];"));
                let next = emitter.combined(*id, &a, &b);
                emitter.line(&format!("shared{k}[local] = {next};"));
            }
        });
        emitter.line("workgroupBarrier();");
    });
    emitter.block("if (local == 0u)", |emitter| {
        for (k, id) in of.iter().enumerate() {
            let at = emitter.unflat(&graph.nodes[*id as usize].shape, &item);
            emitter.know(*id, &at, &format!("shared{k}[0]"));
        }
        let mut stores = Vec::new();
        for (node, binding, row) in &memory.writes {
            let at = emitter.unflat(&graph.nodes[*node as usize].shape, &item);
            let x = emitter.value(*node, &at);
            stores.push((*node, *binding, *row, at, x));
        }
        for (node, binding, row, at, x) in stores {
            write(emitter, node, binding, row, &at, &x, None);
        }
    });
    (module, results)
}
