//! One kernel per node: what the fused plans are compared with.

use quickstudy_kernels::program::{fold, is_constant, is_leaf, is_view};
use quickstudy_kernels::tensor::{NodeId, Op};

use super::kernel::{Kernel, KernelSchedule, Kind, Place};
use super::scope::{Scope, Want};

impl Scope<'_> {
    /// One kernel per node, then copies of the wanted values to their places.
    pub(super) fn unfused(&self, wants: &[Want]) -> KernelSchedule {
        let nodes: Vec<NodeId> = wants.iter().map(|w| w.node).collect();
        let mut schedule = self.kernel_per_node(&nodes);
        let wants: Vec<&Want> = wants.iter().filter(|w| w.old != Some(w.node)).collect();
        // A view of a leaf may be read after the leaf has been overwritten: copy it aside first.
        for want in &wants {
            let (root, _) = fold(self.graph, want.node);
            let leaf = matches!(self.graph.nodes[root as usize].op, Op::Input(_) | Op::Param(_));
            if leaf && !schedule.places.contains_key(&want.node) {
                let place = self.keep(&mut schedule, want.node);
                let reads = self.reads(&KernelSchedule::default(), &[want.node]);
                schedule.kernels.push(self.copy(want.node, place, reads));
            }
        }
        for want in &wants {
            let reads = match schedule.places.get(&want.node) {
                Some(place) => vec![(want.node, *place)],
                None => self.reads(&schedule, &[want.node]),
            };
            schedule.kernels.push(self.copy(want.node, want.place, reads));
        }
        schedule
    }

    fn copy(&self, node: NodeId, place: Place, reads: Vec<(NodeId, Place)>) -> Kernel {
        let space = self.graph.nodes[node as usize].shape.clone();
        let (nodes, writes) = (Vec::new(), vec![(node, place)]);
        Kernel { kind: Kind::Map, space, nodes, operands: None, reads, writes, body: None, chain: None }
    }

    fn keep(&self, schedule: &mut KernelSchedule, node: NodeId) -> Place {
        let place = Place::Slot(schedule.slots.len());
        schedule.slots.push(self.graph.nodes[node as usize].len());
        schedule.places.insert(node, place);
        place
    }

    /// The values in memory that these nodes are views of, and where they are.
    fn reads(&self, schedule: &KernelSchedule, nodes: &[NodeId]) -> Vec<(NodeId, Place)> {
        let mut reads: Vec<(NodeId, Place)> = Vec::new();
        for id in nodes {
            let (root, _) = fold(self.graph, *id);
            let node = &self.graph.nodes[root as usize];
            if is_constant(&node.op) || reads.iter().any(|r| r.0 == root) {
                continue;
            }
            let place = match (schedule.places.get(&root), &node.op) {
                (Some(place), _) => *place,
                _ if node.scope != self.scope => Place::Outer,
                (_, Op::Input(i)) => Place::Arg(*i as usize),
                (_, Op::Param(i)) => Place::Param(*i as usize),
                _ => Place::Outer,
            };
            reads.push((root, place));
        }
        reads
    }

    /// One kernel for each node that is neither a view nor a leaf.
    pub(super) fn kernel_per_node(&self, outs: &[NodeId]) -> KernelSchedule {
        let graph = self.graph;
        let mut schedule = KernelSchedule::default();
        for id in graph.reachable(outs, self.scope) {
            let node = &graph.nodes[id as usize];
            if node.scope != self.scope || is_view(&node.op) || is_leaf(&node.op) || matches!(node.op, Op::Out(_)) {
                continue;
            }
            // A store changes what is in its place: a copy of its first operand.
            let mut operands = &node.src[..];
            let mut space = &node.shape;
            if let Op::Store = node.op {
                let (dest, value) = (node.src[0], node.src[2]);
                (operands, space) = (&node.src[1..], &graph.nodes[value as usize].shape);
                let reads = self.reads(&schedule, &[dest]);
                let place = self.keep(&mut schedule, id);
                schedule.kernels.push(self.copy(dest, place, reads));
            }
            let mut kernel = Kernel {
                kind: match node.op {
                    Op::Sum { .. } | Op::ReduceMax { .. } => Kind::Reduce,
                    Op::MatMul { .. } => Kind::MatMul,
                    Op::Scan(_) => Kind::Scan,
                    _ => Kind::Map,
                },
                space: space.clone(),
                nodes: vec![id],
                operands: None,
                reads: self.reads(&schedule, operands),
                writes: Vec::new(),
                body: None,
                chain: None,
            };
            match &node.op {
                Op::Scan(_) | Op::Call(_) => {
                    for out in self.outs.get(&id).into_iter().flatten() {
                        kernel.writes.push((*out, self.keep(&mut schedule, *out)));
                        kernel.nodes.push(*out);
                    }
                }
                _ => {
                    let place = schedule.places.get(&id).copied().unwrap_or_else(|| self.keep(&mut schedule, id));
                    kernel.writes.push((id, place));
                }
            }
            if let Op::Scan(scan) = &node.op {
                kernel.body = Some(Box::new(self.body(scan)));
            }
            schedule.kernels.push(kernel);
        }
        schedule
    }
}
