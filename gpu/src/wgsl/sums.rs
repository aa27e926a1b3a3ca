//! Sums over the rows of a chain: where several workgroups have parts of them, or something follows from them before it
//! is written, a dispatch finishes them.

use quickstudy_kernels::Result;
use quickstudy_kernels::tensor::{Graph, NodeId};

use super::body::{Body, buffer};
use super::emit::Emitter;
use super::index::Ix;
use super::memory::Memory;
use super::results::{GROUP, written};
use super::stretch::Stretch;
use crate::limits::KernelLimits;
use crate::plan::{PlannedChain, SumPlace};
use crate::work::{Cost, Work};

/// The position of each sum among those that a workgroup leaves: sums that follow each other in a value follow each
/// other here, too.
pub(super) fn positions(chain: &PlannedChain) -> Vec<usize> {
    let mut order: Vec<usize> = (0..chain.sums.len()).collect();
    order.sort_by_key(|sum| chain.sums[*sum].1.map(|place| (place.node, place.offset)));
    let (mut positions, mut next) = (vec![0; order.len()], 0);
    for sum in order {
        positions[sum] = next;
        next += chain.tile.sums[sum];
    }
    positions
}

/// Numbers that are written to one place: sums as they are, or what follows from some.
struct Finished {
    place: SumPlace,
    /// Numbers of a group.
    len: usize,
    /// The sums, their positions, and their numbers of a group.
    sums: Vec<(NodeId, usize, usize)>,
    /// The node that is computed from them, if they are not written themselves.
    value: Option<NodeId>,
}

fn finished(chain: &PlannedChain) -> Vec<Finished> {
    let positions = positions(chain);
    let mut order: Vec<(usize, usize)> = positions.iter().copied().enumerate().map(|(sum, at)| (at, sum)).collect();
    order.sort_unstable();
    let mut all: Vec<Finished> = Vec::new();
    for (at, sum) in order {
        let ((node, place), len) = (chain.sums[sum], chain.tile.sums[sum]);
        let Some(place) = place else { continue };
        match all.last_mut() {
            Some(last)
                if (last.place.node, last.place.offset + last.len) == (place.node, place.offset)
                    && last.sums[0].1 + last.len == at =>
            {
                last.len += len;
            }
            _ => all.push(Finished { place, len, sums: vec![(node, at, len)], value: None }),
        }
    }
    for after in &chain.after {
        let of = |node: &NodeId| chain.sums.iter().position(|sum| sum.0 == *node).unwrap_or_default();
        let sum = |node: &NodeId| (*node, positions[of(node)], chain.tile.sums[of(node)]);
        let sums: Vec<(NodeId, usize, usize)> = after.sums.iter().map(sum).collect();
        let len = after.len;
        all.push(Finished { place: after.place, len, sums, value: Some(after.value) });
    }
    all
}

/// Dispatches that finish the sums of a chain, each of which binds few enough buffers.
///
/// # Errors
/// If the plan is at fault.
pub(super) fn bodies(graph: &Graph, chain: &PlannedChain, memory: &Memory, limits: KernelLimits) -> Result<Vec<Body>> {
    let bindings = |node: NodeId| memory.writes.iter().filter(move |w| w.0 == node).map(|w| w.1.binding);
    // What follows from sums reads other values.
    let read = if chain.after.is_empty() { 1 } else { 1 + memory.written.iter().filter(|written| !**written).count() };
    let mut parts: Vec<(Vec<usize>, Vec<Finished>)> = Vec::new();
    for one in finished(chain) {
        let more: Vec<usize> = bindings(one.place.node).collect();
        let fits = |of: &[usize]| of.len() + more.iter().filter(|b| !of.contains(b)).count() + read <= limits.bindings;
        match parts.last_mut().filter(|part| fits(&part.0)) {
            Some((bound, list)) => {
                bound.extend(more);
                bound.sort_unstable();
                bound.dedup();
                list.push(one);
            }
            None => parts.push((more, vec![one])),
        }
    }
    parts.into_iter().map(|(_, list)| body(graph, chain, memory, &list)).collect()
}

fn body(graph: &Graph, chain: &PlannedChain, memory: &Memory, list: &[Finished]) -> Result<Body> {
    let tile = &chain.tile;
    let numbers: usize = list.iter().map(|one| one.len).sum();
    let items = numbers * tile.groups;
    let computed: Vec<NodeId> = chain.after.iter().flat_map(|after| after.nodes.iter().copied()).collect();
    let mut emitter = Emitter::new(graph, memory.leaves.clone(), &computed);
    emitter.line(&format!("let item = (group.x + group.y * count.x) * {GROUP}u + local;"));
    emitter.guard(format!("item < {items}u"));
    let at = emitter.unflat(&[tile.groups, numbers], &if items == 1 { Ix::Known(0) } else { Ix::var("item") });
    let (group, number) = (&at[0], &at[1]);
    let mut lo = 0;
    for one in list {
        let head = match list.len() {
            1 => String::new(),
            _ => format!("if ({number} >= {lo}u && {number} < {}u)", lo + one.len),
        };
        emitter.open(&head, 1);
        // The element among those of the place.
        let element = match (number, lo) {
            (Ix::Known(_), _) => Ix::Known(0),
            (_, 0) => number.clone(),
            _ => Ix::var(&emitter.bind(format!("{number} - {lo}u"))),
        };
        let element_of = |len: usize| if len == 1 { Ix::Known(0) } else { element.clone() };
        let sums: Vec<String> = one
            .sums
            .iter()
            .map(|(_, at, len)| total(&mut emitter, chain, memory, (group, &element_of(*len)), *at))
            .collect();
        let result = match one.value {
            None => sums[0].clone(),
            Some(value) => {
                for ((node, _, len), sum) in one.sums.iter().zip(&sums) {
                    let at = of_group(&mut emitter, *node, group, (&element_of(*len), *len));
                    emitter.know(*node, &at, sum);
                }
                let at = of_group(&mut emitter, value, group, (&element_of(one.len), one.len));
                emitter.value(value, &at)
            }
        };
        let to = emitter.times(group, one.place.group);
        let to = emitter.add(&to, &element);
        let to = emitter.add(&to, &Ix::Known(one.place.offset));
        written(&mut emitter, memory, one.place.node, &to, &format!("bitcast<u32>({result})"));
        emitter.close();
        lo += one.len;
    }
    // An invocation has one place.
    let sums = list.iter().map(|one| one.sums.len()).max().unwrap_or(0);
    let work = Work::default().with(Cost::Sum, sums * tile.workgroups.div_ceil(4));
    Ok(Body { work, ..emitter.body(Cost::Sum, GROUP, items.div_ceil(GROUP))? })
}

/// The index of an element of a group, of so many, in a node.
fn of_group(emitter: &mut Emitter<'_>, node: NodeId, group: &Ix, (element, len): (&Ix, usize)) -> Vec<Ix> {
    let shape = emitter.graph.nodes[node as usize].shape.clone();
    let at: Vec<Ix> = std::iter::once(group.clone()).chain(emitter.unflat(&shape[1..], element)).collect();
    let before = emitter.times(group, len);
    let flat = emitter.add(&before, element);
    emitter.same(&shape, &at, &flat);
    at
}

/// The sum of all workgroups, at a position of what each has left.
fn total(
    emitter: &mut Emitter<'_>,
    chain: &PlannedChain,
    memory: &Memory,
    (group, element): (&Ix, &Ix),
    position: usize,
) -> String {
    let (all, workgroups) = (chain.tile.numbers(), chain.tile.workgroups);
    let scratch = memory.written.len();
    emitter.read.insert(scratch);
    let row = emitter.times(group, workgroups * all);
    let start = emitter.add(&row, element);
    let start = emitter.add(&start, &Ix::Known(position));
    let (sum, index) = (emitter.name("s"), emitter.name("w"));
    emitter.line(&format!("var {sum} = 0.0f;"));
    let end = emitter.bind(format!("{start} + {}u", workgroups * all));
    let of = Stretch { name: &index, first: &start, stride: all, end: &end, most: workgroups, even: true };
    emitter.stretch(&of, |emitter, at| {
        emitter.line(&format!("{sum} += bitcast<f32>({}[{at}]);", buffer(scratch)));
    });
    sum
}
