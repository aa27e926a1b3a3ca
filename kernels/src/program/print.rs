//! Programs as text, for people and tests.

use std::fmt::{self, Write};

use super::trace::Trace;
use super::views::{is_leaf, is_view};
use crate::DType;
use crate::tensor::{Graph, Node, NodeId, Op, Unary};

impl fmt::Display for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = Text { trace: self, out: String::new() };
        text.arguments()?;
        text.graph()?;
        f.write_str(&text.out)
    }
}

struct Text<'a> {
    trace: &'a Trace,
    out: String,
}

impl Text<'_> {
    fn arguments(&mut self) -> fmt::Result {
        writeln!(self.out, "arguments:")?;
        for (i, arg) in self.trace.args.iter().enumerate() {
            writeln!(self.out, "  @{i} {} `{}` {}{:?}", arg.role.name(), arg.name, arg.dtype, arg.shape)?;
        }
        for (i, scalar) in self.trace.scalars.iter().enumerate() {
            writeln!(self.out, "  ${i} scalar `{}` {}", scalar.name, scalar.dtype)?;
        }
        for (node, arg) in &self.trace.results {
            writeln!(self.out, "  %{node} -> @{arg}")?;
        }
        Ok(())
    }

    /// All nodes that the results need, a scope's nodes indented by its depth.
    fn graph(&mut self) -> fmt::Result {
        writeln!(self.out, "graph:")?;
        let graph = &self.trace.graph;
        for id in graph.reachable(&self.trace.outs(), crate::tensor::graph::ROOT) {
            let node = &graph.nodes[id as usize];
            let indent = 2 + 2 * graph.depth(node.scope) as usize;
            let value = format!("{}{:?}", node.dtype, node.shape);
            let operands: String = node.src.iter().map(|s| format!(" %{s}")).collect();
            writeln!(self.out, "{:indent$}%{id} = {}{operands}: {value}", "", describe(node))?;
        }
        Ok(())
    }
}

/// Name and settings of a node's operation.
pub fn describe(node: &Node) -> String {
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
pub fn operand(graph: &Graph, id: NodeId) -> String {
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
