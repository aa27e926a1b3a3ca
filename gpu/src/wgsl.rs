//! Kernels of a plan as WGSL.
//!
//! `emit` writes an element of a value as statements; `contract`, `moves` and `scalar` hold its operations, and
//! `results` stores it. On these stand this file (an invocation per element, or per row of a call), `rowwise` (loops),
//! `reduce` (long sums: a workgroup per result), `matmul` (a 4×4 block per invocation), `tiled` (large products) and
//! `lanes` (narrow ones; neither on software adapters, whose barriers are slow), and `split`. `chain` and `sums` are
//! the rows of a chain, tile by tile, and `team` rows of a loop that a workgroup shares. A `module` runs the `body` of
//! one kernel, or of several small ones in turn. Storage is declared as u32 and bitcast, because slots hold either
//! type. Numbers that a shader compiler may refuse as constants (infinities, NaN, subnormals) are combined with a
//! run-time zero.

mod body;
mod chain;
mod chain_code;
mod chain_item;
mod chain_sums;
mod contract;
mod emit;
mod index;
mod inner_loop;
mod lanes;
mod matmul;
mod memory;
mod module;
mod moves;
mod places;
mod reduce;
mod results;
mod row_loop;
mod rowwise;
mod scalar;
mod share;
mod split;
mod stretch;
mod sums;
mod team;
mod tiled;

use quickstudy_kernels::tensor::{Graph, NodeId, Op};
use quickstudy_kernels::{Error, Result};

pub(crate) use body::{Body, Shared};
use emit::Emitter;
use index::Ix;
pub(crate) use memory::{Leaf, Memory, Words};
pub(crate) use module::{Part, shader, shared};
pub(crate) use results::GROUP;
use results::{results, write};
pub(crate) use row_loop::RowLoop;

use crate::limits::{CHAINS, KernelLimits};
use crate::plan::{Kernel, Kind, PlannedChain};
use crate::work::Cost;

/// A compute shader.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Shader {
    /// The module's text. Its entry point is `main`.
    pub text: String,
    /// Workgroups.
    pub groups: [u32; 3],
    /// Loops whose step it reads: uniform buffers 1 to that many of bind group 1.
    pub levels: usize,
}

/// One dispatch of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pass {
    /// The code. Its buffers have the numbers that [`Memory`] gives them; the one after the last is the scratch buffer.
    pub body: Body,
    /// Words that it writes.
    pub moved: usize,
}

/// The shaders of a Map, Reduce or MatMul, and how many words of scratch they share.
///
/// # Errors
/// If an invocation would make more iterations of loops than it may, or the plan is at fault.
pub(crate) fn passes(
    graph: &Graph,
    kernel: &Kernel,
    memory: &Memory,
    limits: KernelLimits,
) -> Result<(Vec<Pass>, usize)> {
    if let Some(of) = kernel.chain.as_ref().filter(|_| CHAINS) {
        return chain_passes(graph, of, memory, limits);
    }
    let new = || Emitter::new(graph, memory.leaves.clone(), &kernel.nodes);
    let mut emitter = new();
    let product = kernel.nodes.iter().copied().find(|id| matches!(graph.nodes[*id as usize].op, Op::MatMul { .. }));
    let mut slices = 1;
    let mut heads = Vec::new();
    let (groups, cost) = match (kernel.kind, product) {
        (Kind::Reduce, _) if reduce::by_groups(graph, kernel, &emitter) => {
            let of = reduce::ReduceWork::of(&emitter, kernel, limits);
            (slices, heads) = (of.slices, of.heads.clone());
            (reduce::emit(&mut emitter, kernel, memory, &of), Cost::Sum)
        }
        (Kind::MatMul, Some(product)) => {
            let of = matmul::MatMulWork::of(&emitter, product, limits);
            (slices, heads) = (of.slices, vec![product]);
            match of.tile {
                Some(tile) => (tiled::emit(&mut emitter, kernel, memory, &of, tile), Cost::Tile),
                None if of.lanes > 1 => (lanes::emit(&mut emitter, kernel, memory, &of), Cost::Product),
                None => (matmul::emit(&mut emitter, kernel, memory, &of), Cost::Product),
            }
        }
        _ => (map(&mut emitter, kernel, memory), Cost::Other),
    };
    ends(emitter.trips(), limits)?;
    let moved = memory.writes.iter().map(|w| written(graph, kernel, w.0)).sum();
    let first = Pass { body: emitter.body(cost, GROUP, groups)?, moved };
    if slices == 1 {
        return Ok((vec![first], 0));
    }
    let mut emitter = new();
    let groups = split::emit(&mut emitter, kernel, memory, &heads, slices);
    ends(emitter.trips(), limits)?;
    let second = Pass { body: emitter.body(Cost::Sum, GROUP, groups)?, moved };
    let results: usize = kernel.space.iter().product();
    let scratch = heads.len().checked_mul(slices * results);
    let scratch = scratch.ok_or_else(|| Error::Device("a sum is too long".to_owned()))?;
    Ok((vec![Pass { moved: scratch, ..first }, second], scratch))
}

/// Words that a kernel writes of a value: of a store or of a part of a concatenation fewer than the value has.
fn written(graph: &Graph, kernel: &Kernel, id: NodeId) -> usize {
    let node = &graph.nodes[id as usize];
    let len = |id: &NodeId| graph.nodes[*id as usize].len();
    match (&node.op, &kernel.operands) {
        (Op::Store, _) if kernel.nodes.contains(&id) => len(&node.src[2]),
        (Op::Concat { .. }, Some(operands)) if kernel.nodes.contains(&id) => {
            node.src[operands.clone()].iter().map(len).sum()
        }
        _ => node.len(),
    }
}

/// The shaders of a Chain, and how many words of scratch they share.
///
/// # Errors
/// If the plan is at fault.
fn chain_passes(graph: &Graph, of: &PlannedChain, memory: &Memory, limits: KernelLimits) -> Result<(Vec<Pass>, usize)> {
    let body = chain::body(graph, of, memory)?;
    ends(body.trips, limits)?;
    let moved = of.outs.iter().map(|id| graph.nodes[*id as usize].len()).sum();
    if !of.has_end() {
        return Ok((vec![Pass { body, moved }], 0));
    }
    let scratch = of.tile.groups * of.tile.workgroups * of.tile.numbers();
    let joins = sums::bodies(graph, of, memory, limits)?;
    let joins = joins.into_iter().map(|body| Pass { body, moved });
    Ok((std::iter::once(Pass { body, moved: scratch }).chain(joins).collect(), scratch))
}

/// Checks that an invocation makes no more iterations than it may.
fn ends(trips: usize, limits: KernelLimits) -> Result<()> {
    if trips <= limits.trips {
        return Ok(());
    }
    Err(Error::Device(format!(
        "a kernel's invocations make {} iterations of loops, and this GPU allows {}; reduce one axis after the other",
        trips, limits.trips
    )))
}

/// One invocation per element of the kernel's space; of calls, per row.
fn map(emitter: &mut Emitter<'_>, kernel: &Kernel, memory: &Memory) -> usize {
    let space: usize = kernel.space.iter().product();
    emitter.line(&format!("let item = (group.x + group.y * count.x) * {GROUP}u + local;"));
    emitter.guard(format!("item < {space}u"));
    let item = if space == 1 { Ix::Known(0) } else { Ix::var("item") };
    results(emitter, kernel, memory, &item);
    space.div_ceil(GROUP)
}

/// One dispatch that copies values of any shapes to where the writes say.
///
/// # Errors
/// If one of them is not in memory.
pub(crate) fn copies(graph: &Graph, memory: &Memory) -> Result<Pass> {
    let len = |node: NodeId| graph.nodes[node as usize].len();
    let most = memory.writes.iter().map(|w| len(w.0)).max().unwrap_or(0);
    let mut emitter = Emitter::new(graph, memory.leaves.clone(), &[]);
    emitter.line(&format!("let item = (group.x + group.y * count.x) * {GROUP}u + local;"));
    for (node, to, row) in &memory.writes {
        emitter.block(&format!("if (item < {}u)", len(*node)), |emitter| {
            let item = if len(*node) == 1 { Ix::Known(0) } else { Ix::var("item") };
            let at = emitter.unflat(&graph.nodes[*node as usize].shape, &item);
            let x = emitter.value(*node, &at);
            write(emitter, *node, (*to, *row), &at, &x, None);
        });
    }
    let moved = memory.writes.iter().map(|w| len(w.0)).sum();
    Ok(Pass { body: emitter.body(Cost::Other, GROUP, most.div_ceil(GROUP))?, moved })
}
