//! From a trace to a plan: the kernels that compute it, in order.
//!
//! Each scope (the program, then the body of each loop) is planned on its own, in this order:
//! 1. `chains`: rows and sums over them that workgroups compute tile by tile. `joined` are concatenations that such
//!    sums are written into.
//! 2. `flow`: the scope's other nodes and who reads whom; views and constants fold away.
//! 3. `inline`: nodes that are cheaper to compute where they are read than to keep.
//! 4. `fuse`: the other nodes are grouped into kernels.
//! 5. `order`: what is written in place, and an order of the kernels.
//! 6. `memory`: temporaries, shared by values that are not alive at the same time.
//!
//! A map joins the product or reduction that it follows, siblings share a kernel, and no kernel binds more than 8
//! buffers. What cannot be done in place, such as a `store` into a carry whose old value is read afterwards, is a copy,
//! which the plan shows.
//!
//! A fault here would be a silent wrong answer. So `Plan::validate` follows what every place holds (in debug builds),
//! tests run random programs on the f64 reference exactly as the plan says, which must equal the graph's own values to
//! the last bit, and tests assert the number of dispatches of programs that matter.
//!
//! The larger steps are `#[inline(never)]`: a browser optimises a function as a whole, in time that grows faster than
//! its size, and all of planning in one function keeps it from the kernels for half a second.

mod chain;
mod chains;
mod flow;
mod fuse;
mod inline;
mod joined;
mod kernel;
mod memory;
mod options;
mod order;
mod print;
mod reach;
mod scope;
#[cfg(test)]
mod tests;
mod unfused;
mod validate;
mod values;

use std::sync::Arc;

use quickstudy_kernels::math::order::by_key;
use quickstudy_kernels::program::chains::Units;
use quickstudy_kernels::program::{Role, Trace};
use quickstudy_kernels::tensor::graph::ROOT;
use quickstudy_kernels::tensor::op::Scan;
use quickstudy_kernels::tensor::{Graph, NodeId, Op};
use quickstudy_kernels::{Error, Result};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::limits::CHAINS;

pub use chain::PlannedChain;
pub(crate) use chain::SumPlace;
pub use kernel::{Kernel, KernelSchedule, Kind, Place};
pub(crate) use kernel::{is_long_product, is_long_sum};
pub use options::PlanOptions;
use scope::{Scope, Want};

/// A planned program.
#[derive(Debug)]
pub struct Plan {
    /// The trace that the kernels compute.
    pub trace: Arc<Trace>,
    /// The kernels.
    pub schedule: KernelSchedule,
}

impl Plan {
    /// Plans a traced program.
    ///
    /// # Errors
    /// A fault of the plan itself, which builds with debug assertions and the feature `validate` look for.
    pub fn new(trace: impl Into<Arc<Trace>>, options: &PlanOptions) -> Result<Plan> {
        Plan::of(trace.into(), options)
    }

    fn of(trace: Arc<Trace>, options: &PlanOptions) -> Result<Plan> {
        let (graph, args) = (&trace.graph, &trace.args);
        let outs = outs_of(graph, &trace.outs());
        let want = |(node, arg): &(NodeId, usize)| {
            let state = args[*arg].role == Role::State;
            let old = |op: &Op| matches!(op, Op::Input(i) if *i as usize == *arg);
            Want {
                node: *node,
                place: Place::Arg(*arg),
                old: if state { graph.nodes.iter().position(|n| old(&n.op)).map(|i| i as NodeId) } else { None },
            }
        };
        let wants: Vec<Want> = trace.results.iter().map(want).collect();
        let units = Units::new(graph, &trace.outs());
        let schedule = Scope { graph, scope: ROOT, outs: &outs, units: &units, options }.schedule(&wants);
        let plan = Plan { trace, schedule };
        if cfg!(any(debug_assertions, test, feature = "validate")) {
            plan.validate().map_err(|e| Error::Program(format!("{e}\n{plan}")))?;
        }
        Ok(plan)
    }

    /// Number of dispatches of one run, as [`Kernel::dispatches`] counts them: a scan counts its body at each step.
    pub fn dispatches(&self) -> usize {
        self.schedule.dispatches(&self.trace.graph)
    }

    /// Number of kernels of that kind outside of loops.
    pub fn count(&self, kind: Kind) -> usize {
        self.schedule.kernels.iter().filter(|k| k.kind == kind).count()
    }
}

impl Scope<'_> {
    fn schedule(&self, wants: &[Want]) -> KernelSchedule {
        if self.options.fuse { self.fused(wants) } else { self.unfused(wants) }
    }

    #[inline(never)]
    fn fused(&self, wants: &[Want]) -> KernelSchedule {
        let nodes: Vec<NodeId> = wants.iter().map(|want| want.node).collect();
        let bytes = self.options.chains.filter(|_| CHAINS);
        let chains = bytes.map_or_else(Vec::new, |bytes| chains::chains(self, self.units, &nodes, bytes));
        let flow = flow::Flow::new(self, wants, &chains);
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
            let schedule = memory::emit(self, &flow, &inlined, order::order(&flow, &inlined, groups));
            let too_many = |k: &Kernel| !matches!(k.kind, Kind::Scan | Kind::Chain) && k.bindings() > cap.most;
            if cap.in_place && schedule.kernels.iter().any(too_many) {
                // What was to be written in place could not be.
                cap.in_place = false;
                continue;
            }
            return schedule;
        }
    }

    /// Schedule of a scan's body.
    #[inline(never)]
    fn body(&self, scan: &Scan) -> KernelSchedule {
        let wants: Vec<Want> = scan
            .body
            .outs
            .iter()
            .enumerate()
            .map(|(i, node)| {
                if i < scan.carries {
                    let param = 1 + i;
                    let (place, old) = (Place::Param(param), Some(scan.body.params[param]));
                    Want { node: *node, place, old }
                } else {
                    let row = i - scan.carries;
                    Want { node: *node, place: Place::Row(row), old: None }
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
    let needed: FxHashSet<NodeId> = graph.reachable(wanted, ROOT).into_iter().collect();
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
