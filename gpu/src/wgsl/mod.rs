//! Kernels of a plan as WGSL.

mod emit;
mod index;
mod matmul;
mod reduce;
mod rowwise;

use std::collections::HashMap;
use std::fmt::Write;

use quickstudy_core::program::{Kernel, Kind};
use quickstudy_core::tensor::{Graph, NodeId, Op};
use quickstudy_core::{DType, Result};

pub(crate) use emit::Leaf;
use emit::{Emitter, Uses};
use index::Ix;
pub(crate) use rowwise::RowLoop;

/// Invocations of a workgroup.
pub(crate) const GROUP: usize = 256;
/// Workgroups along one dimension at most.
const DIMENSION: usize = 65_535;

/// Where values of a kernel are: the memory behind its reads, and the bindings that it writes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Memory {
    /// What is read, by node.
    pub leaves: HashMap<NodeId, Leaf>,
    /// For each write: its binding, and the loop level whose step selects the row of a stacked output.
    pub writes: Vec<(NodeId, usize, Option<usize>)>,
    /// Bindings that are written.
    pub written: Vec<bool>,
}

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

/// The shader of a Map, Reduce or MatMul.
///
/// # Errors
/// If the plan is at fault.
pub(crate) fn shader(graph: &Graph, kernel: &Kernel, memory: &Memory, scalars: usize) -> Result<Shader> {
    let mut emitter = Emitter::new(graph, memory.leaves.clone(), &kernel.nodes);
    let head = |op: &dyn Fn(&Op) -> bool| kernel.nodes.iter().copied().find(|id| op(&graph.nodes[*id as usize].op));
    let (body, groups) = match kernel.kind {
        Kind::Reduce if reduce::by_groups(graph, kernel, &emitter) => reduce::emit(&mut emitter, kernel, memory),
        Kind::MatMul => match head(&|op| matches!(op, Op::MatMul { .. })) {
            Some(product) => matmul::emit(&mut emitter, product, memory),
            None => map(&mut emitter, kernel, memory),
        },
        _ => map(&mut emitter, kernel, memory),
    };
    let (text, uses) = emitter.finish()?;
    let text = assemble(graph, &uses, &memory.written, scalars, &body, &text, GROUP);
    Ok(Shader { text, groups: spread(groups), levels: uses.levels })
}

/// A module: bindings, functions, more declarations, and `main` with its statements.
fn assemble(
    graph: &Graph,
    uses: &Uses,
    written: &[bool],
    scalars: usize,
    declarations: &str,
    body: &str,
    size: usize,
) -> String {
    let mut module = String::new();
    header(&mut module, graph, uses, written, scalars);
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

/// That many workgroups, in two dimensions where one is too short.
fn spread(groups: usize) -> [u32; 3] {
    let y = groups.div_ceil(DIMENSION);
    [groups.div_ceil(y) as u32, y as u32, 1]
}

/// Bindings, constants and the functions that are used.
fn header(module: &mut String, graph: &Graph, uses: &Uses, written: &[bool], scalars: usize) {
    for (k, written) in written.iter().enumerate() {
        let access = if *written { "read_write" } else { "read" };
        _ = writeln!(module, "@group(0) @binding({k}) var<storage, {access}> b{k}: array<u32>;");
    }
    let words = 1 + scalars.div_ceil(4);
    _ = writeln!(module, "@group(1) @binding(0) var<uniform> words: array<vec4<u32>, {words}>;");
    for level in 0..uses.levels {
        _ = writeln!(module, "@group(1) @binding({}) var<uniform> step{level}: vec4<u32>;", level + 1);
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
    module.push_str(include_str!("library.wgsl"));
    for n in &uses.permutations {
        permutation(module, *n);
    }
}

/// The keyed permutation of `0..n`, as `quickstudy_core::rng::Permutation`.
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
fn map(emitter: &mut Emitter<'_>, kernel: &Kernel, memory: &Memory) -> (String, usize) {
    let space: usize = kernel.space.iter().product();
    emitter.line(&format!("let item = (group.x + group.y * count.x) * {GROUP}u + local;"));
    emitter.line(&format!("if (item >= {space}u) {{ return; }}"));
    let item = if space == 1 { Ix::Known(0) } else { Ix::var("item") };
    let mut stores = Vec::new();
    for (node, binding, row) in &memory.writes {
        elements(emitter, kernel, *node, &item, |emitter, at, x, guard| {
            stores.push((*node, *binding, *row, at, x, guard));
            _ = emitter;
        });
    }
    for (node, binding, row, at, x, guard) in stores {
        write(emitter, node, binding, row, &at, &x, guard.as_deref());
    }
    (String::new(), space.div_ceil(GROUP))
}

/// The elements of a written value that belong to an invocation: where they go, their values, and on which condition.
fn elements(
    emitter: &mut Emitter<'_>,
    kernel: &Kernel,
    node: NodeId,
    item: &Ix,
    mut each: impl FnMut(&mut Emitter<'_>, Vec<Ix>, String, Option<String>),
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
            each(emitter, to, x, Some(format!("{index} < {}u", shape[axis])));
        }
        (Op::Concat { axis }, Some(operands)) if kernel.nodes.contains(&node) => {
            let size = |s: &NodeId| graph.nodes[*s as usize].shape[*axis];
            let src = &graph.nodes[node as usize].src;
            let first: usize = src[..operands.start].iter().map(size).sum();
            let mut part = shape.clone();
            part[*axis] = src[operands.clone()].iter().map(size).sum();
            let mut at = emitter.unflat(&part, item);
            at[*axis] = emitter.add(&at[*axis].clone(), &Ix::Known(first));
            let x = emitter.concat(node, *axis, operands.clone(), &at);
            each(emitter, at, x, None);
        }
        _ if kernel.nodes.iter().any(|id| matches!(graph.nodes[*id as usize].op, Op::Call(_))) => {
            let (rows, width) = shape.split_at(shape.len() - 1);
            let at = emitter.unflat(rows, item);
            for i in 0..width[0] {
                let at: Vec<Ix> = at.iter().cloned().chain([Ix::Known(i)]).collect();
                let x = emitter.value(node, &at);
                each(emitter, at, x, None);
            }
        }
        _ => {
            let at = emitter.unflat(shape, item);
            let x = emitter.value(node, &at);
            each(emitter, at, x, None);
        }
    }
}

/// Store an element.
fn write(
    emitter: &mut Emitter<'_>,
    node: NodeId,
    binding: usize,
    row: Option<usize>,
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
    let word = if graph.nodes[node as usize].dtype == DType::F32 { format!("bitcast<u32>({x})") } else { x.to_owned() };
    match guard {
        Some(guard) => emitter.line(&format!("if ({guard}) {{ b{binding}[{flat}] = {word}; }}")),
        None => emitter.line(&format!("b{binding}[{flat}] = {word};")),
    }
}
