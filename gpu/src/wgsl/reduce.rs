//! Reductions: invocations of a workgroup share a result, or a few results next to each other.

use quickstudy_kernels::program::is_view;
use quickstudy_kernels::tensor::{Graph, NodeId, Op};

use super::emit::Emitter;
use super::index::Ix;
use super::memory::Memory;
use super::results::{GROUP, after, partial};
use super::split;
use super::stretch::Stretch;
use crate::limits::KernelLimits;
use crate::plan::{Kernel, is_long_sum};

/// Elements that one invocation sums by itself.
const SERIAL: usize = 32;
/// Neighbouring results of a workgroup at most.
const WIDTH: usize = 32;
/// Workgroups that fill a GPU.
const ENOUGH: usize = 512;

fn reductions(graph: &Graph, kernel: &Kernel, emitter: &Emitter<'_>) -> Vec<NodeId> {
    let results: usize = kernel.space.iter().product();
    let reduces = |id: &NodeId| matches!(graph.nodes[*id as usize].op, Op::Sum { .. } | Op::ReduceMax { .. });
    // Those inside of others have more elements.
    let all: Vec<NodeId> = kernel.nodes.iter().copied().filter(reduces).collect();
    all.into_iter().filter(|id| graph.nodes[*id as usize].len() == results && !emitter.stages(*id).is_empty()).collect()
}

/// Tells whether a kernel's reductions are long enough to be shared by a workgroup.
pub(super) fn by_groups(graph: &Graph, kernel: &Kernel, emitter: &Emitter<'_>) -> bool {
    let of = reductions(graph, kernel, emitter);
    let Some(first) = of.first() else {
        return false;
    };
    let stages = emitter.stages(*first);
    let same = of.iter().all(|id| emitter.stages(*id) == stages);
    same && stages.iter().product::<usize>() > SERIAL
}

/// How the work of reductions is divided.
#[derive(Debug)]
pub(super) struct ReduceWork {
    /// The reductions.
    pub heads: Vec<NodeId>,
    /// Lengths of the reduced axes, outermost first.
    stages: Vec<usize>,
    /// Results of a workgroup.
    width: usize,
    /// Neighbouring invocations read neighbouring results, not neighbouring elements of one.
    across: bool,
    /// Parts of each sum.
    pub slices: usize,
    /// Elements of a part.
    each: usize,
}

impl ReduceWork {
    pub fn of(emitter: &Emitter<'_>, kernel: &Kernel, limits: KernelLimits) -> ReduceWork {
        let graph = emitter.graph;
        let results: usize = kernel.space.iter().product();
        let heads = reductions(graph, kernel, emitter);
        let stages = heads.first().map(|id| emitter.stages(*id)).unwrap_or_default();
        let total: usize = stages.iter().product();
        let across = heads.first().is_some_and(|id| !ends_at_last_axis(graph, *id, stages.len()));
        let most = results.next_power_of_two().min(WIDTH);
        // Each invocation has a few elements to sum.
        let width = if across { most } else { (4 * GROUP / total.next_power_of_two()).clamp(1, most) };
        let blocks = results.div_ceil(width);
        // More parts than the plan has counted where one invocation may not do its share at once.
        let least = split::least(total, limits.trips.saturating_mul(GROUP / width));
        let (slices, each) = if is_long_sum(results, total) || least > 1 {
            split::slices(total, (ENOUGH / blocks).max(least), (8 * GROUP / width).min(total / least))
        } else {
            (1, total)
        };
        ReduceWork { heads, stages, width, across, slices, each }
    }
}

/// Tells whether the innermost axis that is reduced is that in which elements are next to each other.
fn ends_at_last_axis(graph: &Graph, mut id: NodeId, stages: usize) -> bool {
    for _ in 1..stages {
        id = graph.nodes[id as usize].src[0];
        while is_view(&graph.nodes[id as usize].op) {
            id = graph.nodes[id as usize].src[0];
        }
    }
    let node = &graph.nodes[id as usize];
    match node.op {
        Op::Sum { axis } | Op::ReduceMax { axis } => node.shape[axis + 1..].iter().all(|n| *n == 1),
        _ => true,
    }
}

pub(super) fn emit(emitter: &mut Emitter<'_>, kernel: &Kernel, memory: &Memory, work: &ReduceWork) -> usize {
    let graph = emitter.graph;
    let ReduceWork { heads, stages, width, slices, each, .. } = work;
    let results: usize = kernel.space.iter().product();
    let total: usize = stages.iter().product();
    let (lanes, blocks) = (GROUP / width, results.div_ceil(*width));
    let arrays = emitter.share_sums(heads, GROUP);
    emitter.line("let number = group.x + group.y * count.x;");
    emitter.guard(format!("number < {}u", slices * blocks));
    let (lane, place, apart) = match work.across {
        true => (format!("local / {width}u"), format!("local % {width}u"), *width),
        false => (format!("local % {lanes}u"), format!("local / {lanes}u"), 1),
    };
    emitter.line(&format!("let lane = {lane};"));
    let number = if slices * blocks == 1 { Ix::Known(0) } else { Ix::var("number") };
    let at = emitter.unflat(&[*slices, blocks], &number);
    let first = emitter.times(&at[1], *width);
    let mut item = first.clone();
    let mut guard = "lane == 0u".to_owned();
    if *width > 1 {
        emitter.line(&format!("let place = {place};"));
        item = emitter.add(&first, &Ix::var("place"));
        if !results.is_multiple_of(*width) {
            guard = format!("lane == 0u && {item} < {results}u");
            item = Ix::var(&emitter.bind(format!("min({item}, {}u)", results - 1)));
        }
    }
    for (k, id) in heads.iter().enumerate() {
        let (first, _) = emitter.start_of(*id);
        emitter.line(&format!("var sum{k} = {first};"));
    }
    let start = emitter.times(&at[0], *each);
    let end = match slices {
        1 => format!("{total}u"),
        _ => emitter.bind(format!("min({start} + {each}u, {total}u)")),
    };
    let first = emitter.add(&start, &Ix::var("lane"));
    let even = slices * each == total && each.is_multiple_of(lanes);
    let of = Stretch { name: "i", first: &first, stride: lanes, end: &end, most: each.div_ceil(lanes), even };
    emitter.stretch(&of, |emitter, i| {
        let along = emitter.unflat(stages, i);
        for (k, id) in heads.iter().enumerate() {
            let at = emitter.unflat(&graph.nodes[*id as usize].shape, &item);
            let x = emitter.reduced(*id, &at, &along);
            let next = emitter.combined(*id, &format!("sum{k}"), &x);
            emitter.line(&format!("sum{k} = {next};"));
        }
    });
    for (k, array) in arrays.iter().enumerate() {
        emitter.line(&format!("{array}[local] = sum{k};"));
    }
    let mut half = lanes / 2;
    while half > 0 {
        emitter.line("workgroupBarrier();");
        emitter.block(&format!("if (lane < {half}u)"), |emitter| {
            for (k, id) in heads.iter().enumerate() {
                let x = emitter.bind(format!("{}[local + {}u]", arrays[k], half * apart));
                let next = emitter.combined(*id, &format!("sum{k}"), &x);
                emitter.line(&format!("sum{k} = {next};"));
                emitter.line(&format!("{}[local] = sum{k};", arrays[k]));
            }
        });
        half /= 2;
    }
    emitter.block(&format!("if ({guard})"), |emitter| {
        let known: Vec<(NodeId, String)> = heads.iter().enumerate().map(|(k, id)| (*id, format!("sum{k}"))).collect();
        match slices {
            1 => after(emitter, kernel, memory, &known, &item),
            _ => {
                let row = emitter.times(&at[0], results);
                let index = emitter.add(&row, &item);
                partial(emitter, memory, &known, &index, slices * results);
            }
        }
    });
    slices * blocks
}
