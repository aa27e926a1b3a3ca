//! Groups items into kernels.

use quickstudy_kernels::program::fold;
use quickstudy_kernels::tensor::{NodeId, Op};

use super::flow::{Class, Flow, Use};
use super::inline::Inlined;
use super::kernel::Kind;
use super::reach::Reach;

/// Reductions that one kernel makes at most.
const SIBLINGS: usize = 8;
/// Elements of a map that two workgroups compute.
const SMALL: usize = 512;
/// Results of a reduction for each of which there is a workgroup.
const SMALL_SUMS: usize = 2;
/// Kernels that an unrelated map looks at for one to join.
const LOOK_BACK: usize = 48;

/// Items that one kernel computes.
#[derive(Clone, Debug)]
pub(super) struct Group {
    /// Kind of the kernel.
    pub kind: Kind,
    /// Number of elements of its index space.
    pub space: usize,
    /// Items, operands first.
    pub items: Vec<usize>,
    /// Values that it reads from memory and how.
    pub reads: Vec<(NodeId, Use)>,
    /// Sizes of a reduction: before, along and after the axis that each stage reduces.
    stages: Vec<[usize; 3]>,
    /// Axes of its space that are longer than 1.
    axes: Vec<usize>,
}

impl Group {
    /// Tells whether one or two workgroups compute it, so that it may be one of several kernels in a dispatch.
    pub(super) fn is_small(&self) -> bool {
        match self.kind {
            Kind::Map => self.space <= SMALL,
            Kind::Reduce => self.space <= SMALL_SUMS,
            Kind::MatMul | Kind::Scan | Kind::Chain => false,
        }
    }
}

/// All groups of a scope.
#[derive(Debug)]
pub(super) struct Groups {
    /// The groups, in no order that matters.
    pub list: Vec<Group>,
    /// The groups that must run before each group.
    pub deps: Vec<Vec<usize>>,
    /// The group of each item, if it has one.
    pub of: Vec<Option<usize>>,
    reach: Reach,
}

/// How many buffers a kernel may bind.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cap {
    /// The largest number.
    pub most: usize,
    /// A value that replaces one read at the same index is expected to be written in its place.
    pub in_place: bool,
}

/// Form kernels of at most `cap` buffers.
#[inline(never)]
pub(super) fn group(flow: &Flow<'_>, inlined: &Inlined, cap: Cap) -> Groups {
    let n = flow.items.len();
    let mut groups = Groups { list: Vec::new(), deps: Vec::new(), of: vec![None; n], reach: Reach::default() };
    for i in in_order(flow, inlined) {
        let place = match flow.items[i].class {
            Class::Map | Class::Store | Class::Copy => groups.for_map(flow, inlined, i, cap),
            Class::Reduce => groups.for_reduction(flow, inlined, i, cap),
            _ => None,
        };
        groups.put(flow, inlined, i, place);
    }
    groups.split(flow, inlined, cap);
    groups
}

/// The items that are not inlined: operands before readers, and readers of a value before what
/// changes it where it is; otherwise as traced.
fn in_order(flow: &Flow<'_>, inlined: &Inlined) -> Vec<usize> {
    let n = flow.items.len();
    let (mut order, mut seen) = (Vec::with_capacity(n), vec![false; n]);
    for i in (0..n).filter(|i| !inlined.yes[*i]) {
        let mut stack = vec![(i, false)];
        while let Some((x, ready)) = stack.pop() {
            if ready {
                order.push(x);
            } else if !std::mem::replace(&mut seen[x], true) {
                stack.push((x, true));
                let piece = flow.is_later_piece(x).then(|| x - 1);
                let needs = inlined.needs[x].iter().filter_map(|(t, _)| flow.find(*t));
                stack.extend(inlined.before[x].iter().copied().chain(needs).chain(piece).map(|t| (t, false)));
            }
        }
    }
    order
}

impl Groups {
    /// Tells whether group `from` is group `to` or needs it, through others or directly.
    pub(super) fn depends(&self, from: usize, to: usize) -> bool {
        from == to || self.reach.is_before(to, from)
    }

    /// A kernel that a map can join: the last one that computes an operand at the same index, else an unrelated one
    /// of the same shape.
    #[inline(never)]
    fn for_map(&self, flow: &Flow<'_>, inlined: &Inlined, i: usize, cap: Cap) -> Option<usize> {
        let item = &flow.items[i];
        let mut near: Vec<usize> = inlined.needs[i]
            .iter()
            .filter(|(_, how)| *how == Use::Direct)
            .filter_map(|(t, _)| self.of[flow.find(*t)?])
            .filter(|k| self.list[*k].space == item.space && !matches!(self.list[*k].kind, Kind::Scan | Kind::Chain))
            .collect();
        near.sort_unstable();
        near.dedup();
        for k in near.into_iter().rev() {
            if self.may_join(flow, inlined, i, k, cap) {
                return Some(k);
            }
        }
        // The copy of a leaf that is overwritten stays apart.
        let of_leaf = |(t, how): &(NodeId, Use)| flow.find(*t).is_none() && *how != Use::Direct;
        if item.class == Class::Copy && inlined.needs[i].iter().any(of_leaf) {
            return None;
        }
        let axes = axes(flow, i);
        for k in (0..self.list.len()).rev().take(LOOK_BACK) {
            let g = &self.list[k];
            if g.kind == Kind::Map && g.space == item.space && g.axes == axes && self.may_join(flow, inlined, i, k, cap)
            {
                return Some(k);
            }
        }
        None
    }

    /// A reduction of the same axes of the same shape.
    #[inline(never)]
    fn for_reduction(&self, flow: &Flow<'_>, inlined: &Inlined, i: usize, cap: Cap) -> Option<usize> {
        let stages = stages(flow, inlined, i);
        for k in (0..self.list.len()).rev().take(LOOK_BACK) {
            let g = &self.list[k];
            let heavy = g.items.iter().filter(|x| flow.items[**x].class == Class::Reduce).count();
            if g.kind == Kind::Reduce
                && g.stages == stages
                && heavy < SIBLINGS
                && self.may_join(flow, inlined, i, k, cap)
            {
                return Some(k);
            }
        }
        None
    }

    #[inline(never)]
    fn may_join(&self, flow: &Flow<'_>, inlined: &Inlined, i: usize, k: usize, cap: Cap) -> bool {
        // Results of calls have rows of their own width: nothing else is computed with them.
        if self.list[k].items.iter().any(|x| flow.items[*x].class == Class::Call) {
            return false;
        }
        for (t, how) in &inlined.needs[i] {
            let Some(item) = flow.find(*t) else {
                // A store must not change what the same kernel reads elsewhere.
                if self.list[k].reads.iter().any(|(r, u)| r == t && (*how == Use::Dest || *u == Use::Dest)) {
                    return false;
                }
                continue;
            };
            let Some(g) = self.of[item] else {
                return false;
            };
            if g == k {
                if *how != Use::Direct || flow.items[item].class == Class::Store {
                    return false;
                }
            } else if self.depends(g, k) {
                return false;
            }
            if self.list[k].reads.iter().any(|(r, u)| r == t && (*how == Use::Dest || *u == Use::Dest)) {
                return false;
            }
        }
        // What it changes has been read by then.
        for reader in &inlined.before[i] {
            if self.of[*reader].is_none_or(|g| g == k || self.depends(g, k)) {
                return false;
            }
        }
        let g = &self.list[k];
        let own = |t: NodeId| flow.find(t).is_some_and(|x| self.of[x] == Some(k));
        let new = inlined.needs[i].iter().filter(|(t, _)| !own(*t) && !g.reads.iter().any(|(r, _)| r == t)).count();
        let read = |old: NodeId| {
            let is = |(t, how): &(NodeId, Use)| *t == old && *how == Use::Direct;
            cap.in_place && (g.reads.iter().any(is) || inlined.needs[i].iter().any(is))
        };
        let surely = |x: usize| {
            (flow.wanted.contains(&x) && !flow.replaces(x).is_some_and(read))
                || flow.readers[x].iter().any(|(r, e)| {
                    flow.items[*r].edges[*e].how != Use::Direct
                        || inlined.yes[*r]
                        || (*r != i && self.of[*r].is_some_and(|other| other != k))
                })
        };
        let writes = g.items.iter().copied().chain([i]).filter(|x| surely(*x)).count();
        g.reads.len() + new + writes.max(1) <= cap.most
    }

    fn put(&mut self, flow: &Flow<'_>, inlined: &Inlined, i: usize, place: Option<usize>) {
        let k = place.unwrap_or_else(|| {
            let kind = match flow.items[i].class {
                Class::Reduce => Kind::Reduce,
                Class::MatMul => Kind::MatMul,
                Class::Scan => Kind::Scan,
                Class::Chain => Kind::Chain,
                _ => Kind::Map,
            };
            let stages = if kind == Kind::Reduce { stages(flow, inlined, i) } else { Vec::new() };
            let space = flow.items[i].space;
            self.list.push(Group { kind, space, items: Vec::new(), reads: Vec::new(), stages, axes: axes(flow, i) });
            self.push_waiting_for_none();
            self.list.len() - 1
        });
        self.list[k].items.push(i);
        self.of[i] = Some(k);
        self.note(flow, inlined, i, k);
    }

    /// Note what item `i` of group `k` reads and needs.
    fn note(&mut self, flow: &Flow<'_>, inlined: &Inlined, i: usize, k: usize) {
        for (t, how) in &inlined.needs[i] {
            match flow.find(*t).and_then(|x| self.of[x]) {
                Some(g) if g == k => continue,
                Some(g) => self.add_dep(k, g),
                None => {}
            }
            add_read(&mut self.list[k].reads, *t, *how);
        }
        if flow.is_later_piece(i)
            && let Some(before) = self.of[i - 1]
        {
            self.add_dep(k, before);
        }
        for before in
            inlined.before[i].iter().filter_map(|reader| self.of[*reader]).filter(|g| *g != k).collect::<Vec<_>>()
        {
            self.add_dep(k, before);
        }
    }

    /// Run `first` before `k`.
    pub(super) fn add_dep(&mut self, k: usize, first: usize) {
        if !self.deps[k].contains(&first) {
            self.deps[k].push(first);
            self.reach.add(k, first);
        }
    }

    /// A group of its own for a copy that the plan needs.
    pub(super) fn add_copy(&mut self, space: usize) -> usize {
        let (items, reads, stages, axes) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        self.list.push(Group { kind: Kind::Map, space, items, reads, stages, axes });
        self.push_waiting_for_none();
        self.list.len() - 1
    }

    fn push_waiting_for_none(&mut self) {
        self.deps.push(Vec::new());
        self.reach.push();
    }

    /// Buffers that a kernel of these items binds.
    #[inline(never)]
    fn bindings(flow: &Flow<'_>, inlined: &Inlined, users: &[Vec<usize>], items: &[usize], in_place: bool) -> usize {
        let own = |x: usize| items.contains(&x);
        let mut reads: Vec<(NodeId, Use)> = Vec::new();
        for (t, how) in items.iter().flat_map(|i| &inlined.needs[*i]) {
            if !flow.find(*t).is_some_and(own) {
                add_read(&mut reads, *t, *how);
            }
        }
        let mut writes = 0;
        for i in items {
            let used = users[*i].iter().any(|u| !own(*u));
            writes += match flow.items[*i].class {
                Class::Call => flow.values(*i).len(),
                // Bound already as the buffer that it changes.
                Class::Store => usize::from(!inlined.needs[*i].iter().any(|n| n.1 == Use::Dest)),
                // Rows of stacked outputs are not read: what others need is written twice.
                _ if flow.row(*i) => 1 + usize::from(used),
                _ if in_place && flow.replaces(*i).is_some_and(|old| reads.contains(&(old, Use::Direct))) => 0,
                _ => usize::from(used || flow.wanted.contains(i)),
            };
        }
        reads.len() + writes
    }

    /// Split groups that bind too many buffers.
    #[inline(never)]
    fn split(&mut self, flow: &Flow<'_>, inlined: &Inlined, cap: Cap) {
        let users = users(flow, inlined);
        let mut changed = false;
        let mut k = 0;
        while k < self.list.len() {
            let items = &self.list[k].items;
            let too_many = self.list[k].kind != Kind::Scan
                && Self::bindings(flow, inlined, &users, items, cap.in_place) > cap.most
                && items.len() > 1;
            if too_many {
                changed = true;
                let fits = |n: &usize| Self::bindings(flow, inlined, &users, &items[..*n], cap.in_place) <= cap.most;
                let n = (1..items.len()).rev().find(fits).unwrap_or(1);
                let rest = self.list[k].items.split_off(n);
                let reduces = rest.iter().any(|x| flow.items[*x].class == Class::Reduce);
                let kind = if reduces { Kind::Reduce } else { Kind::Map };
                let new = Group { kind, items: rest, reads: Vec::new(), ..self.list[k].clone() };
                self.list.push(new);
            }
            k += 1;
        }
        if !changed {
            return;
        }
        (self.deps, self.reach) = (Vec::new(), Reach::default());
        (0..self.list.len()).for_each(|_| self.push_waiting_for_none());
        for k in 0..self.list.len() {
            self.list[k].reads.clear();
            for i in &self.list[k].items {
                self.of[*i] = Some(k);
            }
        }
        for k in 0..self.list.len() {
            for i in self.list[k].items.clone() {
                self.note(flow, inlined, i, k);
            }
        }
    }

    /// An inlined item that should be kept in memory, because a kernel of a single item binds too many buffers: the
    /// one that reads most.
    #[inline(never)]
    pub(super) fn overfull(&self, flow: &Flow<'_>, inlined: &Inlined, cap: Cap) -> Option<usize> {
        for g in &self.list {
            let [i] = g.items[..] else {
                continue;
            };
            let writes = if flow.items[i].class == Class::Call { flow.values(i).len() } else { 1 };
            if matches!(g.kind, Kind::Scan | Kind::Chain) || g.reads.len() + writes <= cap.most {
                continue;
            }
            let mut best: Option<(usize, usize)> = None;
            let mut stack = vec![i];
            while let Some(x) = stack.pop() {
                for t in flow.items[x].edges.iter().filter_map(|e| flow.find(e.to)).filter(|t| inlined.yes[*t]) {
                    let reads = inlined.needs[t].len();
                    let kept = flow.readers[t].iter().all(|(r, k)| flow.items[*r].edges[*k].evaluations.is_some());
                    let map = flow.items[t].class == Class::Map;
                    if kept && map && reads > 1 && reads < cap.most && best.is_none_or(|(b, _)| b < reads) {
                        best = Some((reads, t));
                    }
                    stack.push(t);
                }
            }
            if let Some((_, t)) = best {
                return Some(t);
            }
        }
        None
    }
}

fn add_read(reads: &mut Vec<(NodeId, Use)>, t: NodeId, how: Use) {
    match reads.iter_mut().find(|(r, _)| *r == t) {
        Some((_, u)) if *u != how => *u = Use::Elsewhere,
        Some(_) => {}
        None => reads.push((t, how)),
    }
}

/// For each item: the items with a kernel that need it, inlined ones left out.
#[inline(never)]
pub(super) fn users(flow: &Flow<'_>, inlined: &Inlined) -> Vec<Vec<usize>> {
    let mut users = vec![Vec::new(); flow.items.len()];
    for (i, needs) in inlined.needs.iter().enumerate() {
        if !inlined.yes[i] {
            for t in needs.iter().filter_map(|(t, _)| flow.find(*t)) {
                users[t].push(i);
            }
        }
    }
    users
}

/// The sizes before, along and after each axis that a reduction reduces, the innermost axis first.
fn stages(flow: &Flow<'_>, inlined: &Inlined, i: usize) -> Vec<[usize; 3]> {
    let graph = flow.scope.graph;
    let node = &graph.nodes[flow.items[i].node as usize];
    let mut stages = match flow.find(fold(graph, node.src[0]).0) {
        Some(t) if inlined.yes[t] && flow.items[t].class == Class::Reduce => stages(flow, inlined, t),
        _ => Vec::new(),
    };
    if let Op::Sum { axis } | Op::ReduceMax { axis } = node.op {
        let from = &graph.nodes[node.src[0] as usize].shape;
        let product = |s: &[usize]| s.iter().product();
        stages.push([product(&from[..axis]), from[axis], product(&from[axis + 1..])]);
    }
    stages
}

/// Axes of an item's index space that are longer than 1.
fn axes(flow: &Flow<'_>, i: usize) -> Vec<usize> {
    let graph = flow.scope.graph;
    let node = &graph.nodes[flow.items[i].node as usize];
    let shape =
        if flow.items[i].class == Class::Store { &graph.nodes[node.src[2] as usize].shape } else { &node.shape };
    shape.iter().copied().filter(|s| *s != 1).collect()
}
