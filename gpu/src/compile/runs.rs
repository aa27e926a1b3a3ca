//! Runs: small dispatches, each after the one before, as one dispatch of a single workgroup with barriers.
//!
//! A dispatch that waits for the one before costs a device some microseconds, in which one workgroup computes thousands
//! of numbers. So a run pays even where its kernels could have used another workgroup.

use super::compiled::{Compiled, Step};
use super::dispatch::Dispatch;
use super::spot::Home;
use crate::limits::KernelLimits;
use crate::wgsl::{self, Part};
use crate::work::Cost;

/// Workgroups of a kernel in a run at most: one workgroup takes the place of all, in turn.
const GROUPS: usize = 2;
/// Bytes of a run's text at most: a driver's time to compile grows faster than the text.
const TEXT: usize = 100_000;

/// Joins runs of small dispatches.
pub(super) fn join(compiled: Compiled, limits: KernelLimits) -> Compiled {
    let Compiled { dispatches, mut steps, own, longest } = compiled;
    let mut dispatches: Vec<Option<Dispatch>> = dispatches.into_iter().map(Some).collect();
    join_steps(&mut steps, &mut dispatches, limits);
    // Those that are left move up.
    let mut left = 0;
    let numbers: Vec<usize> = dispatches
        .iter()
        .map(|dispatch| {
            left += usize::from(dispatch.is_some());
            left.saturating_sub(1)
        })
        .collect();
    steps.iter_mut().flatten().for_each(|step| renumber(step, &numbers));
    Compiled { dispatches: dispatches.into_iter().flatten().collect(), steps, own, longest }
}

fn renumber(step: &mut Step, numbers: &[usize]) {
    match step {
        Step::Run(i) => *i = numbers[*i],
        Step::Loop { body, .. } => body.iter_mut().for_each(|step| renumber(step, numbers)),
    }
}

/// Joins the runs of lists of steps that follow each other.
fn join_steps(lists: &mut [Vec<Step>], dispatches: &mut [Option<Dispatch>], limits: KernelLimits) {
    let mut run: Option<usize> = None;
    for list in lists {
        list.retain_mut(|step| match step {
            Step::Run(i) => {
                let joined = run.is_some_and(|first| {
                    let [Some(of), Some(next)] = [&dispatches[first], &dispatches[*i]] else { return false };
                    fits(of, next, limits)
                });
                match (run, joined) {
                    (Some(first), true) => {
                        if let Some(next) = dispatches[*i].take()
                            && let Some(of) = &mut dispatches[first]
                        {
                            add(of, next);
                        }
                    }
                    _ => run = dispatches[*i].as_ref().is_some_and(is_small).then_some(*i),
                }
                !joined
            }
            Step::Loop { body, .. } => {
                run = None;
                join_steps(std::slice::from_mut(body), dispatches, limits);
                true
            }
        });
    }
}

/// Tells whether a dispatch is small enough for a run. Those with levels of their own take long.
fn is_small(dispatch: &Dispatch) -> bool {
    let is_short = |part: &Part| part.body.size == wgsl::GROUP && part.body.work[Cost::Level] == 0;
    dispatch.parts.iter().all(|part| is_short(part) && part.body.groups <= GROUPS)
}

/// Tells whether a run may have one more dispatch.
fn fits(run: &Dispatch, next: &Dispatch, limits: KernelLimits) -> bool {
    let bodies = || run.parts.iter().chain(&next.parts).map(|part| &part.body);
    let more = next.homes.iter().filter(|home| !run.homes.contains(home)).count();
    let shared: usize = wgsl::shared(bodies()).iter().map(wgsl::Shared::bytes).sum();
    is_small(next)
        && run.homes.len() + more <= limits.bindings
        && shared <= limits.workgroup_bytes
        && bodies().map(|body| body.text.len()).sum::<usize>() <= TEXT
        && bodies().map(|body| body.groups * body.trips).sum::<usize>() <= limits.trips
}

/// Adds a dispatch to a run.
fn add(run: &mut Dispatch, next: Dispatch) {
    let place = |homes: &mut Vec<Home>, written: &mut Vec<bool>, home: Home| {
        homes.iter().position(|other| *other == home).unwrap_or_else(|| {
            homes.push(home);
            written.push(false);
            homes.len() - 1
        })
    };
    let mut places = Vec::with_capacity(next.homes.len());
    for (home, is_written) in next.homes.iter().zip(&next.written) {
        let at = place(&mut run.homes, &mut run.written, *home);
        run.written[at] |= is_written;
        places.push(at);
    }
    for mut part in next.parts {
        part.bindings.iter_mut().for_each(|(_, binding)| *binding = places[*binding]);
        run.parts.push(part);
    }
    run.moved += next.moved;
    run.nodes.extend(next.nodes);
}
