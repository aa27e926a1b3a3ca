//! Names of dispatches, for people.

use quickstudy_kernels::tensor::{Graph, NodeId, Op};

use super::dispatch::Dispatch;
use crate::plan::Plan;

impl Dispatch {
    /// Its operations, and the place in the source that asked for the one that says most; none of copies.
    pub fn described(&self, plan: &Plan) -> (String, Option<String>) {
        let (operations, origin) = operations(&plan.trace.graph, &self.nodes);
        match self.parts.len() {
            1 => (operations, origin),
            n => (format!("{n} in turn: {operations}"), origin),
        }
    }

    /// Operations and origin in one line.
    pub fn name(&self, plan: &Plan) -> String {
        match self.described(plan) {
            (operations, Some(origin)) => format!("{operations} ({origin})"),
            (operations, None) => operations,
        }
    }
}

/// The operations of nodes, and the origin of the one that says most: a product, a sum, a loop, or the last.
fn operations(graph: &Graph, nodes: &[NodeId]) -> (String, Option<String>) {
    let node = |id: &NodeId| &graph.nodes[*id as usize];
    let mut names: Vec<String> = Vec::new();
    for id in nodes {
        let name = match &node(id).op {
            Op::Out(_) => continue,
            Op::Scan(scan) => format!("loop of {} steps", scan.len),
            op => op.name().to_owned(),
        };
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let says_most = |id: &&NodeId| {
        matches!(node(id).op, Op::MatMul { .. } | Op::Sum { .. } | Op::ReduceMax { .. } | Op::Scan(_) | Op::Call(_))
    };
    let main = nodes.iter().find(says_most).or(nodes.last());
    let operations = if names.is_empty() { "copy".to_owned() } else { names.join(", ") };
    (operations, main.map(|id| node(id).origin.to_string()))
}
