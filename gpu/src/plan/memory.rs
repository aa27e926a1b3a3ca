//! Temporaries and the finished kernels.

use quickstudy_kernels::program::fold;
use quickstudy_kernels::tensor::{NodeId, Op};
use rustc_hash::FxHashMap;

use super::flow::{Class, Flow, Use};
use super::fuse::Group;
use super::inline::Inlined;
use super::kernel::{Kernel, KernelSchedule, Kind, Place};
use super::order::{Ordered, ValueHome};
use super::scope::Scope;

/// Slots for temporaries, handed out in the order of the kernels.
#[derive(Default)]
struct SlotPool {
    /// Number of elements of each slot.
    lens: Vec<usize>,
    /// Slots that are free, by size class.
    free: FxHashMap<usize, Vec<usize>>,
}

/// Values of one size class share slots: it is the number of elements rounded up to a power of two.
fn size_class(len: usize) -> usize {
    len.next_power_of_two()
}

impl SlotPool {
    fn take(&mut self, len: usize) -> usize {
        match self.free.get_mut(&size_class(len)).and_then(Vec::pop) {
            Some(slot) => {
                self.lens[slot] = self.lens[slot].max(len);
                slot
            }
            None => {
                self.lens.push(len);
                self.lens.len() - 1
            }
        }
    }

    fn give(&mut self, slot: usize) {
        self.free.entry(size_class(self.lens[slot])).or_default().push(slot);
    }
}

/// Make the schedule.
#[inline(never)]
pub(super) fn emit(scope: &Scope<'_>, flow: &Flow<'_>, inlined: &Inlined, ordered: Ordered) -> KernelSchedule {
    let (slot_of, lens) = allocate(flow, &ordered);
    let place = |home: ValueHome| match home {
        ValueHome::Fixed(place) => place,
        ValueHome::Temp(t) => Place::Slot(slot_of[t]),
    };
    let mut schedule = KernelSchedule { slots: lens, ..Default::default() };
    for k in &ordered.order {
        let group = &ordered.groups.list[*k];
        let mut writes: Vec<(NodeId, Place)> = Vec::new();
        for i in group.items.iter().filter(|i| flow.items[**i].class != Class::Copy) {
            for v in flow.values(*i) {
                if let Some(home) = ordered.homes.get(&v) {
                    writes.push((v, place(*home)));
                    schedule.places.insert(v, place(*home));
                }
            }
        }
        let more = ordered.more.iter().filter(|m| m.0 == *k).map(|(_, v, home)| (*v, place(*home)));
        writes.extend(more);
        let read = |(t, _): &(NodeId, Use)| {
            let node = &flow.scope.graph.nodes[*t as usize];
            let at = match (ordered.home(flow, *k, *t), &node.op) {
                (Some(home), _) => place(home),
                _ if node.scope != scope.scope => Place::Outer,
                (_, Op::Input(i)) => Place::Arg(*i as usize),
                (_, Op::Param(i)) => Place::Param(*i as usize),
                _ => Place::Outer,
            };
            (*t, at)
        };
        let reads = group.reads.iter().map(read).collect();
        let (nodes, body) = contents(scope, flow, inlined, group);
        let operands = group.items.first().and_then(|i| flow.items[*i].operands.clone());
        let space = space(flow, group, &writes);
        let chain = group.items.first().and_then(|i| flow.items[*i].chain).map(|chain| flow.chains[chain].clone());
        schedule.kernels.push(Kernel { kind: group.kind, space, nodes, operands, reads, writes, body, chain });
    }
    schedule
}

/// The nodes that a group computes, and the body of a loop.
#[inline(never)]
fn contents(
    scope: &Scope<'_>,
    flow: &Flow<'_>,
    inlined: &Inlined,
    group: &Group,
) -> (Vec<NodeId>, Option<Box<KernelSchedule>>) {
    let mut nodes = Vec::new();
    let mut body = None;
    let mut stack: Vec<usize> = group.items.clone();
    while let Some(i) = stack.pop() {
        let item = &flow.items[i];
        match item.chain {
            Some(chain) => nodes.extend(&flow.chains[chain].nodes),
            None if item.class != Class::Copy => nodes.push(item.node),
            None => {}
        }
        if matches!(item.class, Class::Scan | Class::Call) {
            nodes.extend(flow.values(i));
        }
        if let Op::Scan(scan) = &scope.graph.nodes[item.node as usize].op
            && item.class == Class::Scan
        {
            body = Some(Box::new(scope.body(scan)));
        }
        stack.extend(item.edges.iter().filter_map(|e| flow.find(e.to)).filter(|t| inlined.yes[*t]));
    }
    nodes.sort_unstable();
    nodes.dedup();
    (nodes, body)
}

/// Index space of a kernel.
#[inline(never)]
fn space(flow: &Flow<'_>, group: &Group, writes: &[(NodeId, Place)]) -> Vec<usize> {
    let graph = flow.scope.graph;
    let shape = |node: NodeId| graph.nodes[node as usize].shape.clone();
    match (group.kind, group.items.first()) {
        (Kind::Scan | Kind::Chain, _) => Vec::new(),
        (_, None) => writes.first().map_or_else(Vec::new, |w| shape(w.0)),
        (_, Some(i)) => match flow.items[*i].class {
            Class::Store => shape(graph.nodes[flow.items[*i].node as usize].src[2]),
            Class::Piece => {
                let node = &graph.nodes[flow.items[*i].node as usize];
                let mut shape = node.shape.clone();
                if let (Op::Concat { axis }, Some(operands)) = (&node.op, &flow.items[*i].operands) {
                    shape[*axis] =
                        node.src[operands.clone()].iter().map(|s| graph.nodes[*s as usize].shape[*axis]).sum();
                }
                shape
            }
            Class::Call => {
                // The rows: the operands' axes but for the last one.
                let mut rows =
                    graph.nodes[flow.items[*i].node as usize].src.first().map_or_else(Vec::new, |s| shape(*s));
                rows.pop();
                rows
            }
            _ => shape(flow.items[*i].node),
        },
    }
}

/// The slot of each temporary, and the slots' lengths.
#[inline(never)]
fn allocate(flow: &Flow<'_>, ordered: &Ordered) -> (Vec<usize>, Vec<usize>) {
    let n = ordered.temps.len();
    let (mut first, mut last) = (vec![usize::MAX; n], vec![0usize; n]);
    let temp = |home: Option<ValueHome>| match home {
        Some(ValueHome::Temp(t)) => Some(t),
        _ => None,
    };
    for (at, k) in ordered.order.iter().enumerate() {
        let group = &ordered.groups.list[*k];
        let computed = group.items.iter().filter(|i| flow.items[**i].class != Class::Copy);
        let values: Vec<NodeId> = computed.flat_map(|i| flow.values(*i)).collect();
        let more = ordered.more.iter().filter(|m| m.0 == *k).filter_map(|m| match m.2 {
            ValueHome::Temp(t) => Some(t),
            ValueHome::Fixed(_) => None,
        });
        for t in values.iter().filter_map(|v| temp(ordered.homes.get(v).copied())).chain(more) {
            first[t] = first[t].min(at);
            last[t] = last[t].max(at);
        }
        for t in group.reads.iter().filter_map(|(v, _)| temp(ordered.home(flow, *k, *v))) {
            last[t] = last[t].max(at);
        }
    }
    let mut slots = SlotPool::default();
    let mut slot_of = vec![usize::MAX; n];
    let mut handed_on = vec![false; n];
    for (at, k) in ordered.order.iter().enumerate() {
        let group = &ordered.groups.list[*k];
        for t in (0..n).filter(|t| first[*t] == at) {
            // Where an operand is read for the last time, at the same index, the result may replace it.
            let replaced = group.reads.iter().find_map(|(v, how)| {
                let old = temp(ordered.home(flow, *k, *v))?;
                let same = ordered.temps[old] == ordered.temps[t] && last[old] == at && first[old] < at;
                let index = match group.kind {
                    Kind::Scan => is_first_value(flow, ordered, group, *v, t),
                    _ => *how == Use::Direct && !group.items.is_empty(),
                };
                (same && index && !handed_on[old]).then_some(old)
            });
            slot_of[t] = match replaced {
                Some(old) => {
                    handed_on[old] = true;
                    slot_of[old]
                }
                None => slots.take(ordered.temps[t]),
            };
        }
        for t in (0..n).filter(|t| last[*t] == at && first[*t] <= at && !handed_on[*t]) {
            slots.give(slot_of[t]);
        }
    }
    (slot_of, slots.lens)
}

/// Tells whether a loop reads `value` only as the first value of the carry that ends in temporary `t`.
fn is_first_value(flow: &Flow<'_>, ordered: &Ordered, group: &Group, value: NodeId, t: usize) -> bool {
    let graph = flow.scope.graph;
    let Some(node) = group.items.first().map(|i| &graph.nodes[flow.items[*i].node as usize]) else {
        return false;
    };
    let Op::Scan(scan) = &node.op else {
        return false;
    };
    let reads: Vec<usize> = (0..node.src.len()).filter(|i| fold(graph, node.src[*i]).0 == value).collect();
    let [i] = reads[..] else {
        return false;
    };
    let ends_there = flow.values(group.items[0]).iter().any(|v| {
        let out = matches!(graph.nodes[*v as usize].op, Op::Out(k) if k as usize == i);
        out && ordered.homes.get(v) == Some(&ValueHome::Temp(t))
    });
    i < scan.carries && fold(graph, node.src[i]).1 && ends_there
}
