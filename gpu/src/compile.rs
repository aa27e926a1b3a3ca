//! From a plan to steps: which buffers each kernel binds, and its shader.

use std::collections::HashMap;

use quickstudy_core::program::{Kernel, Kind, Place, Plan, Schedule, is_view};
use quickstudy_core::tensor::op::Scan;
use quickstudy_core::tensor::{Graph, NodeId, Op};
use quickstudy_core::{Error, Result};

use crate::wgsl::{self, Leaf, Memory, RowLoop, Shader};

/// A buffer of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Home {
    /// Bound for a run.
    Arg(usize),
    /// The program's own.
    Own(usize),
}

/// A dispatch.
#[derive(Debug)]
pub(crate) struct Dispatch {
    /// What is bound.
    pub homes: Vec<Home>,
    /// Which of these are written.
    pub written: Vec<bool>,
    /// The shader.
    pub shader: Shader,
}

/// What happens in a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// The dispatch of that number.
    Run(usize),
    /// Steps repeated.
    Loop {
        /// How often.
        len: usize,
        /// From the last index to the first.
        reverse: bool,
        /// What is repeated.
        body: Vec<Step>,
    },
}

/// A compiled plan.
#[derive(Debug, Default)]
pub(crate) struct Compiled {
    /// All dispatches.
    pub dispatches: Vec<Dispatch>,
    /// Their order.
    pub steps: Vec<Step>,
    /// Number of elements of the program's own buffers.
    pub own: Vec<usize>,
    /// The longest loop.
    pub longest: usize,
}

/// A schedule in its surroundings.
struct Frame<'a> {
    /// The loop's kernel and the frame around.
    around: Option<(&'a Frame<'a>, &'a Kernel, NodeId, &'a Scan)>,
    /// Number of loops around.
    level: usize,
    slots: Vec<Home>,
    carries: Vec<Home>,
    rows: Vec<Option<Home>>,
}

/// Steps of a plan.
///
/// # Errors
/// If a kernel binds more buffers than it may, or the plan is at fault.
pub(crate) fn compile(plan: &Plan, limits: KernelLimits) -> Result<Compiled> {
    let compiled = Compiled { longest: 1, ..Compiled::default() };
    let mut compiler = Compiler { plan, limits, scratch: None, compiled };
    let slots = compiler.own(&plan.schedule.slots);
    let root = Frame { around: None, level: 0, slots, carries: Vec::new(), rows: Vec::new() };
    compiler.compiled.steps = compiler.schedule(&plan.schedule, &root)?;
    Ok(compiler.compiled)
}

/// The WGSL of a plan's kernels, without a device: each text once, in order of its first use.
///
/// # Errors
/// If a kernel binds more buffers than it may.
pub fn shaders(plan: &Plan, limits: KernelLimits) -> Result<Vec<String>> {
    let mut texts: Vec<String> = Vec::new();
    for dispatch in compile(plan, limits)?.dispatches {
        if !texts.contains(&dispatch.shader.text) {
            texts.push(dispatch.shader.text);
        }
    }
    Ok(texts)
}

/// What a kernel may do on a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelLimits {
    /// Storage buffers that it may bind.
    pub bindings: usize,
    /// Iterations of loops that one invocation may make.
    pub trips: usize,
    /// Share the operands of large products in workgroup memory. Where workgroups run on a processor, their barriers
    /// cost more than that saves.
    pub tiled: bool,
}

impl Default for KernelLimits {
    /// WebGPU's default, and what a graphics card does within some milliseconds.
    fn default() -> Self {
        KernelLimits { bindings: 8, trips: 1 << 22, tiled: true }
    }
}

impl KernelLimits {
    /// Mesa's software adapter ends every loop of an invocation after 65,535 iterations in all, without a word.
    pub const SOFTWARE_TRIPS: usize = 60_000;
}

struct Compiler<'a> {
    plan: &'a Plan,
    limits: KernelLimits,
    /// The program's own buffer that holds partial sums between the dispatches of a kernel.
    scratch: Option<usize>,
    compiled: Compiled,
}

/// A value to write, where, and the loop level whose step selects the row of a stacked output.
type Write = (NodeId, Home, Option<usize>);

/// Number of buffers of these writes and one more.
fn distinct(writes: &[Write], more: Home) -> usize {
    let mut homes: Vec<Home> = Vec::with_capacity(writes.len() + 1);
    for home in writes.iter().map(|w| w.1).chain([more]) {
        if !homes.contains(&home) {
            homes.push(home);
        }
    }
    homes.len()
}

/// Bindings of a kernel while they are gathered.
#[derive(Clone, Default)]
struct Bindings {
    homes: Vec<Home>,
    memory: Memory,
}

impl Bindings {
    fn number(&mut self, home: Home) -> usize {
        let found = self.homes.iter().position(|h| *h == home);
        found.unwrap_or_else(|| {
            self.homes.push(home);
            self.memory.written.push(false);
            self.homes.len() - 1
        })
    }
}

fn fault<T>(what: &str) -> Result<T> {
    Err(Error::Device(format!("fault in the plan: {what}")))
}

/// The node that views lead to.
fn root(graph: &Graph, mut id: NodeId) -> NodeId {
    while is_view(&graph.nodes[id as usize].op) {
        id = graph.nodes[id as usize].src[0];
    }
    id
}

impl<'a> Compiler<'a> {
    fn own(&mut self, lens: &[usize]) -> Vec<Home> {
        lens.iter()
            .map(|len| {
                self.compiled.own.push(*len);
                Home::Own(self.compiled.own.len() - 1)
            })
            .collect()
    }

    fn schedule(&mut self, schedule: &Schedule, frame: &Frame<'_>) -> Result<Vec<Step>> {
        let mut steps = Vec::new();
        for kernel in &schedule.kernels {
            match kernel.kind {
                Kind::Scan => self.scan(kernel, frame, &mut steps)?,
                _ => steps.extend(self.kernel(kernel, frame)?),
            }
        }
        Ok(steps)
    }

    /// What a kernel reads, and where that is in memory.
    fn leaf(&self, frame: &Frame<'_>, node: NodeId, place: Place, bindings: &mut Bindings) -> Result<()> {
        let home = match place {
            Place::Arg(i) => Home::Arg(i),
            Place::Slot(i) => frame.slots[i],
            Place::Param(p) if p >= 1 && p <= frame.carries.len() => frame.carries[p - 1],
            Place::Param(p) => {
                let Some((outer, kernel, scan, _)) = &frame.around else {
                    return fault("a parameter is read outside of loops");
                };
                let src = self.plan.graph.nodes[*scan as usize].src[p - 1];
                bindings.memory.leaves.insert(node, Leaf::Row(src, frame.level - 1));
                return self.outer(outer, kernel, root(&self.plan.graph, src), bindings);
            }
            Place::Outer => {
                let Some((outer, kernel, ..)) = &frame.around else {
                    return fault("something outside of the outermost schedule is read");
                };
                return self.outer(outer, kernel, node, bindings);
            }
            Place::Row(_) => return fault("a stacked output is read"),
        };
        let number = bindings.number(home);
        bindings.memory.leaves.insert(node, Leaf::Buffer(number));
        Ok(())
    }

    /// The same of what the kernel around reads.
    fn outer(&self, outer: &Frame<'_>, kernel: &Kernel, node: NodeId, bindings: &mut Bindings) -> Result<()> {
        match kernel.reads.iter().find(|r| r.0 == node) {
            Some((node, place)) => self.leaf(outer, *node, *place, bindings),
            // A constant.
            None => Ok(()),
        }
    }

    fn write(&self, frame: &Frame<'_>, place: Place) -> Result<Option<(Home, Option<usize>)>> {
        Ok(match place {
            Place::Arg(i) => Some((Home::Arg(i), None)),
            Place::Slot(i) => Some((frame.slots[i], None)),
            Place::Param(p) if p >= 1 && p <= frame.carries.len() => Some((frame.carries[p - 1], None)),
            Place::Row(i) => frame.rows[i].map(|home| (home, Some(frame.level - 1))),
            place => return fault(&format!("{place:?} is written")),
        })
    }

    /// Steps are constants of the kernels in loops.
    fn steps_of(&self, frame: &Frame<'_>, bindings: &mut Bindings) {
        let mut at = Some(frame);
        while let Some(frame) = at {
            if let Some((outer, _, _, scan)) = &frame.around {
                bindings.memory.leaves.insert(scan.body.params[0], Leaf::Step(frame.level - 1));
                at = Some(outer);
            } else {
                at = None;
            }
        }
    }

    fn kernel(&mut self, kernel: &Kernel, frame: &Frame<'_>) -> Result<Vec<Step>> {
        let mut reads = Bindings::default();
        for (node, place) in &kernel.reads {
            self.leaf(frame, *node, *place, &mut reads)?;
        }
        self.steps_of(frame, &mut reads);
        let mut writes = Vec::with_capacity(kernel.writes.len());
        for (node, place) in &kernel.writes {
            if let Some((home, row)) = self.write(frame, *place)? {
                writes.push((*node, home, row));
            }
        }
        let mut steps = Vec::new();
        for part in self.parts(&reads, writes) {
            steps.extend(self.dispatches(kernel, reads.clone(), &part)?);
        }
        Ok(steps)
    }

    /// The writes of one dispatch, or of several where an environment's results are too many buffers: each part
    /// computes again what it needs. What replaces an operand is written last.
    fn parts(&self, reads: &Bindings, writes: Vec<Write>) -> Vec<Vec<Write>> {
        let (last, others): (Vec<Write>, Vec<Write>) = writes.into_iter().partition(|w| reads.homes.contains(&w.1));
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

    fn dispatches(&mut self, kernel: &Kernel, mut bindings: Bindings, writes: &[Write]) -> Result<Vec<Step>> {
        for (node, home, row) in writes {
            let number = bindings.number(*home);
            bindings.memory.written[number] = true;
            bindings.memory.writes.push((*node, number, *row));
        }
        let Bindings { mut homes, memory } = bindings;
        let graph = &self.plan.graph;
        let (passes, scratch) = wgsl::passes(graph, kernel, &memory, self.plan.scalars.len(), self.limits.tiled)?;
        if scratch > 0 {
            homes.push(self.scratch(scratch));
        }
        let mut steps = Vec::with_capacity(passes.len());
        for pass in passes {
            if pass.bindings.len() > self.limits.bindings {
                let names: Vec<_> = kernel.nodes.iter().map(|id| graph.nodes[*id as usize].op.name()).collect();
                return Err(Error::Device(format!(
                    "a kernel binds {} buffers, and this GPU allows {}: {}",
                    pass.bindings.len(),
                    self.limits.bindings,
                    names.join(", ")
                )));
            }
            let (homes, written) = pass.bindings.iter().map(|(k, written)| (homes[*k], *written)).unzip();
            self.compiled.dispatches.push(Dispatch { homes, written, shader: pass.shader });
            steps.push(Step::Run(self.compiled.dispatches.len() - 1));
        }
        Ok(steps)
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

    fn scan(&mut self, kernel: &Kernel, frame: &Frame<'_>, steps: &mut Vec<Step>) -> Result<()> {
        let graph = &self.plan.graph;
        let found = kernel.nodes.iter().find_map(|id| match &graph.nodes[*id as usize].op {
            Op::Scan(scan) => Some((*id, scan.clone())),
            _ => None,
        });
        let (Some((id, scan)), Some(body)) = (found, &kernel.body) else {
            return fault("a loop without a body");
        };
        // Where results are.
        let mut homes: HashMap<usize, Home> = HashMap::new();
        for (node, place) in &kernel.writes {
            if let Op::Out(i) = graph.nodes[*node as usize].op
                && let Some((home, None)) = self.write(frame, *place)?
            {
                homes.insert(i as usize, home);
            } else {
                return fault("a loop's result is in a row of another loop");
            }
        }
        let mut carries = Vec::with_capacity(scan.carries);
        for i in 0..scan.carries {
            let len = graph.nodes[scan.body.params[1 + i] as usize].len();
            let home = homes.get(&i).copied();
            carries.push(home.unwrap_or_else(|| self.own(&[len])[0]));
        }
        let rows: Vec<Option<Home>> = (scan.carries..scan.body.outs.len()).map(|i| homes.get(&i).copied()).collect();
        let copied = kernel.first_carries(graph, id, scan.carries);
        if let Some((step, in_kernel)) = self.row_loop((kernel, id, &scan, body), frame, &carries, &rows, &copied) {
            for i in copied.iter().filter(|i| !in_kernel.contains(i)) {
                self.first(kernel, frame, id, *i, carries[*i], steps)?;
            }
            steps.push(step);
            return Ok(());
        }
        for i in copied {
            self.first(kernel, frame, id, i, carries[i], steps)?;
        }
        let slots = self.own(&body.slots);
        let inner = Frame { around: Some((frame, kernel, id, &scan)), level: frame.level + 1, slots, carries, rows };
        let body = self.schedule(body, &inner)?;
        self.compiled.longest = self.compiled.longest.max(scan.len);
        steps.push(Step::Loop { len: scan.len, reverse: scan.reverse, body });
        Ok(())
    }

    /// Copy the first value of a carry to where it is kept.
    fn first(
        &mut self,
        kernel: &Kernel,
        frame: &Frame<'_>,
        id: NodeId,
        i: usize,
        home: Home,
        steps: &mut Vec<Step>,
    ) -> Result<()> {
        let graph = &self.plan.graph;
        let src = graph.nodes[id as usize].src[i];
        let mut bindings = Bindings::default();
        self.outer(frame, kernel, root(graph, src), &mut bindings)?;
        self.steps_of(frame, &mut bindings);
        let copy = Kernel {
            kind: Kind::Map,
            space: graph.nodes[src as usize].shape.clone(),
            nodes: Vec::new(),
            operands: None,
            reads: Vec::new(),
            writes: Vec::new(),
            body: None,
        };
        steps.extend(self.dispatches(&copy, bindings, &[(src, home, None)])?);
        Ok(())
    }

    /// The loop in one dispatch, if its rows are independent and its buffers few enough; and the carries whose first value
    /// it computes itself.
    fn row_loop(
        &mut self,
        (kernel, node, scan, body): (&Kernel, NodeId, &Scan, &Schedule),
        frame: &Frame<'_>,
        carries: &[Home],
        rows: &[Option<Home>],
        copied: &[usize],
    ) -> Option<(Step, Vec<usize>)> {
        let graph = &self.plan.graph;
        let inner = Frame {
            around: Some((frame, kernel, node, scan)),
            level: frame.level + 1,
            slots: Vec::new(),
            carries: carries.to_vec(),
            rows: rows.to_vec(),
        };
        let mut bindings = Bindings::default();
        for (node, place) in body.kernels.iter().flat_map(|k| &k.reads) {
            let outside = match place {
                Place::Outer => true,
                Place::Param(p) => *p > scan.carries,
                _ => false,
            };
            if outside {
                self.leaf(&inner, *node, *place, &mut bindings).ok()?;
            }
        }
        self.steps_of(&inner, &mut bindings);
        let read = bindings.homes.clone();
        let constant = |i: &usize| {
            let root = root(graph, graph.nodes[node as usize].src[*i]);
            !kernel.reads.iter().any(|r| r.0 == root)
        };
        let in_kernel: Vec<usize> = copied.iter().copied().filter(constant).collect();
        // Rows run at their own pace: what one writes, another must not read.
        if carries.iter().chain(rows.iter().flatten()).any(|home| read.contains(home)) {
            return None;
        }
        let mut bind = |home: Home| {
            let number = bindings.number(home);
            bindings.memory.written[number] = true;
            number
        };
        let carries = carries.iter().enumerate().map(|(i, home)| (bind(*home), !in_kernel.contains(&i))).collect();
        let rows = rows.iter().map(|home| home.map(&mut bind)).collect();
        if bindings.homes.len() > self.limits.bindings {
            return None;
        }
        let Bindings { homes, memory } = bindings;
        let written = memory.written.clone();
        let row_loop = RowLoop { graph, node, scan, body, level: frame.level, memory, carries, rows };
        let (shader, parts) = row_loop.shader(self.plan.scalars.len(), self.limits.trips).ok()?;
        self.compiled.dispatches.push(Dispatch { homes, written, shader });
        let run = Step::Run(self.compiled.dispatches.len() - 1);
        self.compiled.longest = self.compiled.longest.max(parts);
        let step = if parts == 1 { run } else { Step::Loop { len: parts, reverse: false, body: vec![run] } };
        Some((step, in_kernel))
    }
}
