//! Plans as text, for people and tests.

use std::fmt::{self, Write};

use super::plan::{Kernel, KernelSchedule, Place, Plan, Role};
use super::program::Program;
use super::views::{is_leaf, is_view};
use crate::DType;
use crate::tensor::{Graph, Node, NodeId, Op, Unary};

impl Program {
    /// The traced graph and the plan as text: the same for the same trace.
    pub fn dump(&self) -> String {
        self.plan().to_string()
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = Text { plan: self, out: String::new() };
        text.arguments()?;
        text.graph()?;
        let sum = (self.schedule.kernels.len(), self.dispatches(), self.schedule.slot_elements());
        writeln!(text.out, "plan: {} kernels, {} dispatches, {} elements of temporaries", sum.0, sum.1, sum.2)?;
        text.schedule(&self.schedule, "  ", "k")?;
        f.write_str(&text.out)
    }
}

struct Text<'a> {
    plan: &'a Plan,
    out: String,
}

impl Text<'_> {
    fn arguments(&mut self) -> fmt::Result {
        writeln!(self.out, "arguments:")?;
        for (i, arg) in self.plan.args.iter().enumerate() {
            let role = match arg.role {
                Role::Input => "input",
                Role::State => "state",
                Role::Output => "output",
            };
            writeln!(self.out, "  @{i} {role} `{}` {}{:?}", arg.name, arg.dtype, arg.shape)?;
        }
        for (i, scalar) in self.plan.scalars.iter().enumerate() {
            writeln!(self.out, "  ${i} scalar `{}` {}", scalar.name, scalar.dtype)?;
        }
        for (node, arg) in &self.plan.results {
            writeln!(self.out, "  %{node} -> @{arg}")?;
        }
        Ok(())
    }

    /// All nodes that the results need, a scope's nodes indented by its depth.
    fn graph(&mut self) -> fmt::Result {
        writeln!(self.out, "graph:")?;
        let graph = &self.plan.graph;
        let outs: Vec<NodeId> = self.plan.results.iter().map(|r| r.0).collect();
        for id in graph.reachable(&outs, crate::tensor::graph::ROOT) {
            let node = &graph.nodes[id as usize];
            let indent = 2 + 2 * graph.depth(node.scope) as usize;
            let value = format!("{}{:?}", node.dtype, node.shape);
            let operands: String = node.src.iter().map(|s| format!(" %{s}")).collect();
            writeln!(self.out, "{:indent$}%{id} = {}{operands}: {value}", "", describe(node))?;
        }
        Ok(())
    }

    fn schedule(&mut self, schedule: &KernelSchedule, indent: &str, prefix: &str) -> fmt::Result {
        for (k, kernel) in schedule.kernels.iter().enumerate() {
            let name = format!("{prefix}{k}");
            self.kernel(kernel, indent, &name)?;
            if let Some(body) = &kernel.body {
                self.schedule(body, &format!("{indent}    "), &format!("{name}."))?;
            }
        }
        if !schedule.slots.is_empty() {
            writeln!(self.out, "{indent}slots {:?}", schedule.slots)?;
        }
        Ok(())
    }

    fn kernel(&mut self, kernel: &Kernel, indent: &str, name: &str) -> fmt::Result {
        let graph = &self.plan.graph;
        let dispatches = kernel.dispatches(graph);
        let (kind, space) = (kernel.kind.name(), &kernel.space);
        write!(self.out, "{indent}{name} {kind} {space:?}: {} buffers", kernel.bindings())?;
        writeln!(self.out, "{}", if dispatches == 1 { String::new() } else { format!(", {dispatches} dispatches") })?;
        let list = |places: &[(NodeId, Place)]| -> String {
            places.iter().map(|(id, place)| format!(" %{id}{}", Where(*place))).collect()
        };
        if !kernel.reads.is_empty() {
            writeln!(self.out, "{indent}  reads{}", list(&kernel.reads))?;
        }
        for id in &kernel.nodes {
            let node = &graph.nodes[*id as usize];
            if let Op::Out(_) = node.op {
                continue;
            }
            let operands: String = node.src.iter().map(|s| format!(" {}", operand(graph, *s))).collect();
            write!(self.out, "{indent}  %{id} = {}{operands}", describe(node))?;
            match &kernel.operands {
                Some(part) if kernel.writes.iter().any(|w| w.0 == *id) => {
                    writeln!(self.out, ", operands {} to {}", part.start, part.end - 1)?;
                }
                _ => writeln!(self.out)?,
            }
        }
        for (id, place) in &kernel.writes {
            writeln!(self.out, "{indent}  {} -> {}", operand(graph, *id), Where(*place))?;
        }
        Ok(())
    }
}

struct Where(Place);

impl fmt::Display for Where {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Place::Arg(i) => write!(f, "@{i}"),
            Place::Slot(i) => write!(f, "#{i}"),
            Place::Param(i) => write!(f, "^{i}"),
            Place::Row(i) => write!(f, "row {i}"),
            Place::Outer => write!(f, "@outer"),
        }
    }
}

/// Name and settings of a node's operation.
pub(super) fn describe(node: &Node) -> String {
    match &node.op {
        Op::Input(i) => format!("@{i}"),
        Op::Param(i) => format!("param {i}"),
        Op::Scalar(i) => format!("${i}"),
        Op::Const(bits) => number(*bits, node.dtype),
        Op::Literal(values) => format!("literal of {}", values.len()),
        Op::Iota { axis } => format!("iota over {axis}"),
        Op::Permute(p) => format!("permute {p:?}"),
        Op::Slice { axis, lo, hi } => format!("slice {lo}..{hi} of {axis}"),
        Op::Pad { axis, lo, hi } => format!("pad {lo}+{hi} of {axis}"),
        Op::Concat { axis } => format!("concat over {axis}"),
        Op::Sum { axis } => format!("sum over {axis}"),
        Op::ReduceMax { axis } => format!("max over {axis}"),
        Op::MatMul { ta, tb } => {
            format!("matmul{}{}", if *ta { " ta" } else { "" }, if *tb { " tb" } else { "" })
        }
        Op::Threefry { word } => format!("threefry word {word}"),
        Op::Permutation { n } => format!("permutation of {n}"),
        Op::Scan(s) => {
            let backwards = if s.reverse { " backwards" } else { "" };
            format!("scan {}x{backwards}, {} carries, {} stacked inputs,", s.len, s.carries, s.xs)
        }
        Op::Call(c) => format!("call `{}`", c.name),
        Op::Out(i) => format!("out {i}"),
        op => op.name().to_owned(),
    }
}

fn number(bits: u64, dtype: DType) -> String {
    match dtype {
        DType::F32 => format!("{:?}", f64::from_bits(bits)),
        DType::U32 => bits.to_string(),
    }
}

/// An operand with its views written after it.
pub(super) fn operand(graph: &Graph, id: NodeId) -> String {
    let node = &graph.nodes[id as usize];
    if is_view(&node.op) {
        let inner = operand(graph, node.src[0]);
        return match &node.op {
            Op::Unary(Unary::Stop) => inner,
            Op::Slice { axis, lo, hi } => format!("{inner}[{lo}..{hi} of {axis}]"),
            Op::Permute(p) => format!("{inner}.permute{p:?}"),
            _ => format!("{inner}:{}", node.shape.iter().map(usize::to_string).collect::<Vec<_>>().join("x")),
        };
    }
    match &node.op {
        Op::Input(_) | Op::Scalar(_) | Op::Const(_) => describe(node),
        Op::Iota { .. } => format!("({})", describe(node)),
        op if is_leaf(op) => format!("%{id}"),
        _ => format!("%{id}"),
    }
}
