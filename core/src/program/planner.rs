//! From a traced graph to a plan.

use super::context::Context;
use super::plan::{Kernel, Kind, Place, Plan, Schedule};
use crate::tensor::{Graph, NodeId, Op};
use crate::{Error, Result};

/// How a program is planned.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PlanOptions {
    /// Join nodes into kernels. Reserved: the planner makes every node a kernel of its own either way, and the CPU backend
    /// joins them by itself.
    pub fuse: bool,
    /// Buffers that one kernel may bind.
    pub max_bindings: usize,
}

impl Default for PlanOptions {
    fn default() -> Self {
        PlanOptions { fuse: true, max_bindings: 8 }
    }
}

/// Plan a traced program.
pub(super) fn plan(cx: Context, mut graph: Graph, _options: &PlanOptions) -> Result<Plan> {
    if cx.results.is_empty() {
        return Err(Error::Program("nothing is computed: declare an output or update a state".to_owned()));
    }
    let results: Vec<(NodeId, usize)> = cx.results.iter().map(|(t, arg)| (t.raw(), *arg)).collect();
    let outs: Vec<NodeId> = results.iter().map(|r| r.0).collect();
    crate::grad::tidy_loops(&mut graph, &outs);
    let mut schedule = unfused(&graph, &outs, crate::tensor::graph::ROOT);
    copy_results(&graph, &results, &mut schedule);
    Ok(Plan { graph, args: cx.args, scalars: cx.scalars, results, schedule })
}

/// Whether a node only says how another one is indexed.
pub fn is_view(op: &Op) -> bool {
    matches!(op, Op::Reshape | Op::Permute(_) | Op::Broadcast | Op::Slice { .. })
}

/// Whether a node needs no work: an argument, a parameter or a constant.
pub fn is_leaf(op: &Op) -> bool {
    matches!(op, Op::Input(_) | Op::Param(_) | Op::Const(_) | Op::Literal(_) | Op::Iota { .. } | Op::Scalar(_))
}

/// One kernel for each node of `scope` that is neither a view nor a leaf.
fn unfused(graph: &Graph, outs: &[NodeId], scope: u32) -> Schedule {
    let mut schedule = Schedule::default();
    for id in graph.reachable(outs, scope) {
        let node = &graph.nodes[id as usize];
        if node.scope != scope || is_view(&node.op) || is_leaf(&node.op) || matches!(node.op, Op::Out(_)) {
            continue;
        }
        let mut kernel = Kernel {
            kind: match node.op {
                Op::Sum { .. } | Op::ReduceMax { .. } => Kind::Reduce,
                Op::MatMul { .. } => Kind::MatMul,
                Op::Scan(_) => Kind::Scan,
                _ => Kind::Map,
            },
            space: node.shape.clone(),
            nodes: vec![id],
            writes: Vec::new(),
            body: None,
        };
        let mut keep = |node: NodeId| {
            let place = Place::Slot(schedule.slots.len());
            schedule.slots.push(graph.nodes[node as usize].len());
            schedule.places.insert(node, place);
            kernel.writes.push((node, place));
        };
        match &node.op {
            Op::Scan(_) | Op::Call(_) => {
                for out in id + 1..graph.nodes.len() as NodeId {
                    let n = &graph.nodes[out as usize];
                    if matches!(n.op, Op::Out(_)) && n.src[0] == id {
                        keep(out);
                        kernel.nodes.push(out);
                    }
                }
            }
            _ => keep(id),
        }
        if let Op::Scan(scan) = &node.op {
            kernel.body = Some(Box::new(unfused(graph, &scan.body.outs, scan.body.scope)));
        }
        schedule.kernels.push(kernel);
    }
    schedule
}

/// End a schedule with copies of the results to their arguments.
fn copy_results(graph: &Graph, results: &[(NodeId, usize)], schedule: &mut Schedule) {
    let root = |mut id: NodeId| {
        while is_view(&graph.nodes[id as usize].op) && !schedule.places.contains_key(&id) {
            id = graph.nodes[id as usize].src[0];
        }
        id
    };
    // A result that is a view of an argument may be read after that argument has been overwritten: copy it aside first.
    let of_argument: Vec<bool> =
        results.iter().map(|(node, _)| matches!(graph.nodes[root(*node) as usize].op, Op::Input(_))).collect();
    let copy = |node: NodeId, place: Place| Kernel {
        kind: Kind::Map,
        space: graph.nodes[node as usize].shape.clone(),
        nodes: Vec::new(),
        writes: vec![(node, place)],
        body: None,
    };
    for ((node, arg), aside) in results.iter().zip(of_argument) {
        let itself = matches!(graph.nodes[*node as usize].op, Op::Input(i) if i as usize == *arg);
        if aside && !itself && !schedule.places.contains_key(node) {
            let place = Place::Slot(schedule.slots.len());
            schedule.slots.push(graph.nodes[*node as usize].len());
            schedule.places.insert(*node, place);
            schedule.kernels.push(copy(*node, place));
        }
    }
    for (node, arg) in results {
        if !matches!(graph.nodes[*node as usize].op, Op::Input(i) if i as usize == *arg) {
            schedule.kernels.push(copy(*node, Place::Arg(*arg)));
        }
    }
}
