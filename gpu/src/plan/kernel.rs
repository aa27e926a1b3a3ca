//! Kernels, and the schedules that they form.

use std::collections::BTreeMap;
use std::sync::Arc;

use quickstudy_kernels::program::{fold, is_view};
use quickstudy_kernels::tensor::{Graph, NodeId, Op};

use super::chain::PlannedChain;

/// The kinds of kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Each element of an index space on its own.
    Map,
    /// Sums or maxima along axes of an index space.
    Reduce,
    /// A batched matrix product.
    MatMul,
    /// Rows that workgroups compute tile by tile, and sums over them.
    Chain,
    /// A loop over a body schedule.
    Scan,
}

impl Kind {
    /// Name in printed plans.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Map => "map",
            Kind::Reduce => "reduce",
            Kind::MatMul => "matmul",
            Kind::Chain => "chain",
            Kind::Scan => "scan",
        }
    }
}

/// The memory that keeps a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Place {
    /// The argument of that number.
    Arg(usize),
    /// The temporary of that number, of the schedule that the value belongs to.
    Slot(usize),
    /// In what is bound to the loop body's parameter of that number: a carry, or a row of a stacked input. A write
    /// there is the carry's new value.
    Param(usize),
    /// The current row of the loop's stacked output of that number. Only written.
    Row(usize),
    /// Somewhere in the schedule around a loop's body: where the Scan kernel's own `reads` say. Only read.
    Outer,
}

/// One unit of work.
///
/// A kernel computes `nodes` (in topological order; views and constants are not listed, a cheap node may be computed
/// by several kernels) from the values in `reads`, and keeps those in `writes`. At one index of its space it reads all
/// that it needs before it writes, so one place may be both read and written where both are at the same index. A
/// kernel without nodes copies: its writes are of values that exist already. A written node may be a view of what the
/// kernel has or reads. A Scan copies first values of carries that are not yet where its writes say.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// Its kind.
    pub kind: Kind,
    /// The index space: of a Reduce or MatMul, that of its result.
    pub space: Vec<usize>,
    /// The nodes that it computes.
    pub nodes: Vec<NodeId>,
    /// The operands of a Concat of which the kernel writes a part. Others write the others in the same place.
    pub operands: Option<std::ops::Range<usize>>,
    /// The values that it reads from memory, and where they are then. Views lead to these.
    pub reads: Vec<(NodeId, Place)>,
    /// The values that it keeps, and where.
    pub writes: Vec<(NodeId, Place)>,
    /// The inside of a Scan.
    pub body: Option<Box<KernelSchedule>>,
    /// The rows and sums of a Chain.
    pub chain: Option<Arc<PlannedChain>>,
}

/// A contraction at least this long, of few results, takes two dispatches on a device with many cores: partial sums
/// of slices, then their sum.
const LONG_PRODUCT: usize = 2048;
/// A reduction longer than this, of few results, takes two dispatches on a device with many cores.
const LONG_SUM: usize = 12_288;
/// How many results are few.
const FEW_RESULTS: usize = 65_536;

/// Tells whether a matrix product of so many results, whose summed axis is so long, takes two dispatches.
pub fn is_long_product(results: usize, summed: usize) -> bool {
    results < FEW_RESULTS && summed >= LONG_PRODUCT
}

/// Tells whether a reduction to so many results, of so many elements each over all reduced axes, takes two dispatches.
pub fn is_long_sum(results: usize, summed: usize) -> bool {
    results < FEW_RESULTS && summed > LONG_SUM
}

impl Kernel {
    /// Number of buffers that it binds: each place once, run-time scalars and constants not counted.
    pub fn bindings(&self) -> usize {
        let mut places: Vec<(Place, NodeId)> = Vec::with_capacity(self.reads.len() + self.writes.len());
        for (node, place) in self.reads.iter().chain(&self.writes) {
            // Only nodes tell the values of the schedule around apart.
            places.push((*place, if *place == Place::Outer { *node } else { 0 }));
        }
        places.sort_unstable();
        places.dedup();
        places.len()
    }

    /// Number of dispatches on a device with many cores: 2 where a long contraction has few results, of a Scan those
    /// of its body at each step and the copies of first carries.
    pub fn dispatches(&self, graph: &Graph) -> usize {
        let len = |id: NodeId| graph.nodes[id as usize].len();
        match self.kind {
            Kind::Map => 1,
            Kind::Chain => 1 + self.chain.as_ref().map_or(0, |chain| usize::from(chain.has_end())),
            Kind::Reduce | Kind::MatMul => {
                let long = self.nodes.iter().any(|id| {
                    let node = &graph.nodes[*id as usize];
                    match &node.op {
                        Op::Sum { .. } | Op::ReduceMax { .. } => is_long_sum(len(*id), self.reduced(graph, *id)),
                        Op::MatMul { ta, .. } => {
                            let a = &graph.nodes[node.src[0] as usize].shape;
                            is_long_product(len(*id), a[a.len() - if *ta { 2 } else { 1 }])
                        }
                        _ => false,
                    }
                });
                if long { 2 } else { 1 }
            }
            Kind::Scan => {
                let Some((scan, node)) = self.nodes.first().and_then(|id| match &graph.nodes[*id as usize].op {
                    Op::Scan(scan) => Some((scan, *id)),
                    _ => None,
                }) else {
                    return 0;
                };
                let body = self.body.as_ref().map_or(0, |b| b.dispatches(graph));
                body * scan.len + self.first_carries(graph, node, scan.carries).len()
            }
        }
    }

    /// Elements that a reduction of this kernel reduces to one, those of the reductions that it directly follows
    /// included.
    fn reduced(&self, graph: &Graph, id: NodeId) -> usize {
        let node = &graph.nodes[id as usize];
        let mut src = node.src[0];
        let len = graph.nodes[src as usize].len() / node.len().max(1);
        while is_view(&graph.nodes[src as usize].op) && !self.reads.iter().any(|r| r.0 == src) {
            src = graph.nodes[src as usize].src[0];
        }
        let same = std::mem::discriminant(&graph.nodes[src as usize].op) == std::mem::discriminant(&node.op);
        if same && self.nodes.contains(&src) { len * self.reduced(graph, src) } else { len }
    }

    /// Carries of a Scan whose first value has to be copied, or filled in, before the loop: their numbers.
    pub fn first_carries(&self, graph: &Graph, scan: NodeId, carries: usize) -> Vec<usize> {
        let place = |list: &[(NodeId, Place)], id: NodeId| list.iter().find(|(n, _)| *n == id).map(|(_, p)| *p);
        let is_out = |id: NodeId, i: usize| {
            let n = &graph.nodes[id as usize];
            matches!(n.op, Op::Out(k) if k as usize == i) && n.src[0] == scan
        };
        (0..carries)
            .filter(|i| {
                let (root, whole) = fold(graph, graph.nodes[scan as usize].src[*i]);
                let out = self.writes.iter().find(|(id, _)| is_out(*id, *i)).map(|(_, p)| *p);
                !whole || out.is_none() || place(&self.reads, root) != out
            })
            .collect()
    }
}

/// The kernels of one scope: the whole program, or the body of a scan.
#[derive(Clone, Debug, Default)]
pub struct KernelSchedule {
    /// Kernels in an order in which they can run.
    pub kernels: Vec<Kernel>,
    /// Where each value that a kernel computes and keeps is.
    pub places: BTreeMap<NodeId, Place>,
    /// Number of elements of each temporary. Values that are not alive at the same time may share one.
    pub slots: Vec<usize>,
}

impl KernelSchedule {
    /// Number of dispatches of one run, as [`Kernel::dispatches`] counts them.
    pub fn dispatches(&self, graph: &Graph) -> usize {
        self.kernels.iter().map(|k| k.dispatches(graph)).sum()
    }

    /// Elements of all temporaries together.
    pub fn slot_elements(&self) -> usize {
        self.slots.iter().sum()
    }
}
