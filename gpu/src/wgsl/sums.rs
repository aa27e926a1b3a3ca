//! Sums over the rows of a chain: where several workgroups have parts of them, a dispatch adds these.

use quickstudy_kernels::Result;
use quickstudy_kernels::tensor::{Graph, NodeId};

use super::body::{Body, buffer};
use super::chain::written;
use super::emit::Emitter;
use super::index::Ix;
use super::memory::Memory;
use super::results::GROUP;
use super::stretch::Stretch;
use crate::limits::KernelLimits;
use crate::plan::PlannedChain;
use crate::work::Cost;

/// Sums that follow each other in the same value, and in the scratch buffer.
#[derive(Clone, Debug)]
pub(super) struct SumRange {
    /// The value.
    pub node: NodeId,
    /// Its position there, of the first group, and the distance of groups.
    pub offset: usize,
    pub group: usize,
    /// Its position among the sums of a workgroup.
    pub first: usize,
    /// Numbers of a group.
    pub len: usize,
    /// Number and position of each sum.
    pub sums: Vec<(usize, usize)>,
}

/// The ranges of a chain's sums.
pub(super) fn ranges(chain: &PlannedChain) -> Vec<SumRange> {
    let mut order: Vec<usize> = (0..chain.sums.len()).collect();
    order.sort_by_key(|sum| (chain.sums[*sum].node, chain.sums[*sum].offset));
    let (mut ranges, mut first): (Vec<SumRange>, usize) = (Vec::new(), 0);
    for sum in order {
        let (place, len) = (chain.sums[sum], chain.tile.sums[sum]);
        match ranges.last_mut() {
            Some(range) if range.node == place.node && range.offset + range.len == place.offset => {
                range.sums.push((sum, first));
                range.len += len;
            }
            _ => ranges.push(SumRange {
                node: place.node,
                offset: place.offset,
                group: place.group,
                first,
                len,
                sums: vec![(sum, first)],
            }),
        }
        first += len;
    }
    ranges
}

/// Dispatches that add the sums of a chain's workgroups, each of which binds few enough buffers.
///
/// # Errors
/// If the plan is at fault.
pub(super) fn bodies(graph: &Graph, chain: &PlannedChain, memory: &Memory, limits: KernelLimits) -> Result<Vec<Body>> {
    let bindings = |node: NodeId| memory.writes.iter().filter(move |w| w.0 == node).map(|w| w.1.binding);
    let mut parts: Vec<(Vec<usize>, Vec<SumRange>)> = Vec::new();
    for range in ranges(chain) {
        let more: Vec<usize> = bindings(range.node).collect();
        let fits = |of: &[usize]| of.len() + more.iter().filter(|b| !of.contains(b)).count() < limits.bindings;
        match parts.last_mut().filter(|part| fits(&part.0)) {
            Some((bound, ranges)) => {
                bound.extend(more);
                bound.sort_unstable();
                bound.dedup();
                ranges.push(range);
            }
            None => parts.push((more, vec![range])),
        }
    }
    parts.into_iter().map(|(_, ranges)| body(graph, chain, memory, &ranges)).collect()
}

fn body(graph: &Graph, chain: &PlannedChain, memory: &Memory, ranges: &[SumRange]) -> Result<Body> {
    let tile = &chain.tile;
    let (all, numbers) = (tile.numbers(), ranges.iter().map(|range| range.len).sum::<usize>());
    let items = numbers * tile.groups;
    let mut emitter = Emitter::new(graph, memory.leaves.clone(), &[]);
    emitter.line(&format!("let item = (group.x + group.y * count.x) * {GROUP}u + local;"));
    emitter.guard(format!("item < {items}u"));
    let at = emitter.unflat(&[tile.groups, numbers], &if items == 1 { Ix::Known(0) } else { Ix::var("item") });
    let (group, number) = (&at[0], &at[1]);
    let first = ranges.first().map_or(0, |range| range.first);
    let scratch = memory.written.len();
    emitter.read.insert(scratch);
    let row = emitter.times(group, tile.workgroups * all);
    let start = emitter.add(&row, number);
    let start = emitter.add(&start, &Ix::Known(first));
    emitter.line("var sum = 0.0f;");
    let end = emitter.bind(format!("{start} + {}u", tile.workgroups * all));
    let of = Stretch { name: "w", first: &start, stride: all, end: &end, most: tile.workgroups, even: true };
    emitter.stretch(&of, |emitter, at| {
        emitter.line(&format!("sum += bitcast<f32>({}[{at}]);", buffer(scratch)));
    });
    for range in ranges {
        let lo = range.first - first;
        emitter.open(&format!("if ({number} >= {lo}u && {number} < {}u)", lo + range.len), 1);
        let to = emitter.times(group, range.group);
        let to = emitter.add(&to, number);
        let flat = Ix::var(&emitter.bind(format!("{to} + {}u - {lo}u", range.offset)));
        written(&mut emitter, memory, range.node, &flat, "bitcast<u32>(sum)");
        emitter.close(1);
    }
    emitter.body(Cost::Sum, GROUP, items.div_ceil(GROUP))
}
