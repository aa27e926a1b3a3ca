//! The results of a dispatch: which elements an invocation computes and where it stores them.

use quickstudy_kernels::DType;
use quickstudy_kernels::tensor::{NodeId, Op};

use super::body::buffer;
use super::emit::Emitter;
use super::index::Ix;
use super::memory::{Memory, Words};
use crate::plan::Kernel;

/// Invocations of a workgroup.
pub(crate) const GROUP: usize = 256;
/// Workgroups along one dimension at most.
pub(super) const DIMENSION: usize = 65_535;

/// Compute and store all that belongs to an index of the kernel's space.
pub(super) fn results(emitter: &mut Emitter<'_>, kernel: &Kernel, memory: &Memory, item: &Ix) {
    let mut stores = Vec::new();
    for (node, to, row) in &memory.writes {
        elements(emitter, kernel, *node, item, |at, x, guard| stores.push((*node, *to, *row, at, x, guard)));
    }
    for (node, to, row, at, x, guard) in stores {
        write(emitter, node, (to, row), &at, &x, guard.as_deref());
    }
}

/// Compute and store all that follows a product or reductions, whose values at this index are in variables.
pub(super) fn after(
    emitter: &mut Emitter<'_>,
    kernel: &Kernel,
    memory: &Memory,
    known: &[(NodeId, String)],
    item: &Ix,
) {
    let graph = emitter.graph;
    for (node, name) in known {
        let shape = &graph.nodes[*node as usize].shape;
        let at = emitter.unflat(shape, item);
        emitter.same(shape, &at, item);
        emitter.know(*node, &at, name);
    }
    for (node, ..) in &memory.writes {
        let node = &graph.nodes[*node as usize];
        let of = if node.op == Op::Store { &graph.nodes[node.src[2] as usize].shape } else { &node.shape };
        if of.iter().product::<usize>() == kernel.space.iter().product::<usize>() {
            let at = emitter.unflat(of, item);
            emitter.same(of, &at, item);
        }
    }
    results(emitter, kernel, memory, item);
}

/// Store partial results of a slice, to be joined by the next dispatch.
pub(super) fn partial(
    emitter: &mut Emitter<'_>,
    memory: &Memory,
    known: &[(NodeId, String)],
    index: &Ix,
    stride: usize,
) {
    let scratch = memory.written.len();
    emitter.written.insert(scratch);
    for (i, (node, name)) in known.iter().enumerate() {
        let to = emitter.add(index, &Ix::Known(i * stride));
        let float = emitter.graph.nodes[*node as usize].dtype == DType::F32;
        let word = if float { format!("bitcast<u32>({name})") } else { name.clone() };
        emitter.line(&format!("{}[{to}] = {word};", buffer(scratch)));
    }
}

/// The elements of a written value that belong to an invocation: where they go, their values, and on which condition.
fn elements(
    emitter: &mut Emitter<'_>,
    kernel: &Kernel,
    node: NodeId,
    item: &Ix,
    mut each: impl FnMut(Vec<Ix>, String, Option<String>),
) {
    let graph = emitter.graph;
    let shape = &graph.nodes[node as usize].shape;
    match (&graph.nodes[node as usize].op, &kernel.operands) {
        (Op::Store, _) if kernel.nodes.contains(&node) => {
            let src = &graph.nodes[node as usize].src;
            let at = emitter.unflat(&graph.nodes[src[2] as usize].shape, item);
            let axis = graph.nodes[src[1] as usize].shape.len() - 1;
            let index = emitter.value(src[1], &at[..=axis]);
            let x = emitter.value(src[2], &at);
            let mut to = at;
            to[axis] = if shape[axis] == 1 { Ix::Known(0) } else { Ix::var(&index) };
            each(to, x, Some(format!("{index} < {}u", shape[axis])));
        }
        (Op::Concat { axis }, Some(operands)) if kernel.nodes.contains(&node) => {
            let size = |s: &NodeId| graph.nodes[*s as usize].shape[*axis];
            let src = &graph.nodes[node as usize].src;
            let first: usize = src[..operands.start].iter().map(size).sum();
            let mut part = shape.clone();
            part[*axis] = src[operands.clone()].iter().map(size).sum();
            let mut at = emitter.unflat(&part, item);
            let single = (operands.len() == 1).then(|| emitter.value(src[operands.start], &at));
            at[*axis] = emitter.add(&at[*axis].clone(), &Ix::Known(first));
            let x = match single {
                Some(x) => x,
                None => emitter.concat(node, *axis, operands.clone(), &at),
            };
            each(at, x, None);
        }
        _ if kernel.nodes.iter().any(|id| matches!(graph.nodes[*id as usize].op, Op::Call(_))) => {
            let (rows, width) = shape.split_at(shape.len() - 1);
            let at = emitter.unflat(rows, item);
            for i in 0..width[0] {
                let at: Vec<Ix> = at.iter().cloned().chain([Ix::Known(i)]).collect();
                let x = emitter.value(node, &at);
                each(at, x, None);
            }
        }
        _ => {
            let at = emitter.unflat(shape, item);
            let x = emitter.value(node, &at);
            each(at, x, None);
        }
    }
}

/// Store an element.
pub(super) fn write(
    emitter: &mut Emitter<'_>,
    node: NodeId,
    (to, row): (Words, Option<usize>),
    at: &[Ix],
    x: &str,
    guard: Option<&str>,
) {
    let graph = emitter.graph;
    let shape = &graph.nodes[node as usize].shape;
    let mut flat = emitter.flat(shape, at);
    if let Some(level) = row {
        let len: usize = shape.iter().product();
        emitter.levels = emitter.levels.max(level + 1);
        let step = Ix::var(&emitter.bind(format!("step{level}.x")));
        let first = emitter.times(&step, len);
        flat = emitter.add(&first, &flat);
    }
    let place = emitter.stored(to, &flat);
    let word = if graph.nodes[node as usize].dtype == DType::F32 { format!("bitcast<u32>({x})") } else { x.to_owned() };
    match guard {
        Some(guard) => emitter.line(&format!("if ({guard}) {{ {place} = {word}; }}")),
        None => emitter.line(&format!("{place} = {word};")),
    }
}

/// Writes a word to all places of a value.
pub(super) fn written(emitter: &mut Emitter<'_>, memory: &Memory, node: NodeId, flat: &Ix, word: &str) {
    for (_, to, row) in memory.writes.iter().filter(|write| write.0 == node) {
        let flat = match row {
            None => flat.clone(),
            Some(level) => {
                emitter.levels = emitter.levels.max(level + 1);
                let step = Ix::var(&emitter.bind(format!("step{level}.x")));
                let len = emitter.graph.nodes[node as usize].len();
                let first = emitter.times(&step, len);
                emitter.add(&first, flat)
            }
        };
        let place = emitter.stored(*to, &flat);
        emitter.line(&format!("{place} = {word};"));
    }
}
