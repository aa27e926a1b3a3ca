//! Kernels of a plan as WGSL.
//!
//! `emit` writes an element of a value as statements; `contract`, `moves` and `scalar` hold its operations, and
//! `results` stores it. On these stand this file (an invocation per element, or per row of a call), `rowwise` (loops),
//! `reduce` (long sums: a workgroup per result), `matmul` (a 4×4 block per invocation), `tiled` (large products; not on
//! software adapters, whose barriers are slow) and `split`. Storage is declared as u32 and bitcast, because slots hold
//! either type. Numbers that a shader compiler may refuse as constants (infinities, NaN, subnormals) are combined with
//! a run-time zero.

mod contract;
mod emit;
mod index;
mod inner_loop;
mod matmul;
mod memory;
mod moves;
mod reduce;
mod results;
mod rowwise;
mod scalar;
mod split;
mod tiled;

use std::fmt::Write;

use quickstudy_kernels::tensor::{Graph, NodeId, Op};
use quickstudy_kernels::{DType, Error, Result};

use emit::{Emitter, Uses};
use index::Ix;
pub(crate) use memory::{Leaf, Memory, Words};
use results::{Code, DIMENSION, GROUP, results, write};
pub(crate) use rowwise::RowLoop;

use crate::limits::KernelLimits;
use crate::plan::{Kernel, Kind};

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
    /// The shader that runs.
    pub shader: Shader,
    /// The buffers that it binds, and whether it writes them: numbers as in [`Memory`]; the one after the last is the
    /// scratch buffer.
    pub bindings: Vec<(usize, bool)>,
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
    scalars: usize,
    limits: KernelLimits,
) -> Result<(Vec<Pass>, usize)> {
    let new = || Emitter::new(graph, memory.leaves.clone(), &kernel.nodes);
    let mut emitter = new();
    let product = kernel.nodes.iter().copied().find(|id| matches!(graph.nodes[*id as usize].op, Op::MatMul { .. }));
    let mut slices = 1;
    let mut heads = Vec::new();
    let code = match (kernel.kind, product) {
        (Kind::Reduce, _) if reduce::by_groups(graph, kernel, &emitter) => {
            let of = reduce::ReduceWork::of(&emitter, kernel, limits);
            (slices, heads) = (of.slices, of.heads.clone());
            reduce::emit(&mut emitter, kernel, memory, &of)
        }
        (Kind::MatMul, Some(product)) => {
            let of = matmul::MatMulWork::of(&emitter, product, limits);
            (slices, heads) = (of.slices, vec![product]);
            match of.tile {
                Some(tile) => tiled::emit(&mut emitter, kernel, memory, &of, tile),
                None => matmul::emit(&mut emitter, kernel, memory, &of),
            }
        }
        _ => map(&mut emitter, kernel, memory),
    };
    ends(&emitter, limits)?;
    let moved = memory.writes.iter().map(|w| written(graph, kernel, w.0)).sum();
    let first = pass(emitter, code, scalars, moved)?;
    if slices == 1 {
        return Ok((vec![first], 0));
    }
    let mut emitter = new();
    let code = split::emit(&mut emitter, kernel, memory, &heads, slices);
    ends(&emitter, limits)?;
    let second = pass(emitter, code, scalars, moved)?;
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

/// Checks that an invocation makes no more iterations than it may.
fn ends(emitter: &Emitter<'_>, limits: KernelLimits) -> Result<()> {
    if emitter.trips <= limits.trips {
        return Ok(());
    }
    Err(Error::Device(format!(
        "a kernel's invocations make {} iterations of loops, and this GPU allows {}; reduce one axis after the other",
        emitter.trips, limits.trips
    )))
}

/// A module around code.
fn pass(emitter: Emitter<'_>, (body, groups): Code, scalars: usize, moved: usize) -> Result<Pass> {
    let graph = emitter.graph;
    let (text, uses) = emitter.finish()?;
    let all = uses.read.union(&uses.written);
    let bindings: Vec<(usize, bool)> = all.map(|k| (*k, uses.written.contains(k))).collect();
    let text = assemble(graph, &uses, &bindings, scalars, &body, &text, GROUP);
    Ok(Pass { shader: Shader { text, groups: spread(groups), levels: uses.levels }, bindings, moved })
}

/// A module: bindings, functions, more declarations, and `main` with its statements.
fn assemble(
    graph: &Graph,
    uses: &Uses,
    bindings: &[(usize, bool)],
    scalars: usize,
    declarations: &str,
    body: &str,
    size: usize,
) -> String {
    let mut module = String::new();
    header(&mut module, graph, uses, bindings, scalars);
    module.push_str(declarations);
    _ = writeln!(
        module,
        "@compute @workgroup_size({size})\nfn main(@builtin(workgroup_id) group: vec3<u32>, \
         @builtin(local_invocation_index) local: u32, @builtin(num_workgroups) count: vec3<u32>) {{"
    );
    module.push_str(body);
    module.push_str("}\n");
    module
}

/// Arranges so many workgroups, in two dimensions where one is too short.
fn spread(groups: usize) -> [u32; 3] {
    let y = groups.div_ceil(DIMENSION);
    [groups.div_ceil(y) as u32, y as u32, 1]
}

/// Bindings, constants and the functions that are used.
fn header(module: &mut String, graph: &Graph, uses: &Uses, bindings: &[(usize, bool)], scalars: usize) {
    for (i, (k, written)) in bindings.iter().enumerate() {
        let access = if *written { "read_write" } else { "read" };
        _ = writeln!(module, "@group(1) @binding({i}) var<storage, {access}> b{k}: array<u32>;");
    }
    let words = 1 + scalars.div_ceil(4);
    _ = writeln!(module, "@group(0) @binding(0) var<uniform> words: array<vec4<u32>, {words}>;");
    for level in 0..uses.levels {
        _ = writeln!(module, "@group(0) @binding({}) var<uniform> step{level}: vec4<u32>;", level + 1);
    }
    for (k, id) in uses.literals.iter().enumerate() {
        let node = &graph.nodes[*id as usize];
        if let Op::Literal(values) = &node.op {
            let word = |v: &u64| match node.dtype {
                DType::F32 => (f64::from_bits(*v) as f32).to_bits(),
                DType::U32 => *v as u32,
            };
            let list = values.iter().map(|v| format!("{:#x}u", word(v))).collect::<Vec<_>>().join(", ");
            let n = values.len();
            _ = writeln!(module, "var<private> literal{k}: array<u32, {n}> = array<u32, {n}>({list});");
        }
    }
    module.push_str(include_str!("wgsl/library.wgsl"));
    for n in &uses.permutations {
        permutation(module, *n);
    }
}

/// The keyed permutation of `0..n`, as `quickstudy_kernels::rng::Permutation`.
fn permutation(module: &mut String, n: u32) {
    let bits = u32::BITS - (n - 1).leading_zeros();
    let low = bits / 2;
    let (low_mask, high_mask) = ((1u32 << low) - 1, (1u32 << (bits - low)) - 1);
    let mask = high_mask << low | low_mask;
    let last = n - 1;
    _ = writeln!(
        module,
        "fn network{n}(x0: u32, w: vec2<u32>) -> u32 {{
  let x = (x0 + w.x) & {mask}u;
  var l = x >> {low}u;
  var r = x & {low_mask}u;
  for (var j = 0u; j < 8u; j += 2u) {{
    l ^= mixed(r ^ mixed(w.x + j * 0x9e3779b9u)) & {high_mask}u;
    r ^= mixed(l ^ mixed(w.y + (j + 1u) * 0x9e3779b9u)) & {low_mask}u;
  }}
  return (l << {low}u) | r;
}}
fn permute{n}(index: u32, k0: u32, k1: u32) -> u32 {{
  let w = threefry(k0, k1, 0u, 0xfffffffeu);
  var x = network{n}(min(index, {last}u), w);
  // Walks on a cycle of the network, which leads back inside.
  while (x >= {n}u) {{
    x = network{n}(x, w);
  }}
  return x;
}}"
    );
}

/// One invocation per element of the kernel's space; of calls, per row.
fn map(emitter: &mut Emitter<'_>, kernel: &Kernel, memory: &Memory) -> Code {
    let space: usize = kernel.space.iter().product();
    emitter.line(&format!("let item = (group.x + group.y * count.x) * {GROUP}u + local;"));
    emitter.line(&format!("if (item >= {space}u) {{ return; }}"));
    let item = if space == 1 { Ix::Known(0) } else { Ix::var("item") };
    results(emitter, kernel, memory, &item);
    (String::new(), space.div_ceil(GROUP))
}

/// One dispatch that copies values of any shapes to where the writes say.
///
/// # Errors
/// If one of them is not in memory.
pub(crate) fn copies(graph: &Graph, memory: &Memory, scalars: usize) -> Result<Pass> {
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
    pass(emitter, (String::new(), most.div_ceil(GROUP)), scalars, moved)
}
