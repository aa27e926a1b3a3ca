//! The memory that a lowered program takes.

use super::buffer::Words;
use super::memory::Span;
use super::product::product_scratch;
use super::steps::{Lowered, LoweredStep};
use super::values::{NO_NODE, Storage};
use crate::program::{Footprint, Holds, Trace};
use crate::tensor::{NodeId, Op};

/// Bytes of as many words.
fn bytes(words: usize) -> u64 {
    (words as u64).saturating_mul(4)
}

/// All that a program takes on that many threads.
pub fn of(trace: &Trace, root: &Lowered, threads: usize) -> Footprint {
    let mut footprint = Footprint::of_arguments(trace, 4);
    let most = schedule(root, threads, &mut footprint);
    footprint.add(most.0, if most.1 == NO_NODE { Holds::Scratch } else { Holds::Operands(most.1) });
    footprint
}

/// Adds what a schedule and the loops in it keep; what it takes beside that for a moment, at most, and for which node.
fn schedule(lowered: &Lowered, threads: usize, footprint: &mut Footprint) -> (u64, NodeId) {
    let addresses = lowered.storage.len() * (size_of::<Words>() + size_of::<Span>());
    footprint.add(addresses as u64, Holds::Scratch);
    for (storage, node) in lowered.storage.iter().zip(&lowered.nodes) {
        let words = match storage {
            Storage::Temp(len) => Words::whole_lines(*len),
            // Where it comes from and where it is read.
            Storage::Static(data) => data.len() + Words::whole_lines(data.len()),
            Storage::Iota(shape, _) => Words::whole_lines(shape.iter().product()),
            _ => 0,
        };
        footprint.add(bytes(words), if *node == NO_NODE { Holds::Scratch } else { Holds::Value(*node) });
    }
    // Scratch is shared by all tiles of a schedule.
    let mut scratch: Vec<usize> = Vec::new();
    // Words for products outside of tiles, in each thread.
    let mut packed = 0;
    let mut most = (0, NO_NODE);
    for step in &lowered.steps {
        let (moment, node) = match step {
            LoweredStep::Copy { src, .. } => (bytes(src.len()), NO_NODE),
            LoweredStep::Node(step) => {
                let operands = || step.src.iter().map(|view| bytes(view.len())).fold(0, u64::saturating_add);
                let result = bytes(step.shape.iter().product());
                let moment = match &step.op {
                    Op::MatMul { ta, .. } => {
                        packed = packed.max(product_scratch(step, *ta));
                        0
                    }
                    Op::Sum { .. } if step.src[0].is_contiguous() => result,
                    Op::Sum { .. } => operands().saturating_add(result),
                    Op::Call(_) => operands().saturating_mul(2),
                    // A table that is read in place and rows that are changed in place take no copy.
                    Op::Gather if step.src[0].is_contiguous() => bytes(step.src[1].len()).saturating_add(result),
                    Op::Gather => operands().saturating_add(result),
                    Op::Store if step.src[0].value == step.dst[0] => {
                        bytes(step.src[1].len()).saturating_add(bytes(step.src[2].len()))
                    }
                    _ => operands(),
                };
                (moment, step.id)
            }
            LoweredStep::Scan(scan) => {
                let (inside, node) = schedule(&scan.body, threads, footprint);
                let copied = |words: usize| bytes(words).saturating_mul(2);
                let stacked = scan.xs.iter().map(|x| copied(x.0.len())).fold(0, u64::saturating_add);
                let carried = scan.carries.iter().map(|c| bytes(c.next.len())).max().unwrap_or(0);
                (stacked.saturating_add(inside.max(carried)), node)
            }
            LoweredStep::Tile(tile) => {
                let shares = tile.shares(threads);
                let partials = shares.partials.saturating_mul(shares.tasks);
                let words = std::iter::repeat_n(shares.scratch, shares.workers).chain([partials]);
                for (i, words) in words.enumerate() {
                    match scratch.get_mut(i) {
                        Some(most) => *most = words.max(*most),
                        None => scratch.push(words),
                    }
                }
                (0, NO_NODE)
            }
        };
        if moment > most.0 {
            most = (moment, node);
        }
    }
    footprint.add(bytes(packed.saturating_mul(threads)), Holds::Scratch);
    footprint.add(scratch.iter().map(|words| bytes(*words)).fold(0, u64::saturating_add), Holds::Scratch);
    most
}
