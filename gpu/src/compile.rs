//! From a plan to steps: which buffers each kernel binds, and its shader.

mod bind;
mod compiled;
mod dispatch;
mod loops;
mod name;
mod number;
mod pack;
mod runs;
mod spot;

use quickstudy_kernels::tensor::NodeId;
use quickstudy_kernels::{Error, Result};

use crate::limits::KernelLimits;
use crate::plan::{Kernel, KernelSchedule, Kind, Plan};
use crate::wgsl::{self, Pass};
use bind::{Bindings, Frame};
pub(crate) use compiled::{Compiled, Step};
use dispatch::Dispatch;
use pack::Packs;
pub(crate) use spot::Home;
use spot::{Key, Spot, Write};

/// Steps of a plan.
///
/// # Errors
/// If a kernel binds more buffers than it may, or the plan is at fault.
pub(crate) fn compile(plan: &Plan, limits: KernelLimits) -> Result<Compiled> {
    let mut packs = Packs::default();
    loop {
        // Which loops want fewer buffers shows while they are compiled; what is packed for them is elsewhere then.
        let (compiled, wishes) = compile_with(plan, limits, &packs);
        if !packs.grant(&wishes, limits.words) {
            return compiled.map(|compiled| if limits.runs { runs::join(compiled, limits) } else { compiled });
        }
    }
}

fn compile_with(plan: &Plan, limits: KernelLimits, packs: &Packs) -> (Result<Compiled>, Packs) {
    let compiled = Compiled { longest: 1, own: packs.lens(), ..Compiled::default() };
    let mut compiler =
        Compiler { plan, limits, packs, wishes: Packs::default(), scratch: None, refused: None, compiled };
    let slots = compiler.slots(&plan.schedule);
    let root = Frame { around: None, is_flat: false, level: 0, slots, carries: Vec::new(), rows: Vec::new() };
    let steps = compiler.schedule(&plan.schedule, &root);
    let Compiler { compiled, wishes, refused, .. } = compiler;
    let steps = steps.and_then(|steps| refused.map_or(Ok(steps), Err));
    (steps.map(|steps| Compiled { steps, ..compiled }), wishes)
}

/// The WGSL of a plan's kernels, without a device: each text once, in order of its first use.
///
/// # Errors
/// If a kernel binds more buffers than it may.
pub fn shaders(plan: &Plan, limits: KernelLimits) -> Result<Vec<String>> {
    let mut texts: Vec<String> = Vec::new();
    for dispatch in compile(plan, limits)?.dispatches {
        let text = dispatch.shader(plan).text;
        if !texts.contains(&text) {
            texts.push(text);
        }
    }
    Ok(texts)
}

/// Number of dispatches of each kernel of a plan, those of loops at each step. A dispatch that runs several kernels
/// counts for the first of them.
///
/// # Errors
/// If a kernel binds more buffers than it may.
pub fn dispatches(plan: &Plan, limits: KernelLimits) -> Result<Vec<usize>> {
    let compiled = compile(plan, limits)?;
    Ok(compiled.steps.iter().map(|steps| compiled.runs(steps).iter().sum()).collect())
}

/// Words of a value that shares a buffer with others at most.
const SMALL: usize = 16_384;

struct Compiler<'a> {
    plan: &'a Plan,
    limits: KernelLimits,
    /// Which values share a buffer.
    packs: &'a Packs,
    /// Which values should.
    wishes: Packs,
    /// The program's own buffer that holds partial sums between the dispatches of a kernel.
    scratch: Option<usize>,
    /// The first kernel that binds more buffers than it may. Others may wish for fewer, too.
    refused: Option<Error>,
    compiled: Compiled,
}

/// Number of buffers of these writes and one more.
fn distinct(writes: &[Write], more: Spot) -> usize {
    let mut homes: Vec<Home> = Vec::with_capacity(writes.len() + 1);
    for spot in writes.iter().map(|w| w.1).chain([more]) {
        if !homes.contains(&spot.home) {
            homes.push(spot.home);
        }
    }
    homes.len()
}

impl Compiler<'_> {
    /// Memory of the program's own: a buffer, or a part of the first one, which small values share, so that kernels
    /// which run in turn bind few buffers.
    fn own(&mut self, key: Key, len: usize) -> Spot {
        if let Some(spot) = self.packs.find(key) {
            return spot;
        }
        let first = self.compiled.own[0].next_multiple_of(4);
        if len <= SMALL && first + len <= self.limits.words {
            self.compiled.own[0] = first + len;
            return Spot { home: Home::Own(0), first, key: None };
        }
        self.compiled.own.push(len);
        Spot { home: Home::Own(self.compiled.own.len() - 1), first: 0, key: Some((key, len)) }
    }

    fn slots(&mut self, schedule: &KernelSchedule) -> Vec<Spot> {
        schedule.slots.iter().enumerate().map(|(i, len)| self.own(Key::slot(schedule, i), *len)).collect()
    }

    /// The steps of each kernel.
    fn schedule(&mut self, schedule: &KernelSchedule, frame: &Frame<'_>) -> Result<Vec<Vec<Step>>> {
        let steps = schedule.kernels.iter().map(|kernel| {
            let mut steps = Vec::new();
            match kernel.kind {
                Kind::Scan => self.scan(kernel, frame, &mut steps)?,
                _ => self.kernel(kernel, frame, &mut steps)?,
            }
            Ok(steps)
        });
        steps.collect()
    }

    fn kernel(&mut self, kernel: &Kernel, frame: &Frame<'_>, steps: &mut Vec<Step>) -> Result<()> {
        let mut reads = Bindings::default();
        for (node, place) in &kernel.reads {
            frame.leaf(self.plan, *node, *place, &mut reads)?;
        }
        frame.steps_of(&mut reads);
        let mut writes = Vec::with_capacity(kernel.writes.len());
        for (node, place) in &kernel.writes {
            if let Some((spot, row)) = frame.write(*place)? {
                writes.push((*node, spot, row));
            }
        }
        // A chain computes everything at once.
        let parts = if kernel.kind == Kind::Chain { vec![writes] } else { self.parts(&reads, writes) };
        for part in parts {
            self.dispatches(kernel, reads.clone(), &part, steps)?;
        }
        Ok(())
    }

    /// The writes of one dispatch, or of several where an environment's results are too many buffers: each part
    /// computes again what it needs. What replaces an operand is written last.
    fn parts(&self, reads: &Bindings, writes: Vec<Write>) -> Vec<Vec<Write>> {
        let (last, others): (Vec<Write>, Vec<Write>) = writes.into_iter().partition(|w| reads.spots.contains(&w.1));
        let room = self.limits.bindings.saturating_sub(reads.homes.len()).max(1);
        let mut parts: Vec<Vec<Write>> = Vec::new();
        for write in others {
            match parts.last_mut() {
                Some(part) if distinct(part, write.1) <= room => part.push(write),
                _ => parts.push(vec![write]),
            }
        }
        match parts.last_mut() {
            Some(part) => part.extend(last),
            None if last.is_empty() => {}
            None => parts.push(last),
        }
        parts
    }

    fn dispatches(
        &mut self,
        kernel: &Kernel,
        mut bindings: Bindings,
        writes: &[Write],
        steps: &mut Vec<Step>,
    ) -> Result<()> {
        bindings.write(writes);
        let Bindings { mut homes, memory, spots } = bindings;
        let graph = &self.plan.trace.graph;
        let (passes, scratch) = wgsl::passes(graph, kernel, &memory, self.limits)?;
        if scratch > 0 {
            homes.push(self.scratch(scratch));
        }
        for pass in passes {
            let bound = pass.body.bindings().len();
            if bound > self.limits.bindings {
                spots.iter().filter_map(|spot| spot.key).for_each(|(key, len)| self.wishes.wish(key, len));
                let names: Vec<_> = kernel.nodes.iter().map(|id| graph.nodes[*id as usize].op.name()).collect();
                let most = self.limits.bindings;
                let text = format!("a kernel binds {bound} buffers, and this GPU allows {most}: {}", names.join(", "));
                self.refused.get_or_insert(Error::Device(text));
                continue;
            }
            steps.push(self.dispatch(pass, &homes, kernel.nodes.clone()));
        }
        Ok(())
    }

    fn dispatch(&mut self, pass: Pass, homes: &[Home], nodes: Vec<NodeId>) -> Step {
        self.compiled.dispatches.push(Dispatch::new(pass.body, homes, pass.moved, nodes));
        Step::Run(self.compiled.dispatches.len() - 1)
    }

    /// The scratch buffer, of at least that many words.
    fn scratch(&mut self, len: usize) -> Home {
        let own = &mut self.compiled.own;
        let at = *self.scratch.get_or_insert_with(|| {
            own.push(0);
            own.len() - 1
        });
        own[at] = own[at].max(len);
        Home::Own(at)
    }
}
