//! Loops whose rows do not see each other, such as rollouts and advantages: one invocation per row runs all steps, with
//! carries and what a step keeps in memory of its own.
//!
//! The body's kernels are followed one by one, each for one row: their slots become private arrays. Whether the rows
//! are independent shows while the code is written: a private value is only known at its own row.

use quickstudy_kernels::tensor::op::Scan;
use quickstudy_kernels::tensor::{Graph, NodeId, Op};
use quickstudy_kernels::{DType, Error, Result};

use super::body::Body;
use super::emit::Emitter;
use super::index::Ix;
use super::memory::{Memory, Words};
use crate::plan::{Kernel, KernelSchedule, Kind, Place};
use crate::work::Cost;

/// Invocations of a workgroup: few, because each has much to do.
const GROUP: usize = 64;
/// Words of private memory beyond which registers and caches are of no use.
const MOST_WORDS: usize = 2048;
/// Rows below which a device would be idle: steps one by one use it better.
const FEWEST_ROWS: usize = 1;

/// A loop, and the buffers that it touches.
pub(crate) struct RowLoop<'a> {
    pub graph: &'a Graph,
    pub node: NodeId,
    pub scan: &'a Scan,
    pub body: &'a KernelSchedule,
    /// Number of loops around.
    pub level: usize,
    /// The values that the body reads from around it, and the step of loops around.
    pub memory: Memory,
    /// The place of each carry, and true where it starts as the values there.
    pub carries: Vec<(Words, bool)>,
    /// The place of each stacked output.
    pub rows: Vec<Option<Words>>,
}

fn no<T>() -> Result<T> {
    Err(Error::Device("the loop's rows are not independent".to_owned()))
}

impl RowLoop<'_> {
    /// The leading axes that all values of a step share.
    fn domain(&self) -> Vec<usize> {
        let mut shapes = self.scan.body.outs.iter().map(|id| &self.graph.nodes[*id as usize].shape);
        let Some(mut domain) = shapes.next().cloned() else {
            return Vec::new();
        };
        for shape in shapes {
            let same = domain.iter().zip(shape).take_while(|(a, b)| a == b).count();
            domain.truncate(same);
        }
        domain
    }

    /// The code, and in how many dispatches it makes all steps: no invocation makes more than
    /// `most_trips` iterations of loops in one.
    ///
    /// # Errors
    /// If the loop has to be run step by step.
    pub fn body(&self, most_trips: usize) -> Result<(Body, usize)> {
        let (_, trips) = self.steps(1)?;
        let steps = (most_trips / trips.max(1)).min(self.scan.len);
        if steps == 0 {
            return no();
        }
        Ok((self.steps(steps)?.0, self.scan.len.div_ceil(steps)))
    }

    /// The code for that many steps, and the iterations of loops in it.
    fn steps(&self, steps: usize) -> Result<(Body, usize)> {
        let domain = self.domain();
        let rows: usize = domain.iter().product();
        let words = |lens: &mut dyn Iterator<Item = usize>| lens.map(|n| n.div_ceil(rows)).sum::<usize>();
        let params = &self.scan.body.params[1..=self.scan.carries];
        let mut carries = params.iter().map(|p| self.graph.nodes[*p as usize].len());
        let total = words(&mut self.body.slots.iter().copied()) + words(&mut carries);
        if rows < FEWEST_ROWS || rows == 1 || total > MOST_WORDS {
            return no();
        }
        let mut emitter = Emitter::new(self.graph, self.memory.leaves.clone(), &[]);
        emitter.line(&format!("let item = (group.x + group.y * count.x) * {GROUP}u + local;"));
        emitter.guard(format!("item < {rows}u"));
        emitter.row = emitter.unflat(&domain, &Ix::var("item"));
        emitter.loops.insert(self.level, "t".to_owned());
        let parts = self.scan.len.div_ceil(steps);
        if parts > 1 {
            emitter.levels = emitter.levels.max(self.level + 1);
        }
        self.first(&mut emitter, parts)?;
        let (len, step) = (
            self.scan.len,
            if self.scan.reverse { format!("{}u - step", self.scan.len - 1) } else { "step".to_owned() },
        );
        let (begin, end) = match parts {
            1 => ("0u".to_owned(), format!("{len}u")),
            _ => {
                emitter.line(&format!("let begin = step{}.x * {steps}u;", self.level));
                ("begin".to_owned(), format!("min(begin + {steps}u, {len}u)"))
            }
        };
        emitter.block(&format!("for (var step = {begin}; step < {end}; step++)"), |emitter| {
            // Of a row that has ended before this dispatch, too. The condition has the axes that
            // all carries share, so it is one word here.
            if let Some(done) = self.scan.until.filter(|_| self.rows.is_empty()) {
                emitter.line(&format!("if (c{done}[0] != 0u) {{ break; }}"));
            }
            emitter.line(&format!("let t = {step};"));
            for kernel in &self.body.kernels {
                self.kernel(emitter, kernel)?;
            }
            Ok(())
        })?;
        for (i, (words, _)) in self.carries.iter().enumerate() {
            let param = self.scan.body.params[1 + i];
            self.each(&mut emitter, param, |emitter, at, k| {
                let flat = emitter.flat(&self.graph.nodes[param as usize].shape, at);
                let place = emitter.stored(*words, &flat);
                emitter.line(&format!("{place} = c{i}[{k}];"));
            })?;
        }
        let trips = emitter.trips();
        let cost = if self.multiplies() { Cost::Rollout } else { Cost::Scan };
        let step = emitter.body(cost, GROUP, rows.div_ceil(GROUP))?;
        let work = step.work.times(steps);
        Ok((Body { work, ..step }, trips))
    }

    /// Tells whether a step has products.
    fn multiplies(&self) -> bool {
        let mut nodes = self.body.kernels.iter().flat_map(|kernel| &kernel.nodes);
        nodes.any(|id| matches!(self.graph.nodes[*id as usize].op, Op::MatMul { .. }))
    }

    /// Private memory, and first carries in it. Each dispatch goes on where the one before left off.
    fn first(&self, emitter: &mut Emitter<'_>, parts: usize) -> Result<()> {
        let rows: usize = self.domain().iter().product();
        for (k, len) in self.body.slots.iter().enumerate() {
            // A value that rows share is kept by each.
            emitter.line(&format!("var q{k}: array<u32, {}>;", self.slot(k).unwrap_or(len.div_ceil(rows))));
        }
        for (i, (words, there)) in self.carries.iter().enumerate() {
            let (param, first) = (self.scan.body.params[1 + i], self.graph.nodes[self.node as usize].src[i]);
            let width = self.width(param)?;
            emitter.line(&format!("var c{i}: array<u32, {width}>;"));
            let f32 = self.graph.nodes[param as usize].dtype == DType::F32;
            self.each(emitter, param, |emitter, at, k| {
                let flat = emitter.flat(&self.graph.nodes[param as usize].shape, at);
                let kept = emitter.loaded(*words, &flat);
                let word = if *there {
                    kept
                } else {
                    let x = emitter.value(first, at);
                    let word = if f32 { format!("bitcast<u32>({x})") } else { x };
                    if parts == 1 { word } else { format!("select({kept}, {word}, step{}.x == 0u)", self.level) }
                };
                emitter.line(&format!("c{i}[{k}] = {word};"));
            })?;
            emitter.private(param, &format!("c{i}"));
        }
        Ok(())
    }

    /// The largest value of a slot, per row.
    fn slot(&self, k: usize) -> Option<usize> {
        let held = self.body.kernels.iter().flat_map(|kernel| kernel.writes.iter().chain(&kernel.reads));
        held.filter(|(_, place)| *place == Place::Slot(k)).filter_map(|(node, _)| self.width(*node).ok()).max()
    }

    /// Elements of a node's value per row.
    fn width(&self, node: NodeId) -> Result<usize> {
        let shape = &self.graph.nodes[node as usize].shape;
        let domain = self.domain();
        let fits = shape.len() >= domain.len() && shape.iter().zip(&domain).all(|(a, b)| a == b || *a == 1);
        if fits { Ok(shape[domain.len()..].iter().product()) } else { no() }
    }

    /// Code for each element of a row of a node's value: its index, and its number within the row.
    fn each(
        &self,
        emitter: &mut Emitter<'_>,
        node: NodeId,
        mut code: impl FnMut(&mut Emitter<'_>, &[Ix], &Ix),
    ) -> Result<()> {
        let width = self.width(node)?;
        let shape = self.graph.nodes[node as usize].shape.clone();
        let mut inside = |emitter: &mut Emitter<'_>, k: &Ix| {
            let at = self.at(emitter, &shape, k);
            code(emitter, &at, k);
        };
        if width == 1 {
            emitter.block("", |emitter| inside(emitter, &Ix::Known(0)));
        } else {
            let k = emitter.name("i");
            emitter.repeat(&k, width, |e| inside(e, &Ix::var(&k)));
        }
        Ok(())
    }

    /// Index of element `k` of this row.
    fn at(&self, emitter: &mut Emitter<'_>, shape: &[usize], k: &Ix) -> Vec<Ix> {
        let n = emitter.row.len();
        let rest = emitter.unflat(&shape[n..], k);
        let row = emitter.row.iter().zip(shape).map(|(i, n)| if *n == 1 { Ix::Known(0) } else { i.clone() });
        row.chain(rest).collect()
    }

    fn kernel(&self, emitter: &mut Emitter<'_>, kernel: &Kernel) -> Result<()> {
        let stores = kernel.nodes.iter().any(|id| matches!(self.graph.nodes[*id as usize].op, Op::Store));
        if kernel.kind == Kind::Scan || kernel.operands.is_some() || stores {
            return no();
        }
        emitter.compute_also(&kernel.nodes);
        for (node, place) in &kernel.reads {
            match place {
                Place::Slot(k) => emitter.private(*node, &format!("q{k}")),
                Place::Param(p) if *p >= 1 && *p <= self.scan.carries => emitter.private(*node, &format!("c{}", p - 1)),
                _ => {}
            }
        }
        let call = kernel.nodes.iter().any(|id| matches!(self.graph.nodes[*id as usize].op, Op::Call(_)));
        let widths = kernel.writes.iter().map(|w| self.width(w.0)).collect::<Result<Vec<_>>>()?;
        if call {
            emitter.block("", |emitter| {
                let mut stores = Vec::new();
                for ((node, place), width) in kernel.writes.iter().zip(&widths) {
                    for k in 0..*width {
                        let k = Ix::Known(k);
                        let at = self.at(emitter, &self.graph.nodes[*node as usize].shape, &k);
                        let x = emitter.value(*node, &at);
                        stores.push((*node, *place, at, k, x));
                    }
                }
                stores.iter().for_each(|(node, place, at, k, x)| self.store(emitter, *node, *place, at, k, x));
            });
        } else if let Some(first) = kernel.writes.first() {
            if widths.iter().any(|w| *w != widths[0]) {
                return no();
            }
            self.each(emitter, first.0, |emitter, _, k| {
                let mut stores = Vec::new();
                for (node, place) in &kernel.writes {
                    let at = self.at(emitter, &self.graph.nodes[*node as usize].shape, k);
                    let x = emitter.value(*node, &at);
                    stores.push((*node, *place, at, x));
                }
                stores.iter().for_each(|(node, place, at, x)| self.store(emitter, *node, *place, at, k, x));
            })?;
        }
        // What the kernel computed on its way is not there for the next one; what it kept is, where it says.
        for id in &kernel.nodes {
            emitter.forget(*id);
        }
        Ok(())
    }

    fn store(&self, emitter: &mut Emitter<'_>, node: NodeId, place: Place, at: &[Ix], k: &Ix, x: &str) {
        let value = &self.graph.nodes[node as usize];
        let word = if value.dtype == DType::F32 { format!("bitcast<u32>({x})") } else { x.to_owned() };
        match place {
            Place::Slot(s) => emitter.line(&format!("q{s}[{k}] = {word};")),
            Place::Param(p) => emitter.line(&format!("c{}[{k}] = {word};", p - 1)),
            Place::Row(j) => {
                if let Some(words) = self.rows[j] {
                    let first = emitter.times(&Ix::var("t"), value.len());
                    let flat = emitter.flat(&value.shape, at);
                    let flat = emitter.add(&first, &flat);
                    let place = emitter.stored(words, &flat);
                    emitter.line(&format!("{place} = {word};"));
                }
            }
            _ => {}
        }
    }
}
