//! Checks a plan by following what every buffer holds.

use quickstudy_kernels::program::{fold, is_constant};
use quickstudy_kernels::tensor::op::Scan;
use quickstudy_kernels::tensor::{Graph, NodeId, Op};
use quickstudy_kernels::{Error, Result};
use rustc_hash::FxHashMap;

use super::Plan;
use super::kernel::{Kernel, KernelSchedule, Kind, Place};

impl Plan {
    /// Check that every kernel finds its operands where it looks for them, that nothing is overwritten before its last
    /// use and that every result ends in its place.
    ///
    /// # Errors
    /// The first fault: it is one of the planner.
    pub fn validate(&self) -> Result<()> {
        let graph = &self.trace.graph;
        let mut held = FxHashMap::default();
        for (id, node) in graph.nodes.iter().enumerate() {
            if let Op::Input(i) = node.op {
                held.insert(Place::Arg(i as usize), id as NodeId);
            }
        }
        let mut check = Validator { graph, held, begun: FxHashMap::default(), slots: &self.schedule.slots, outer: &[] };
        check.schedule(&self.schedule)?;
        for (node, arg) in &self.trace.results {
            check.holds(Place::Arg(*arg), *node, "the results")?;
        }
        Ok(())
    }
}

struct Validator<'a> {
    graph: &'a Graph,
    /// The value that each place holds.
    held: FxHashMap<Place, NodeId>,
    /// The value that each place holds the first so many operands of.
    begun: FxHashMap<Place, (NodeId, usize)>,
    slots: &'a [usize],
    /// The values that the kernel around reads, and where they are.
    outer: &'a [(NodeId, Place)],
}

impl Validator<'_> {
    fn fault<T>(&self, what: String) -> Result<T> {
        Err(Error::Program(format!("fault in the plan: {what}")))
    }

    /// The node itself, without views that change nothing.
    fn plain(&self, node: NodeId) -> NodeId {
        match fold(self.graph, node) {
            (root, true) => root,
            _ => node,
        }
    }

    fn holds(&self, place: Place, node: NodeId, who: &str) -> Result<()> {
        match self.held.get(&place) {
            Some(held) if self.plain(*held) == self.plain(node) => Ok(()),
            held => self.fault(format!("{who} need %{node} in {place:?}, which holds {held:?}")),
        }
    }

    fn schedule(&mut self, schedule: &KernelSchedule) -> Result<()> {
        for (k, kernel) in schedule.kernels.iter().enumerate() {
            let who = format!("kernel {k} ({})", kernel.kind.name());
            for (node, place) in &kernel.reads {
                match place {
                    Place::Outer if self.outer.iter().any(|r| r.0 == *node) => {}
                    _ => self.holds(*place, *node, &who)?,
                }
            }
            self.operands(kernel, &who)?;
            self.in_place(kernel, &who)?;
            if let Some(body) = &kernel.body {
                self.body(kernel, body, &who)?;
            }
            for (node, place) in &kernel.writes {
                let len = self.graph.nodes[*node as usize].len();
                match place {
                    Place::Slot(s) if self.slots.get(*s).is_none_or(|n| *n < len) => {
                        return self.fault(format!("{who} writes {len} elements to slot {s} of {:?}", self.slots));
                    }
                    Place::Outer => return self.fault(format!("{who} writes outside of its loop")),
                    _ => self.written(*place, *node, kernel, &who)?,
                }
            }
        }
        Ok(())
    }

    /// A value is there once its last piece is, and all pieces before it.
    fn written(&mut self, place: Place, node: NodeId, kernel: &Kernel, who: &str) -> Result<()> {
        let begun = self.begun.remove(&place);
        let part = kernel.operands.clone().unwrap_or(0..self.operands_of(node));
        if part.start > 0 && begun != Some((node, part.start)) {
            return self.fault(format!("{who} writes a piece of %{node} to {place:?}, which lacks those before it"));
        }
        if part.end < self.operands_of(node) {
            self.held.remove(&place);
            self.begun.insert(place, (node, part.end));
        } else {
            self.held.insert(place, node);
        }
        Ok(())
    }

    fn operands_of(&self, node: NodeId) -> usize {
        self.graph.nodes[fold(self.graph, node).0 as usize].src.len()
    }

    /// Every operand is computed before in this kernel, or read.
    fn operands(&self, kernel: &Kernel, who: &str) -> Result<()> {
        let known = |root: NodeId, before: usize| {
            is_constant(&self.graph.nodes[root as usize].op)
                || kernel.reads.iter().any(|r| r.0 == root)
                || kernel.nodes[..before].contains(&root)
        };
        for (at, id) in kernel.nodes.iter().enumerate() {
            let node = &self.graph.nodes[*id as usize];
            let part = match (&node.op, &kernel.operands) {
                (Op::Concat { .. }, Some(part)) if kernel.writes.iter().any(|w| w.0 == *id) => part.clone(),
                _ => 0..node.src.len(),
            };
            for s in &node.src[part] {
                let (root, whole) = fold(self.graph, *s);
                if !known(root, at) {
                    // A store changes what is in its place.
                    if matches!(node.op, Op::Store) && *s == node.src[0] {
                        continue;
                    }
                    return self.fault(format!("{who} computes %{id} without its operand %{root}"));
                }
                let heavy = |x: NodeId| {
                    let op = &self.graph.nodes[x as usize].op;
                    let reduces = matches!(op, Op::Sum { .. } | Op::ReduceMax { .. });
                    matches!(op, Op::MatMul { .. } | Op::Store | Op::Scan(_) | Op::Call(_))
                        || (reduces && self.graph.nodes[*id as usize].op.name() != op.name())
                };
                let elsewhere = !(whole && self.same_index(*id)) && kernel.kind != Kind::Chain;
                if kernel.nodes[..at].contains(&root) && elsewhere && heavy(root) {
                    return self.fault(format!("{who} needs %{root} for %{id} at other indices than it computes it"));
                }
            }
        }
        for (id, place) in &kernel.writes {
            let node = &self.graph.nodes[*id as usize];
            if matches!(node.op, Op::Store) && kernel.nodes.contains(id) {
                self.holds(*place, node.src[0], who)?;
            }
        }
        for (node, _) in &kernel.writes {
            let (root, _) = fold(self.graph, *node);
            // A copy reads the value as it has been kept, a view or not.
            let kept = kernel.reads.iter().any(|r| r.0 == *node);
            if !kept && !known(root, kernel.nodes.len()) {
                return self.fault(format!("{who} writes %{node}, which it does not have"));
            }
        }
        Ok(())
    }

    /// Tells whether a node reads operands of its own size at its own index.
    fn same_index(&self, id: NodeId) -> bool {
        !matches!(
            self.graph.nodes[id as usize].op,
            Op::Pad { .. }
                | Op::Concat { .. }
                | Op::Sum { .. }
                | Op::ReduceMax { .. }
                | Op::MatMul { .. }
                | Op::Scan(_)
        )
    }

    /// Checks that a kernel which overwrites a value reads it at the written index only.
    fn in_place(&self, kernel: &Kernel, who: &str) -> Result<()> {
        for (node, place) in &kernel.writes {
            let Some((old, _)) = kernel.reads.iter().find(|(_, p)| p == place && *p != Place::Outer) else {
                continue;
            };
            let mut memo = FxHashMap::default();
            let mut elsewhere = kernel.writes.iter().any(|(w, _)| fold(self.graph, *w) == (*old, false));
            for id in &kernel.nodes {
                elsewhere |= self.reads_elsewhere(kernel, *id, (*node, *old), &mut memo);
            }
            if elsewhere {
                return self.fault(format!("{who} overwrites %{old} by %{node} but reads it at other indices"));
            }
        }
        Ok(())
    }

    /// Tells whether a node of the kernel needs elements of `old` at other indices than those at which `new` overwrites
    /// them.
    fn reads_elsewhere(
        &self,
        kernel: &Kernel,
        id: NodeId,
        (new, old): (NodeId, NodeId),
        memo: &mut FxHashMap<NodeId, bool>,
    ) -> bool {
        if let Some(known) = memo.get(&id) {
            return *known;
        }
        let node = &self.graph.nodes[id as usize];
        let len = |id: NodeId| self.graph.nodes[id as usize].len();
        let found = node.src.iter().enumerate().any(|(i, s)| {
            let (root, whole) = fold(self.graph, *s);
            let allowed = match &node.op {
                // It overwrites rows of its first operand, and nothing else that it reads.
                Op::Store if id == new => whole && i == 0,
                Op::Store => whole && len(root) == len(node.src[2]),
                Op::Scan(scan) => whole && i < scan.carries && self.writes_carry(kernel, id, i, old),
                Op::Gather => i == 1 && whole && len(root) == node.len(),
                _ => whole && self.same_index(id),
            };
            if allowed { false } else { root == old || self.touches(kernel, root, old) }
        });
        memo.insert(id, found);
        found
    }

    /// Tells whether a node of the kernel needs `old` at all.
    fn touches(&self, kernel: &Kernel, id: NodeId, old: NodeId) -> bool {
        id == old
            || (kernel.nodes.contains(&id)
                && self.graph.nodes[id as usize].src.iter().any(|s| self.touches(kernel, fold(self.graph, *s).0, old)))
    }

    /// Tells whether carry `i` of a loop ends in the place of `old`, its first value.
    fn writes_carry(&self, kernel: &Kernel, scan: NodeId, i: usize, old: NodeId) -> bool {
        let place = kernel.reads.iter().find(|r| r.0 == old).map(|r| r.1);
        kernel.writes.iter().any(|(w, p)| {
            let n = &self.graph.nodes[*w as usize];
            matches!(n.op, Op::Out(k) if k as usize == i) && n.src[0] == scan && Some(*p) == place
        })
    }

    fn body(&self, kernel: &Kernel, body: &KernelSchedule, who: &str) -> Result<()> {
        let Some(Op::Scan(scan)) = kernel.nodes.first().map(|id| &self.graph.nodes[*id as usize].op) else {
            return self.fault(format!("{who} has a body but is no loop"));
        };
        debug_assert_eq!(kernel.kind, Kind::Scan);
        let scan: &Scan = scan;
        let params = scan.body.params.iter().enumerate().map(|(p, id)| (Place::Param(p), *id));
        let (graph, held, begun) = (self.graph, params.collect(), FxHashMap::default());
        let mut inner = Validator { graph, held, begun, slots: &body.slots, outer: &kernel.reads };
        inner.schedule(body)?;
        for (i, out) in scan.body.outs.iter().enumerate() {
            let place = if i < scan.carries { Place::Param(1 + i) } else { Place::Row(i - scan.carries) };
            inner.holds(place, *out, &format!("the results of the body of {who}"))?;
        }
        Ok(())
    }
}
