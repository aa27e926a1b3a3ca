//! Modules: the bodies of one or of several kernels with all that they use.

use std::fmt::Write;

use quickstudy_kernels::DType;
use quickstudy_kernels::tensor::{Graph, NodeId, Op};

use super::Shader;
use super::body::{Body, Shared, named};
use super::results::DIMENSION;

/// A body of a module, and where the dispatch binds its buffers: pairs of its number and the binding.
#[derive(Debug)]
pub(crate) struct Part {
    /// The code.
    pub body: Body,
    /// For each buffer of the body its binding.
    pub bindings: Vec<(usize, usize)>,
}

/// The shader that runs these parts: one in all of its workgroups, or several in one workgroup, each after the one
/// before. `written` tells which bindings are written.
pub(crate) fn shader(graph: &Graph, parts: &[Part], written: &[bool], scalars: usize) -> Shader {
    let levels = parts.iter().map(|part| part.body.uses.levels).max().unwrap_or(0);
    let mut literals: Vec<NodeId> = parts.iter().flat_map(|part| &part.body.uses.literals).copied().collect();
    literals.sort_unstable();
    literals.dedup();
    let mut text = String::new();
    header(&mut text, graph, written, &literals, levels, scalars);
    let mut permutations: Vec<u32> = parts.iter().flat_map(|part| &part.body.uses.permutations).copied().collect();
    permutations.sort_unstable();
    permutations.dedup();
    permutations.into_iter().for_each(|n| permutation(&mut text, n));
    for array in shared(parts.iter().map(|part| &part.body)) {
        _ = writeln!(text, "var<workgroup> {}: array<{}, {}>;", array.name, array.element, array.len);
    }
    let size = parts.first().map_or(1, |part| part.body.size);
    _ = writeln!(
        text,
        "@compute @workgroup_size({size})\nfn main(@builtin(workgroup_id) group: vec3<u32>, \
         @builtin(local_invocation_index) local: u32, @builtin(num_workgroups) count: vec3<u32>) {{"
    );
    let names = |part: &Part, statements: &str| {
        let binding = |k| part.bindings.iter().find(|pair| pair.0 == k).map_or(k, |pair| pair.1);
        let literal = |k: usize| literals.iter().position(|id| *id == part.body.uses.literals[k]).unwrap_or(k);
        named(statements, &binding, &literal)
    };
    let groups = match parts {
        [part] => {
            text.push_str(&names(part, &part.body.setup));
            if let Some(guard) = &part.body.guard {
                _ = writeln!(text, " if (!({guard})) {{ return; }}");
            }
            text.push_str(&names(part, &part.body.text));
            spread(part.body.groups)
        }
        _ => {
            for (i, part) in parts.iter().enumerate() {
                let code = names(part, &turn(&part.body));
                let barrier = if i + 1 < parts.len() { " storageBarrier(); workgroupBarrier();\n" } else { "" };
                text.push_str(&code);
                text.push_str(barrier);
            }
            [1, 1, 1]
        }
    };
    text.push_str("}\n");
    Shader { text, groups, levels }
}

/// A body whose workgroups one workgroup runs in turn. Barriers need all invocations, so none returns early.
fn turn(body: &Body) -> String {
    let mut text = String::new();
    let several = body.groups > 1;
    match several {
        true => {
            _ = writeln!(text, " for (var turn = 0u; turn < {}u; turn++) {{", body.groups);
            _ = writeln!(text, " let group = vec2<u32>(turn, 0u);");
        }
        false => text.push_str(" {\n"),
    }
    text.push_str(&body.setup);
    match body.guard.as_ref().filter(|_| body.shared.is_empty()) {
        Some(guard) => {
            _ = writeln!(text, " if ({guard}) {{");
            text.push_str(&body.text);
            text.push_str(" }\n");
        }
        None => text.push_str(&body.text),
    }
    if several && !body.shared.is_empty() {
        // The next turn writes what some may still read.
        text.push_str(" workgroupBarrier();\n");
    }
    text.push_str(" }\n");
    text
}

/// The arrays in workgroup memory of bodies that run one after the other: each name once, as long as any needs it.
pub(crate) fn shared<'a>(bodies: impl Iterator<Item = &'a Body>) -> Vec<Shared> {
    let mut all: Vec<Shared> = Vec::new();
    for array in bodies.flat_map(|body| &body.shared) {
        match all.iter_mut().find(|other| other.name == array.name) {
            Some(other) => other.len = other.len.max(array.len),
            None => all.push(array.clone()),
        }
    }
    all
}

/// Arranges so many workgroups, in two dimensions where one is too short.
fn spread(groups: usize) -> [u32; 3] {
    let y = groups.div_ceil(DIMENSION);
    [groups.div_ceil(y) as u32, y as u32, 1]
}

/// Bindings, constants and functions.
fn header(text: &mut String, graph: &Graph, written: &[bool], literals: &[NodeId], levels: usize, scalars: usize) {
    for (i, written) in written.iter().enumerate() {
        let access = if *written { "read_write" } else { "read" };
        _ = writeln!(text, "@group(1) @binding({i}) var<storage, {access}> b{i}: array<u32>;");
    }
    let words = 1 + scalars.div_ceil(4);
    _ = writeln!(text, "@group(0) @binding(0) var<uniform> words: array<vec4<u32>, {words}>;");
    for level in 0..levels {
        _ = writeln!(text, "@group(0) @binding({}) var<uniform> step{level}: vec4<u32>;", level + 1);
    }
    for (k, id) in literals.iter().enumerate() {
        let node = &graph.nodes[*id as usize];
        if let Op::Literal(values) = &node.op {
            let word = |v: &u64| match node.dtype {
                DType::F32 => (f64::from_bits(*v) as f32).to_bits(),
                DType::U32 => *v as u32,
            };
            let list = values.iter().map(|v| format!("{:#x}u", word(v))).collect::<Vec<_>>().join(", ");
            let n = values.len();
            _ = writeln!(text, "var<private> literal{k}: array<u32, {n}> = array<u32, {n}>({list});");
        }
    }
    text.push_str(include_str!("library.wgsl"));
}

/// The keyed permutation of `0..n`, as `quickstudy_kernels::rng::Permutation`.
fn permutation(text: &mut String, n: u32) {
    let bits = u32::BITS - (n - 1).leading_zeros();
    let low = bits / 2;
    let (low_mask, high_mask) = ((1u32 << low) - 1, (1u32 << (bits - low)) - 1);
    let mask = high_mask << low | low_mask;
    let last = n - 1;
    _ = writeln!(
        text,
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
