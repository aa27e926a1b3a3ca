//! Chooses where wanted values are written, and an order of the kernels.
//!
//! A value that replaces an old one is written in its place if every kernel that reads the old one can run before, or
//! reads it at the index that it writes. Otherwise it is computed aside and copied at the end.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use quickstudy_kernels::program::{fold, is_constant};
use quickstudy_kernels::tensor::{NodeId, Op};
use rustc_hash::FxHashMap;

use super::flow::{Class, Flow, Use};
use super::fuse::{Groups, users};
use super::inline::Inlined;
use super::kernel::{Kind, Place};
use super::scope::Want;

/// Where a value is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ValueHome {
    /// A place that is given.
    Fixed(Place),
    /// The temporary of that number, not yet a slot.
    Temp(usize),
}

/// Groups in order, and where their values are.
pub(super) struct Ordered {
    /// The groups.
    pub groups: Groups,
    /// Their order.
    pub order: Vec<usize>,
    /// Homes of all values that are kept.
    pub homes: FxHashMap<NodeId, ValueHome>,
    /// Number of elements of each temporary.
    pub temps: Vec<usize>,
    /// Further writes of a group, by group.
    pub more: Vec<(usize, NodeId, ValueHome)>,
    /// The place of the value that a group copies at the end.
    pub finals: FxHashMap<usize, ValueHome>,
}

impl Ordered {
    /// Where a value that group `k` reads is, if it is one of this schedule.
    pub(super) fn home(&self, flow: &Flow<'_>, k: usize, value: NodeId) -> Option<ValueHome> {
        let own = || flow.find(value).and_then(|_| self.homes.get(&value));
        self.finals.get(&k).or_else(own).copied()
    }
}

struct Ordering<'a> {
    flow: &'a Flow<'a>,
    groups: Groups,
    /// For each item, the items with a kernel that need it.
    users: Vec<Vec<usize>>,
    homes: FxHashMap<NodeId, ValueHome>,
    temps: Vec<usize>,
    more: Vec<(usize, NodeId, ValueHome)>,
    finals: FxHashMap<usize, ValueHome>,
    /// For each group: the number of the node that its turn goes by.
    turn: Vec<NodeId>,
}

/// Choose homes and an order.
#[inline(never)]
pub(super) fn order(flow: &Flow<'_>, inlined: &Inlined, groups: Groups) -> Ordered {
    let turn = groups.list.iter().map(|g| g.items.iter().map(|i| flow.items[*i].node).max().unwrap_or(0)).collect();
    let mut this = Ordering {
        flow,
        groups,
        users: users(flow, inlined),
        homes: FxHashMap::default(),
        temps: Vec::new(),
        more: Vec::new(),
        finals: FxHashMap::default(),
        turn,
    };
    this.stores();
    let mut copies = Vec::new();
    for w in 0..flow.wants.len() {
        if !this.settle(w) {
            copies.push(w);
        }
    }
    for i in 0..flow.items.len() {
        let class = flow.items[i].class;
        let Some(k) = this.groups.of[i] else {
            continue;
        };
        let kept = matches!(class, Class::Scan | Class::Call | Class::Chain) || this.is_read_by_others(i, k);
        for v in flow.values(i) {
            if kept && !this.homes.contains_key(&v) {
                let temp = this.temp(flow.len(v));
                this.homes.insert(v, temp);
            }
        }
    }
    for w in copies {
        this.copy_at_the_end(w);
    }
    let order = this.sorted();
    let Ordering { groups, homes, temps, more, finals, .. } = this;
    Ordered { groups, order, homes, temps, more, finals }
}

impl Ordering<'_> {
    fn temp(&mut self, len: usize) -> ValueHome {
        self.temps.push(len);
        ValueHome::Temp(self.temps.len() - 1)
    }

    fn is_read_by_others(&self, item: usize, group: usize) -> bool {
        self.users[item].iter().any(|u| self.groups.of[*u] != Some(group))
    }

    /// Groups that read a value, and how.
    #[inline(never)]
    fn readers(&self, value: NodeId) -> Vec<(usize, Use)> {
        let found =
            |(k, g): (usize, &super::fuse::Group)| g.reads.iter().find(|(t, _)| *t == value).map(|(_, how)| (k, *how));
        self.groups.list.iter().enumerate().filter_map(found).collect()
    }

    /// Let all readers of `value` run before group `k`, except `k` itself; false if one of them needs `k`.
    fn read_before(&mut self, value: NodeId, k: usize) -> bool {
        let others: Vec<usize> = self.readers(value).into_iter().map(|r| r.0).filter(|r| *r != k).collect();
        if others.iter().any(|r| self.groups.depends(*r, k)) {
            return false;
        }
        others.into_iter().for_each(|r| self.groups.add_dep(k, r));
        true
    }

    /// Homes of stores: the buffers that they change.
    #[inline(never)]
    fn stores(&mut self) {
        let flow = self.flow;
        let graph = flow.scope.graph;
        let chains = chains(flow);
        for (s, item) in flow.items.iter().enumerate().filter(|(_, item)| item.class == Class::Store) {
            let Some(k) = self.groups.of[s] else {
                continue;
            };
            let node = &graph.nodes[item.node as usize];
            let (dest, whole) = fold(graph, node.src[0]);
            let alone = self.groups.list[k].reads.iter().all(|(t, how)| *t != dest || *how == Use::Dest);
            if let Some(w) = chains.get(&s) {
                let want: &Want = &flow.wants[*w];
                let there = want.old == Some(dest) || self.homes.get(&dest) == Some(&ValueHome::Fixed(want.place));
                if there && alone && self.read_before(dest, k) {
                    self.homes.insert(item.node, ValueHome::Fixed(want.place));
                    continue;
                }
            }
            let own = flow.find(dest).filter(|t| whole && alone && !flow.wanted.contains(t));
            if let Some(t) = own
                && let Some(g) = self.groups.of[t].filter(|g| *g != k)
                && self.groups.list[g].kind != Kind::Scan
                && !matches!(self.homes.get(&dest), Some(ValueHome::Fixed(_)))
                && self.read_before(dest, k)
            {
                let home = match self.homes.get(&dest) {
                    Some(home) => *home,
                    None => self.temp(node.len()),
                };
                self.homes.insert(dest, home);
                self.homes.insert(item.node, home);
                continue;
            }
            // Somebody else needs the buffer as it is, or it is a constant: change a copy.
            let home = self.temp(node.len());
            let copy = self.copy(node.src[0], home, item.node);
            self.groups.add_dep(k, copy);
            self.groups.list[k].reads.retain(|(t, how)| *t != dest || *how != Use::Dest);
            self.homes.insert(item.node, home);
        }
    }

    /// A group that copies a node, or a view of it, to a home.
    fn copy(&mut self, node: NodeId, to: ValueHome, turn: NodeId) -> usize {
        let graph = self.flow.scope.graph;
        let copy = self.groups.add_copy(graph.nodes[node as usize].len());
        self.turn.push(turn);
        let (root, _) = fold(graph, node);
        if !is_constant(&graph.nodes[root as usize].op) {
            self.groups.list[copy].reads.push((root, Use::Elsewhere));
            if let Some(g) = self.flow.find(root).and_then(|t| self.groups.of[t]) {
                self.groups.add_dep(copy, g);
            }
        }
        self.more.push((copy, node, to));
        copy
    }

    /// Choose the home of a wanted value; false if it has to be copied at the end.
    #[inline(never)]
    fn settle(&mut self, w: usize) -> bool {
        let flow = self.flow;
        let (want, item) = (&flow.wants[w], flow.wanted[w]);
        let value = flow.wanted_value(w);
        let Some(k) = self.groups.of[item] else {
            return false;
        };
        let copy = flow.items[item].class == Class::Copy;
        match self.homes.get(&value).copied().filter(|_| !copy) {
            Some(ValueHome::Fixed(place)) => return place == want.place,
            Some(ValueHome::Temp(temp)) => {
                // A chain of stores that nothing replaces: let it happen in the result's own place.
                let free = want.old.is_none() && matches!(want.place, Place::Arg(_));
                if free {
                    let to = ValueHome::Fixed(want.place);
                    let all = self.homes.values_mut().chain(self.more.iter_mut().map(|m| &mut m.2));
                    all.filter(|h| **h == ValueHome::Temp(temp)).for_each(|h| *h = to);
                }
                return free;
            }
            None => {}
        }
        if let Place::Row(_) = want.place {
            if copy || self.is_read_by_others(item, k) || matches!(flow.items[item].class, Class::Call | Class::Chain) {
                // Written twice, piece by piece where it is written so.
                let writers = flow.writers(item).filter_map(|writer| self.groups.of[writer]);
                self.more.extend(writers.map(|k| (k, value, ValueHome::Fixed(want.place))));
            } else {
                self.homes.insert(value, ValueHome::Fixed(want.place));
            }
            return true;
        }
        if let Some(old) = want.old {
            // Stores may have put other values there in between.
            let there = self.homes.iter().filter(|(_, home)| **home == ValueHome::Fixed(want.place)).map(|(v, _)| *v);
            let values: Vec<NodeId> = there.chain([old]).collect();
            for writer in flow.writers(item) {
                let Some(k) = self.groups.of[writer] else {
                    return false;
                };
                for old in &values {
                    let reads = self.groups.list[k].reads.iter().find(|(t, _)| t == old).map(|(_, how)| *how);
                    let in_place = match reads {
                        None | Some(Use::Direct) => true,
                        _ => self.groups.list[k].kind == Kind::Scan && is_first_carry(flow, item, value, *old),
                    };
                    if !in_place || !self.read_before(*old, k) {
                        return false;
                    }
                }
            }
        }
        if copy {
            self.more.push((k, value, ValueHome::Fixed(want.place)));
        } else {
            self.homes.insert(value, ValueHome::Fixed(want.place));
        }
        true
    }

    fn copy_at_the_end(&mut self, w: usize) {
        let (want, item) = (&self.flow.wants[w], self.flow.wanted[w]);
        let value = self.flow.wanted_value(w);
        let Some(group) = self.groups.of[item] else {
            return;
        };
        let home = match self.homes.get(&value) {
            Some(home) if self.flow.items[item].class != Class::Copy => *home,
            _ => {
                let temp = self.temp(self.flow.len(value));
                if self.flow.items[item].class == Class::Copy {
                    self.more.push((group, value, temp));
                } else {
                    self.homes.insert(value, temp);
                }
                temp
            }
        };
        let copy = self.groups.add_copy(self.flow.len(value));
        self.turn.push(NodeId::MAX);
        self.groups.list[copy].reads.push((value, Use::Elsewhere));
        self.finals.insert(copy, home);
        self.groups.add_dep(copy, group);
        // Stores may have changed the place already; others read what they left there.
        let there = self.homes.iter().filter(|(_, home)| **home == ValueHome::Fixed(want.place)).map(|(v, _)| *v);
        for v in there.chain(want.old).collect::<Vec<_>>() {
            for (r, _) in self.readers(v) {
                if r != copy {
                    self.groups.add_dep(copy, r);
                }
            }
        }
        self.more.push((copy, value, ValueHome::Fixed(want.place)));
    }

    /// Groups in an order that respects what they need. Small ones follow each other as far as can be, so that a device
    /// can run them in turn; otherwise as traced.
    #[inline(never)]
    fn sorted(&self) -> Vec<usize> {
        let n = self.groups.list.len();
        let mut missing: Vec<usize> = self.groups.deps.iter().map(Vec::len).collect();
        let mut next: Vec<Vec<usize>> = vec![Vec::new(); n];
        for (k, deps) in self.groups.deps.iter().enumerate() {
            deps.iter().for_each(|d| next[*d].push(k));
        }
        let is_small = |k: usize| usize::from(self.groups.list[k].is_small());
        let mut ready = [BinaryHeap::new(), BinaryHeap::new()];
        for k in (0..n).filter(|k| missing[*k] == 0) {
            ready[is_small(k)].push(Reverse((self.turn[k], k)));
        }
        let mut order = Vec::with_capacity(n);
        let mut last = 0;
        while let Some(Reverse((_, k))) = ready[last].pop().or_else(|| ready[1 - last].pop()) {
            last = is_small(k);
            order.push(k);
            for d in &next[k] {
                missing[*d] -= 1;
                if missing[*d] == 0 {
                    ready[is_small(*d)].push(Reverse((self.turn[*d], *d)));
                }
            }
        }
        debug_assert_eq!(order.len(), n, "kernels do not need each other in a circle");
        order
    }
}

/// Stores whose chain leads from the old value of a place to its wanted one, or to the first value of the loop
/// that makes it: they change it where it is.
#[inline(never)]
fn chains(flow: &Flow<'_>) -> FxHashMap<usize, usize> {
    let graph = flow.scope.graph;
    let mut chains = FxHashMap::default();
    for (w, want) in flow.wants.iter().enumerate() {
        let Some(old) = want.old else {
            continue;
        };
        let mut chain = Vec::new();
        let mut item = flow.wanted[w];
        if let Some(first) = first_value(flow, item, flow.wanted_value(w))
            && is_first_carry(flow, item, flow.wanted_value(w), first)
            && let Some(before) = flow.find(first).filter(|t| !flow.wanted.contains(t))
        {
            item = before;
        }
        while flow.items[item].class == Class::Store {
            chain.push(item);
            let (dest, whole) = fold(graph, graph.nodes[flow.items[item].node as usize].src[0]);
            if whole && dest == old {
                chain.iter().for_each(|s| _ = chains.insert(*s, w));
                break;
            }
            match flow.find(dest) {
                Some(t) if whole && !flow.wanted.contains(&t) && !chains.contains_key(&t) => item = t,
                _ => break,
            }
        }
    }
    chains
}

/// The first value of the carry of a loop that ends as `value`.
fn first_value(flow: &Flow<'_>, item: usize, value: NodeId) -> Option<NodeId> {
    let graph = flow.scope.graph;
    let node = &graph.nodes[flow.items[item].node as usize];
    match (&node.op, &graph.nodes[value as usize].op) {
        (Op::Scan(scan), Op::Out(i)) if (*i as usize) < scan.carries => Some(fold(graph, node.src[*i as usize]).0),
        _ => None,
    }
}

/// Tells whether a loop reads `old` only as the first value of the carry that ends as `value`.
fn is_first_carry(flow: &Flow<'_>, item: usize, value: NodeId, old: NodeId) -> bool {
    let graph = flow.scope.graph;
    let node = &graph.nodes[flow.items[item].node as usize];
    let (Op::Scan(scan), Op::Out(i)) = (&node.op, &graph.nodes[value as usize].op) else {
        return false;
    };
    let i = *i as usize;
    let reads = |s: &NodeId| fold(graph, *s) == (old, true) || fold(graph, *s).0 == old;
    i < scan.carries && fold(graph, node.src[i]) == (old, true) && node.src.iter().filter(|s| reads(s)).count() == 1
}
