//! Finds steps of optimisers and of averages among the nodes of a schedule.
//!
//! A step is more than a chain of elementwise work: it starts before the gradient is there, squares what its norm has
//! squared already, and keeps three results. In parts it would go through memory a dozen times; here the nodes are
//! taken together, and one kernel makes the step. Where the formula is not exactly there, nodes are what they were.

use rustc_hash::{FxHashMap, FxHashSet};

use super::super::lowering::Lowering;
use super::super::simd::update::Rule;
use super::super::steps::LoweredStep;
use super::super::updates::{FoundStep, SharedNumber, Updates};
use super::{Instr, Mem, Opnd, Own, Table, Tile, Update};
use crate::Result;
use crate::program::chains::{Unit, Values};
use crate::program::layout::access;
use crate::program::{constant, is_leaf, is_view};
use crate::tensor::op::{Binary, Unary};
use crate::tensor::{DType, Graph, NodeId, Op};

/// Rows below which a kernel of its own is not worth it.
const FEW: usize = 16;

/// Rough number of operations per row.
const WORK: usize = 16;

/// Find the steps among kernels of one node each. What only a step needs is taken from its kernel, which is then done;
/// the results are in the kernel at whose turn the step is made.
pub fn find(low: &Lowering<'_>, kernels: &mut [Unit], done: &mut [bool]) -> Updates {
    let ids: Vec<NodeId> = kernels.iter().map(|kernel| kernel.nodes[0]).collect();
    let units: FxHashMap<NodeId, usize> = ids.iter().enumerate().map(|(k, id)| (*id, k)).collect();
    let mut updates = Updates::default();
    let mut taken: FxHashSet<NodeId> = FxHashSet::default();
    for k in (0..kernels.len()).rev() {
        let Some(id) = kernels[k].nodes.first().copied().filter(|id| !taken.contains(id)) else { continue };
        let Some((found, inner)) = (Finder { low, ids: &ids, units: &units, inner: Vec::new() }).at(id) else {
            continue;
        };
        let roots: Vec<usize> = found.dst.iter().map(|id| units[id]).collect();
        // At the turn of the first result after all that the step reads.
        let read = found.reads().filter_map(|id| units.get(&root_of(low.graph, id))).max();
        let Some(turn) = roots.iter().copied().filter(|k| read.is_none_or(|read| read < k)).min() else { continue };
        let mut gone: FxHashSet<usize> = roots.iter().copied().collect();
        let own = |user: &usize| gone.contains(user) || inner.iter().any(|id| units[id] == *user);
        let early = |user: &usize| *user < turn && !own(user);
        let results = &found.dst;
        let mut users = results.iter().filter_map(|id| low.users.get(id)).flatten();
        if taken.iter().any(|id| results.contains(id) || inner.contains(id)) || users.any(early) {
            continue;
        }
        // Later nodes first: who reads a node has been seen before it.
        for id in &inner {
            let unit = units[id];
            if low.users.get(id).is_some_and(|users| users.iter().all(|user| gone.contains(user))) {
                gone.insert(unit);
            }
        }
        let is_gone = |id: &NodeId| units.get(id).is_some_and(|unit| gone.contains(unit));
        if found.reads().any(|id| is_gone(&root_of(low.graph, id))) {
            continue;
        }
        for unit in gone {
            taken.extend(kernels[unit].nodes.drain(..));
            done[unit] = unit != turn;
        }
        kernels[turn] = Unit { nodes: found.dst.clone(), alone: true };
        updates.insert(turn, found);
    }
    updates
}

/// The node of which this one is a view.
fn root_of(graph: &Graph, mut id: NodeId) -> NodeId {
    while is_view(&graph.nodes[id as usize].op) {
        id = graph.nodes[id as usize].src[0];
    }
    id
}

struct Finder<'a> {
    low: &'a Lowering<'a>,
    /// The nodes of kernels, and the kernels of nodes.
    ids: &'a [NodeId],
    units: &'a FxHashMap<NodeId, usize>,
    /// Nodes of the formula that are no results.
    inner: Vec<NodeId>,
}

impl Finder<'_> {
    /// The step whose new parameters are this node, and the other nodes of its formula, later ones first.
    fn at(mut self, id: NodeId) -> Option<(FoundStep, Vec<NodeId>)> {
        let node = &self.low.graph.nodes[id as usize];
        let [_, rows] = node.shape[..] else { return None };
        if rows < FEW || node.dtype != DType::F32 {
            return None;
        }
        let (go, new, old) = match node.op {
            Op::Select if self.is_shared(node.src[0]) => (Some(node.src[0]), node.src[1], node.src[2]),
            _ => (None, id, self.binary(Binary::Add, id)?.0),
        };
        let (theta, change) = self.binary(Binary::Add, new)?;
        if theta != old {
            return None;
        }
        if new != id {
            self.inner.push(new);
        }
        let mut found = self.average(theta, change).or_else(|| self.step(theta, change, go))?;
        // Short formulas are common within longer work, which had better stay together.
        let is_short = !matches!(found.rule, Rule::Adam | Rule::RmsProp);
        if is_short && !found.dst.iter().chain([&id]).all(|id| self.is_result(*id)) {
            return None;
        }
        (found.go, found.dst) = (go, [&found.dst[..], &[id]].concat());
        self.inner.retain(|id| !found.src.contains(id));
        // The sort of others turned around: one of its own would be a part of the package.
        self.inner.sort_unstable();
        self.inner.reverse();
        self.inner.dedup();
        Some((found, self.inner))
    }

    /// y + (x − y) τ.
    fn average(&mut self, y: NodeId, change: NodeId) -> Option<FoundStep> {
        let (difference, tau) = self.scaled(change)?;
        let (x, negative) = self.binary(Binary::Add, difference)?;
        if self.unary(Unary::Neg, negative)? != y {
            return None;
        }
        self.inner.extend([change, difference, negative]);
        Some(FoundStep {
            rule: Rule::Average,
            src: vec![x, y],
            dst: Vec::new(),
            shared: vec![SharedNumber::Of(tau)],
            go: None,
        })
    }

    /// θ − α m / (√(c v) + ε), or θ − α m.
    fn step(&mut self, theta: NodeId, change: NodeId, go: Option<NodeId>) -> Option<FoundStep> {
        let step = self.unary(Unary::Neg, change)?;
        self.inner.extend([change, step]);
        let ratio = self.binary(Binary::Mul, step).and_then(|(a, b)| Some((a, self.unary(Unary::Recip, b)?, b)));
        let Some((moved, divisor, inverse)) = ratio else {
            return self.descent(theta, step, go);
        };
        let (root, eps) = self.plus_shared(divisor)?;
        let corrected = self.unary(Unary::Sqrt, root)?;
        self.inner.extend([inverse, divisor, root]);
        let (v, correction) = self.maybe_scaled(corrected, |this, v| this.decayed(v).is_some());
        let (old_v, v_keep, gained) = self.decayed(v)?;
        let (square, v_gain) = self.maybe_scaled(gained, |this, x| this.square(x).is_some());
        let scaled = self.square(square)?;
        self.inner.extend([square]);
        let (g, scale) = self.maybe_scaled(scaled, |_, _| true);
        // The first moment, or none.
        let (m, rate) = self.maybe_scaled(moved, |this, m| m == scaled || this.decayed(m).is_some());
        let (rule, old_m, keep) = match m == scaled {
            true => (Rule::RmsProp, None, Vec::new()),
            false => {
                let (old, keep, gained) = self.decayed(m)?;
                let (x, gain) = self.maybe_scaled(gained, |_, x| x == scaled);
                if x != scaled {
                    return None;
                }
                (Rule::Adam, Some(old), vec![SharedNumber::Of(keep), gain])
            }
        };
        let none = old_m.is_none();
        let (new_m, old_m) = self.kept(m, old_m, go)?;
        // Parameters do not wait for a moment that they do not depend on.
        if none && !is_leaf(&self.low.graph.nodes[root_of(self.low.graph, old_m) as usize].op) {
            return None;
        }
        let (new_v, _) = self.kept(v, Some(old_v), go)?;
        let shared =
            [vec![scale, rate, correction, SharedNumber::Of(eps), SharedNumber::Of(v_keep), v_gain], keep].concat();
        Some(FoundStep { rule, src: vec![g, old_m, old_v, theta], dst: vec![new_m, new_v], shared, go })
    }

    /// θ − α m with m = μ m + g, or θ − α g.
    fn descent(&mut self, theta: NodeId, step: NodeId, go: Option<NodeId>) -> Option<FoundStep> {
        let (m, rate) = self.maybe_scaled(step, |_, _| true);
        if let Some((old, keep, scaled)) = self.decayed(m) {
            let (g, scale) = self.maybe_scaled(scaled, |_, _| true);
            let (new, old) = self.kept(m, Some(old), go)?;
            let shared = vec![scale, rate, SharedNumber::Of(keep)];
            return Some(FoundStep { rule: Rule::Momentum, src: vec![g, old, theta], dst: vec![new], shared, go });
        }
        let (g, scale) = self.maybe_scaled(m, |_, _| true);
        // Any difference would do without a rate.
        if rate == SharedNumber::One {
            return None;
        }
        Some(FoundStep { rule: Rule::Descent, src: vec![g, theta], dst: Vec::new(), shared: vec![scale, rate], go })
    }

    /// The result that holds a new moment, and the old one.
    fn kept(&mut self, new: NodeId, old: Option<NodeId>, go: Option<NodeId>) -> Option<(NodeId, NodeId)> {
        let Some(go) = go else {
            return old.map(|old| (new, old));
        };
        let graph = self.low.graph;
        let chosen = |unit: &usize| {
            let id = *self.ids.get(*unit)?;
            let node = &graph.nodes[id as usize];
            let fits = node.op == Op::Select && node.src[1] == new && self.is_same(node.src[0], go);
            fits.then(|| (id, node.src[2]))
        };
        let (id, kept) = self.low.users.get(&new)?.iter().find_map(chosen)?;
        if old.is_some_and(|old| old != kept) {
            return None;
        }
        if self.units.contains_key(&new) {
            self.inner.push(new);
        }
        Some((id, kept))
    }

    /// The operands of `old · keep + gained`, which is 0 where it would be subnormal.
    fn decayed(&mut self, id: NodeId) -> Option<(NodeId, NodeId, NodeId)> {
        let sum = self.without_subnormals(id)?;
        let (decayed, gained) = self.binary(Binary::Add, sum)?;
        let (old, keep) = self.scaled(decayed)?;
        self.inner.extend([sum, decayed]);
        Some((old, keep, gained))
    }

    /// The x of [`Tensor::without_subnormals`](crate::Tensor::without_subnormals).
    fn without_subnormals(&mut self, id: NodeId) -> Option<NodeId> {
        let node = &self.low.graph.nodes[id as usize];
        let ([is_less, zero, x], Op::Select, true) = (&node.src[..], &node.op, self.units.contains_key(&id)) else {
            return None;
        };
        let (size, least) = self.binary(Binary::Lt, *is_less)?;
        let (positive, negative) = self.binary(Binary::Max, size)?;
        let constants = [*zero, least].map(|id| constant(self.low.graph, id));
        let fits = positive == *x
            && self.unary(Unary::Neg, negative) == Some(*x)
            && constants == [Some(0), Some(f32::MIN_POSITIVE.to_bits())];
        self.inner.extend([*is_less, size, negative]);
        fits.then_some(*x)
    }

    /// A product by a factor that all rows share, taken apart if `is` accepts the scaled node.
    fn maybe_scaled(&mut self, id: NodeId, is: impl FnOnce(&mut Self, NodeId) -> bool) -> (NodeId, SharedNumber) {
        match self.scaled(id) {
            Some((x, factor)) if is(self, x) => {
                self.inner.push(id);
                (x, SharedNumber::Of(factor))
            }
            _ => (id, SharedNumber::One),
        }
    }

    fn square(&self, id: NodeId) -> Option<NodeId> {
        self.binary(Binary::Mul, id).filter(|(a, b)| a == b).map(|(a, _)| a)
    }

    fn scaled(&self, id: NodeId) -> Option<(NodeId, NodeId)> {
        self.binary(Binary::Mul, id).filter(|(a, b)| !self.is_shared(*a) && self.is_shared(*b))
    }

    fn plus_shared(&self, id: NodeId) -> Option<(NodeId, NodeId)> {
        self.binary(Binary::Add, id).filter(|(_, b)| self.is_shared(*b))
    }

    /// Operands of a node that is computed here.
    fn binary(&self, op: Binary, id: NodeId) -> Option<(NodeId, NodeId)> {
        let node = &self.low.graph.nodes[id as usize];
        (node.op == Op::Binary(op) && self.units.contains_key(&id)).then(|| (node.src[0], node.src[1]))
    }

    fn unary(&self, op: Unary, id: NodeId) -> Option<NodeId> {
        let node = &self.low.graph.nodes[id as usize];
        (node.op == Op::Unary(op) && self.units.contains_key(&id)).then(|| node.src[0])
    }

    /// Tells whether a node is read by what comes after the schedule.
    fn is_result(&self, id: NodeId) -> bool {
        self.low.users.get(&id).is_some_and(|users| users.contains(&usize::MAX))
    }

    /// Tells whether two nodes are views of the same elements.
    fn is_same(&self, a: NodeId, b: NodeId) -> bool {
        let [a, b] = [a, b].map(|id| access(self.low.graph, id, &|_| None));
        a.is_ok() && a == b
    }

    /// Tells whether all rows of a group share the value of a node.
    fn is_shared(&self, id: NodeId) -> bool {
        constant(self.low.graph, id).is_some()
            || access(self.low.graph, id, &|_| None).is_ok_and(|at| at.strides.last() == Some(&0))
    }
}

impl Lowering<'_> {
    /// Make a step of an optimiser or of an average.
    pub fn update(&mut self, found: &FoundStep) -> Result<()> {
        let shape = &self.graph.nodes[found.src[0] as usize].shape;
        let [groups, rows] = shape[..] else { return Ok(()) };
        let row = |value: usize, offset: usize, group: usize, row: usize| {
            let table = Table::Dense { start: 0, len: 1 };
            Mem { value, offset, group, row, per: 0, time: Vec::new(), table }
        };
        let mut src = Vec::new();
        for id in &found.src {
            let mut view = self.view(*id)?;
            if view.strides[1] != 1 {
                self.copy(*id)?;
                view = self.view(*id)?;
            }
            src.push(row(view.value, view.offset, if groups > 1 { view.strides[0] } else { 0 }, 1));
        }
        let mut number = |id: NodeId| -> Result<Opnd> {
            if let Some(bits) = constant(self.graph, id) {
                return Ok(Opnd::Const(bits));
            }
            let view = self.view(id)?;
            Ok(Opnd::Uniform(row(view.value, view.offset, if groups > 1 { view.strides[0] } else { 0 }, 0)))
        };
        let one = Opnd::Const(1f32.to_bits());
        let shared =
            found.shared.iter().map(|x| if let SharedNumber::Of(id) = x { number(*id) } else { Ok(one.clone()) });
        let shared = shared.collect::<Result<_>>()?;
        let go = found.go.map_or(Ok(one.clone()), number)?;
        let dst = found.dst.iter().map(|id| row(self.keep(*id), 0, rows, 1)).collect();
        // A tile for each thread, if they share rows and not groups.
        let share = if groups == 1 { rows.div_ceil(self.threads) } else { rows };
        self.step(LoweredStep::Tile(Box::new(Tile {
            groups,
            rows,
            lanes: share.next_multiple_of(16),
            registers: Vec::new(),
            majors: Vec::new(),
            blocks: 0,
            code: vec![Instr::Own(Own::Update(Box::new(Update { rule: found.rule, src, dst, shared, go })))],
            terminals: Vec::new(),
            squares: Vec::new(),
            work: WORK,
            depth: 0,
            linked: std::sync::OnceLock::new(),
        })));
        Ok(())
    }
}
