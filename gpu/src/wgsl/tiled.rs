//! Large matrix products: a workgroup computes a tile of the result from operands that it shares in workgroup memory.
//!
//! Each invocation holds 4×4 results as four vectors. Elements beyond an operand's edge are zeros in workgroup memory
//! along the summed axis, and copies of the last row or column otherwise, whose results are not written.

use quickstudy_kernels::tensor::Op;

use super::emit::Emitter;
use super::index::Ix;
use super::matmul::{BLOCK, DEPTH, MatMulWork};
use super::memory::Memory;
use super::results::GROUP;
use crate::plan::Kernel;

/// A load by an invocation, in each step of the summed axis, from an operand: four neighbours along the free axis.
struct TileLoad {
    /// Rows or columns.
    free: Vec<Ix>,
    /// Distance along the summed axis from the step's first.
    depth: Ix,
    /// The first word in workgroup memory.
    to: Ix,
    /// Invocations that do: the others have nothing left to load.
    first: Option<usize>,
}

pub(super) fn emit(
    emitter: &mut Emitter<'_>,
    kernel: &Kernel,
    memory: &Memory,
    work: &MatMulWork,
    (rows, columns): (usize, usize),
) -> usize {
    // Padding spreads what neighbours write over the banks of workgroup memory.
    let stride = [rows / BLOCK + 1, columns / BLOCK + 1];
    let tiles = [0, 1].map(|side| emitter.share(side, "vec4<f32>", DEPTH * stride[side]));
    let blocks = work.blocks();
    let count: usize = blocks.iter().product();
    emitter.line("let tile = group.x + group.y * count.x;");
    emitter.guard(format!("tile < {count}u"));
    let at = emitter.unflat(&blocks, &if count == 1 { Ix::Known(0) } else { Ix::var("tile") });
    let (outer, block) = at.split_at(at.len() - 2);
    let (slice, outer) = (&outer[0], &outer[1..]);
    let corner = [emitter.times(&block[0], rows), emitter.times(&block[1], columns)];
    let mut loads = Vec::new();
    for (side, (tile, size)) in [(rows, work.m), (columns, work.n)].into_iter().enumerate() {
        loads.push(places(emitter, work, side, &corner[side], (tile, size)));
    }
    let across = columns / BLOCK;
    emitter.line(&format!("let down = local / {across}u;"));
    emitter.line(&format!("let across = local % {across}u;"));
    for i in 0..BLOCK {
        emitter.line(&format!("var sum{i} = vec4<f32>(0.0f);"));
    }
    let start = emitter.times(slice, work.each);
    let steps = work.each.div_ceil(DEPTH);
    let whole = work.slices * work.each == work.k && work.each.is_multiple_of(DEPTH);
    emitter.repeat("turn", steps, |emitter| {
        emitter.line(&format!("let front = {start} + turn * {DEPTH}u;"));
        for (side, loads) in loads.iter().enumerate() {
            for load in loads {
                match load.first {
                    Some(n) => emitter.block(&format!("if (local < {n}u)"), |emitter| {
                        fetch(emitter, work, side, outer, (load, &tiles[side]), whole);
                    }),
                    None => fetch(emitter, work, side, outer, (load, &tiles[side]), whole),
                }
            }
        }
        emitter.line("workgroupBarrier();");
        for depth in 0..DEPTH {
            emitter.line(&format!("let a{depth} = {}[down + {}u];", tiles[0], depth * stride[0]));
            emitter.line(&format!("let b{depth} = {}[across + {}u];", tiles[1], depth * stride[1]));
            for i in 0..BLOCK {
                emitter.line(&format!("sum{i} = fma(vec4<f32>(a{depth}[{i}]), b{depth}, sum{i});"));
            }
        }
        emitter.line("workgroupBarrier();");
    });
    let places = |emitter: &mut Emitter<'_>, first: &Ix, name: &str, tile: usize, n: usize| -> Vec<(Ix, String)> {
        let by = emitter.times(&Ix::var(name), BLOCK);
        let first = emitter.add(first, &by);
        let whole = n.is_multiple_of(tile);
        let mut place = |i: usize| {
            let i = emitter.add(&first, &Ix::Known(i));
            let inside = if whole { "true".to_owned() } else { format!("{i} < {n}u") };
            (i, inside)
        };
        (0..BLOCK).map(&mut place).collect()
    };
    let down = places(emitter, &corner[0], "down", rows, work.m);
    let across = places(emitter, &corner[1], "across", columns, work.n);
    for (i, (row, row_inside)) in down.iter().enumerate() {
        for (j, (column, column_inside)) in across.iter().enumerate() {
            emitter.block(&format!("if ({row_inside} && {column_inside})"), |emitter| {
                let at: Vec<Ix> = outer.iter().cloned().chain([row.clone(), column.clone()]).collect();
                let name = emitter.bind(format!("sum{i}[{j}]"));
                work.finish(emitter, kernel, memory, (slice, at), &name);
            });
        }
    }
    count
}

/// The loads of this invocation from an operand.
fn places(
    emitter: &mut Emitter<'_>,
    work: &MatMulWork,
    side: usize,
    corner: &Ix,
    (tile, size): (usize, usize),
) -> Vec<TileLoad> {
    let summed_last = match emitter.graph.nodes[work.node as usize].op {
        Op::MatMul { ta, tb } => (side == 0) != if side == 0 { ta } else { !tb },
        _ => true,
    };
    let (quads, stride) = (tile / BLOCK, tile / BLOCK + 1);
    let vectors = quads * DEPTH;
    let mut loads = Vec::new();
    for round in 0..vectors.div_ceil(GROUP) {
        let e = emitter.add(&Ix::var("local"), &Ix::Known(round * GROUP));
        // Neighbours load what is next to each other in memory, so far as the operand is not a view.
        let (depth, quad) = match summed_last {
            true => (emitter.modulo(&e, DEPTH), emitter.over(&e, DEPTH)),
            false => (emitter.over(&e, quads), emitter.modulo(&e, quads)),
        };
        let row = emitter.times(&depth, stride);
        let to = emitter.add(&row, &quad);
        let by = emitter.times(&quad, BLOCK);
        let first = emitter.add(corner, &by);
        let mut free = Vec::with_capacity(BLOCK);
        for c in 0..BLOCK {
            let i = emitter.add(&first, &Ix::Known(c));
            free.push(match size.is_multiple_of(tile) {
                true => i,
                false => Ix::var(&emitter.bind(format!("min({i}, {}u)", size - 1))),
            });
        }
        let first = (vectors < GROUP).then_some(vectors);
        loads.push(TileLoad { free, depth, to, first });
    }
    loads
}

/// Load it into an array.
fn fetch(
    emitter: &mut Emitter<'_>,
    work: &MatMulWork,
    side: usize,
    outer: &[Ix],
    (load, array): (&TileLoad, &str),
    whole: bool,
) {
    let k = emitter.add(&Ix::var("front"), &load.depth);
    let inside = if whole { k.clone() } else { Ix::var(&emitter.bind(format!("min({k}, {}u)", work.k - 1))) };
    let x: Vec<String> = load.free.iter().map(|i| emitter.factor(work.node, side, outer, i, &inside)).collect();
    let vector = emitter.bind(format!("vec4<f32>({})", x.join(", ")));
    let to = &load.to;
    match whole {
        true => emitter.line(&format!("{array}[{to}] = {vector};")),
        false => {
            let zero = "vec4<f32>(0.0f)";
            emitter.line(&format!("{array}[{to}] = select({zero}, {vector}, {k} < {}u);", work.k));
        }
    }
}
