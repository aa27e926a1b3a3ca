//! From a traced graph to a plan.
//!
//! Each scope (the program, then the body of each loop) is planned on its own, in this order:
//! 1. `flow`: the scope's nodes and who reads whom; views and constants fold away.
//! 2. `inline`: nodes that are cheaper to compute where they are read than to keep.
//! 3. `fuse`: the other nodes are grouped into kernels.
//! 4. `order`: what is written in place, and an order of the kernels.
//! 5. `memory`: temporaries, shared by values that are not alive at the same time.
//!
//! A map joins the product or reduction that it follows, siblings share a kernel, and no kernel binds more than 8
//! buffers. A carry changed by `store` whose old value is read afterwards is an error; what else cannot be done
//! in place is a copy, which the plan shows.
//!
//! A fault here would be a silent wrong answer. So `Plan::validate` follows what every place holds (in debug builds),
//! random programs are run by `reference::run_plan` exactly as the plan says and must equal the graph's own values to
//! the last bit, and tests assert the number of dispatches of programs that matter.
//!
//! Here and in the CPU backend the larger steps are `#[inline(never)]`: a browser optimises a
//! function as a whole, in time that grows faster than its size, and all of planning in one function
//! keeps it from the kernels for half a second.

#[cfg(feature = "debug")]
mod bulk;
mod flow;
mod fuse;
mod inline;
mod memory;
mod options;
mod order;
mod reach;
mod scope;
#[cfg(test)]
mod tests;
mod unfused;
mod validate;

use rustc_hash::{FxHashMap, FxHashSet};

pub use options::PlanOptions;
use scope::{Scope, Want};

use super::context::Context;
use super::plan::{Kernel, KernelSchedule, Kind, Place, Plan, Role};
use crate::math::order::by_key;
use crate::tensor::op::Scan;
use crate::tensor::{Graph, NodeId, Op};
use crate::{Error, Result};

/// Plan a traced program.
pub(super) fn plan(cx: Context, mut graph: Graph, options: &PlanOptions) -> Result<Plan> {
    if cx.results.is_empty() {
        return Err(Error::Program("nothing is computed: declare an output or update a state".to_owned()));
    }
    let results: Vec<(NodeId, usize)> = cx.results.iter().map(|(t, arg)| (t.raw(), *arg)).collect();
    let wanted: Vec<NodeId> = results.iter().map(|r| r.0).collect();
    crate::grad::tidy_loops(&mut graph, &wanted);
    #[cfg(feature = "debug")]
    bulk::check(&graph, &cx.args, &results)?;
    let outs = outs_of(&graph, &wanted);
    let wants: Vec<Want> = results
        .iter()
        .map(|(node, arg)| {
            let state = cx.args[*arg].role == Role::State;
            let old = |op: &Op| matches!(op, Op::Input(i) if *i as usize == *arg);
            Want {
                node: *node,
                place: Place::Arg(*arg),
                old: if state { graph.nodes.iter().position(|n| old(&n.op)).map(|i| i as NodeId) } else { None },
                name: format!("state `{}`", cx.args[*arg].name),
            }
        })
        .collect();
    let scope = Scope { graph: &graph, scope: crate::tensor::graph::ROOT, outs: &outs, options };
    let schedule = scope.schedule(&wants)?;
    let plan = Plan { graph, args: cx.args, scalars: cx.scalars, results, schedule };
    if cfg!(any(debug_assertions, test, feature = "validate")) {
        plan.validate().map_err(|e| Error::Program(format!("{e}\n{plan}")))?;
    }
    Ok(plan)
}

impl Scope<'_> {
    fn schedule(&self, wants: &[Want]) -> Result<KernelSchedule> {
        if self.options.fuse { self.fused(wants) } else { self.unfused(wants) }
    }

    #[inline(never)]
    fn fused(&self, wants: &[Want]) -> Result<KernelSchedule> {
        let flow = flow::Flow::new(self, wants);
        let mut forced = vec![false; flow.items.len()];
        let mut cap = fuse::Cap { most: self.options.max_bindings, in_place: true };
        loop {
            let inlined = inline::choose(&flow, &forced);
            let groups = fuse::group(&flow, &inlined, cap);
            // A single node whose inlined operands bind too much keeps one of them in memory instead.
            if let Some(item) = groups.overfull(&flow, &inlined, cap)
                && !std::mem::replace(&mut forced[item], true)
            {
                continue;
            }
            let schedule = memory::emit(self, &flow, &inlined, order::order(&flow, &inlined, groups)?)?;
            let too_many = |k: &Kernel| k.kind != Kind::Scan && k.bindings() > cap.most;
            if cap.in_place && schedule.kernels.iter().any(too_many) {
                // What was to be written in place could not be.
                cap.in_place = false;
                continue;
            }
            return Ok(schedule);
        }
    }

    /// Schedule of a scan's body.
    #[inline(never)]
    fn body(&self, scan: &Scan) -> Result<KernelSchedule> {
        let wants: Vec<Want> = scan
            .body
            .outs
            .iter()
            .enumerate()
            .map(|(i, node)| {
                if i < scan.carries {
                    let param = 1 + i;
                    let (place, old) = (Place::Param(param), Some(scan.body.params[param]));
                    Want { node: *node, place, old, name: format!("carry {i} of a scan") }
                } else {
                    let row = i - scan.carries;
                    Want { node: *node, place: Place::Row(row), old: None, name: format!("output {row} of a scan") }
                }
            })
            .collect();
        Scope { scope: scan.body.scope, ..*self }.schedule(&wants)
    }
}

/// Results of scans and calls: of calls those that are needed, of scans all, because a carry is
/// kept even if only the loop itself reads it.
#[inline(never)]
fn outs_of(graph: &Graph, wanted: &[NodeId]) -> FxHashMap<NodeId, Vec<NodeId>> {
    let mut outs: FxHashMap<NodeId, Vec<NodeId>> = FxHashMap::default();
    let needed: FxHashSet<NodeId> = graph.reachable(wanted, crate::tensor::graph::ROOT).into_iter().collect();
    for (id, node) in graph.nodes.iter().enumerate() {
        if let Op::Out(_) = node.op {
            let of_call = matches!(graph.nodes[node.src[0] as usize].op, Op::Call(_));
            if !of_call || needed.contains(&(id as NodeId)) {
                outs.entry(node.src[0]).or_default().push(id as NodeId);
            }
        }
    }
    for list in outs.values_mut() {
        *list = by_key(std::mem::take(list), &|id| match graph.nodes[*id as usize].op {
            Op::Out(i) => u64::from(i),
            _ => 0,
        });
    }
    outs
}
