//! The places at which parts of a divided trace write what outlives them: carries of loops, and large entries of the
//! state.

use super::context::Context;
use super::cut::CutStep;
use super::division::Division;
use super::marks::Marks;
use super::part::LoopWork;
use super::versions::versions;
use crate::tensor::{Graph, NodeId, Op};
use crate::{Error, Result};

/// Leaves what a part makes of a large entry of the state where the entry is, for later parts to read and change it
/// there. Then it is not as before if the host fails after that part.
pub(super) fn in_place(cx: &Context, graph: &Graph, division: &mut Division<'_>, work: &mut [LoopWork]) -> Result<()> {
    for (number, arg) in cx.args.iter().enumerate().filter(|(_, arg)| arg.bulk) {
        let is_it = |op: &Op| matches!(op, Op::Input(i) if *i as usize == number);
        let Some(first) = graph.nodes.iter().position(|node| is_it(&node.op)) else { continue };
        let versions = versions(graph, first as NodeId);
        for part in 0..work.len() {
            let mut made = division.gives[part].nodes();
            made.retain(|id| *id != first as NodeId && versions.contains_key(id));
            let Some(value) = made.first().copied() else { continue };
            let older = |later: &Marks| later.contains(first as NodeId);
            if made.len() > 1 || division.seen[part + 1..].iter().any(older) {
                let problem = format!("`{}` is bulk: once it is changed, only its newest value can be read", arg.name);
                return Err(Error::Program(problem));
            }
            division.gives[part].remove(value);
            work[part].results.push((value, number));
            for (reads, work) in division.reads.iter_mut().zip(work.iter_mut()).skip(part + 1) {
                if reads.remove(value) {
                    work.entries.push((value, number));
                }
            }
        }
    }
    Ok(())
}

/// Finds where the carries of a loop are written: the loop's first and last cut are `[begin, end]`.
pub(super) fn carried(
    cx: &Context,
    graph: &Graph,
    division: &mut Division<'_>,
    steps: &mut [CutStep],
    work: &mut [LoopWork],
    [begin, end]: [usize; 2],
) -> Result<()> {
    let last = steps.len();
    let carries = steps[begin].answers[1..].to_vec();
    let (firsts, news, ends) = (steps[begin].asks.clone(), steps[end].asks.clone(), steps[end].answers.clone());
    for (number, carry) in carries.into_iter().enumerate() {
        // A large carry that begins as an entry of the state and ends as its update is that entry, which is not copied.
        // Then it is not as before if the host fails in the loop.
        let entry = match graph.nodes[firsts[number] as usize].op {
            Op::Input(arg) if cx.args[arg as usize].bulk => Some(arg as usize),
            _ => None,
        };
        if let Some(arg) = entry {
            let read = (begin + 1..=last).any(|part| division.seen[part].contains(firsts[number]));
            if read || !work[last].results.contains(&(ends[number], arg)) {
                let name = &cx.args[arg].name;
                let problem =
                    format!("`{name}` is bulk: what a loop that asks the host makes of it must be its only new value");
                return Err(Error::Program(problem));
            }
        }
        match entry {
            Some(arg) => work[last].results.retain(|(_, result)| *result != arg),
            None => work[begin].firsts.push((number, firsts[number])),
        }
        steps[begin].entries.push(entry.map(|arg| cx.args[arg].name.clone()));
        // It is written in place by the part that computes its new value, unless a later one still needs the old value.
        let value = news[number];
        let early = division.owner(value).filter(|part| {
            let old = steps[*part].asks.contains(&carry)
                || (part + 1..=end).any(|later| division.seen[later].contains(carry));
            begin < *part && *part < end && !old && division.gives[*part].remove(value)
        });
        if let Some(part) = early {
            steps[begin].early.push((part, carry, value));
        }
        work[early.unwrap_or(end)].carries.push((carry, value));
    }
    Ok(())
}
