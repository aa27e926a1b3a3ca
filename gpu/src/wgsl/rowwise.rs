//! Loops whose rows do not see each other, such as rollouts and advantages: one invocation per row runs all steps, with
//! carries and what a step keeps in memory of its own.
//!
//! The body's kernels are followed one by one, each for one row: their slots become private arrays. Whether the rows
//! are independent shows while the code is written: a private value is only known at its own row. Where rows have
//! products, the invocations of a workgroup may share these (`team`).

use quickstudy_kernels::tensor::{NodeId, Op};
use quickstudy_kernels::{DType, Result};

use super::body::Body;
use super::emit::Emitter;
use super::index::Ix;
use super::memory::Leaf;
use super::row_loop::{RowLoop, no};
use super::team::{RowPlaces, TEAM};
use crate::plan::{Kernel, Kind, Place};
use crate::work::Cost;

/// Invocations of a workgroup: few, because each has much to do.
const GROUP: usize = 64;
/// Words of private memory beyond which registers and caches are of no use.
const MOST_WORDS: usize = 2048;
/// Bytes of a text beyond which products that all invocations share are loops: drivers read all of it.
const TEXT: usize = 120_000;
/// Words of private memory of a loop of one row.
const MOST_WORDS_OF_ONE: usize = 64;

impl RowLoop<'_> {
    /// The code, and in how many dispatches it makes all steps: no invocation makes more than
    /// `most_trips` iterations of loops in one.
    ///
    /// # Errors
    /// If the loop has to be run step by step.
    pub fn body(&self, most_trips: usize) -> Result<(Body, usize)> {
        let (body, mut trips) = self.steps(1, true)?;
        let straight = body.text.len() + body.setup.len() <= TEXT;
        if !straight {
            (_, trips) = self.steps(1, false)?;
        }
        let steps = (most_trips / trips.max(1)).min(self.scan.len);
        if steps == 0 {
            return no();
        }
        Ok((self.steps(steps, straight)?.0, self.scan.len.div_ceil(steps)))
    }

    /// The code for that many steps, and the iterations of loops in it.
    fn steps(&self, steps: usize, straight: bool) -> Result<(Body, usize)> {
        let domain = self.domain();
        let rows: usize = domain.iter().product();
        let words = |lens: &mut dyn Iterator<Item = usize>| lens.map(|n| n.div_ceil(rows)).sum::<usize>();
        let params = &self.scan.body.params[1..=self.scan.carries];
        let mut carries = params.iter().map(|p| self.graph.nodes[*p as usize].len());
        let total = words(&mut self.body.slots.iter().copied()) + words(&mut carries);
        // A single row is not worth it where a step has work for more invocations.
        let most = if rows > 1 { MOST_WORDS } else { MOST_WORDS_OF_ONE };
        if total > most || rows == 1 && (self.multiplies() || self.scan.len == 1) {
            return no();
        }
        let mut emitter = Emitter::new(self.graph, self.memory.leaves.clone(), &[]);
        let places = RowPlaces::of(self, &mut emitter, rows, straight);
        let size = if places.team.is_some() { TEAM } else { GROUP };
        match &places.team {
            None => {
                emitter.line(&format!("let item = (group.x + group.y * count.x) * {GROUP}u + local;"));
                emitter.guard(format!("item < {rows}u"));
                emitter.row = emitter.unflat(&domain, &Ix::var("item"));
            }
            Some(team) => {
                emitter.line(&format!("let front = (group.x + group.y * count.x) * {}u;", team.rows));
                emitter.guard(format!("front < {rows}u"));
                self.as_row(&mut emitter, &Ix::var("local"), rows);
            }
        }
        emitter.loops.insert(self.level, "t".to_owned());
        let parts = self.scan.len.div_ceil(steps);
        if parts > 1 {
            emitter.levels = emitter.levels.max(self.level + 1);
        }
        self.first(&mut emitter, &places, parts)?;
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
        if let Some(team) = &places.team {
            emitter.line("workgroupBarrier();");
            self.ahead(&mut emitter, team)?;
        }
        emitter.block(&format!("for (var step = {begin}; step < {end}; step++)"), |emitter| {
            // Of a row that has ended before this dispatch, too. The condition has the axes that
            // all carries share, so it is one word here.
            let done = self.done().map(|done| emitter.of_row(&places.carries[done], &Ix::Known(0)));
            if let (Some(done), None) = (&done, &places.team) {
                emitter.line(&format!("if ({done} != 0u) {{ break; }}"));
            }
            emitter.line(&format!("let t = {step};"));
            match &places.team {
                None => self.body.kernels.iter().try_for_each(|kernel| self.kernel(emitter, &places, kernel)),
                Some(team) => self.together(emitter, &places, team),
            }
        })?;
        self.alone(&mut emitter, &places, |emitter| {
            for (i, (words, _)) in self.carries.iter().enumerate() {
                let param = self.scan.body.params[1 + i];
                self.each(emitter, param, |emitter, at, k| {
                    let flat = emitter.flat(&self.graph.nodes[param as usize].shape, at);
                    let place = emitter.stored(*words, &flat);
                    let word = emitter.of_row(&places.carries[i], k);
                    emitter.line(&format!("{place} = {word};"));
                })?;
            }
            Ok(())
        })?;
        let trips = emitter.trips();
        let cost = if self.multiplies() { Cost::Rollout } else { Cost::Scan };
        let groups = rows.div_ceil(places.team.as_ref().map_or(GROUP, |team| team.rows));
        let step = emitter.body(cost, size, groups)?;
        let levels = places.team.as_ref().map_or(0, |team| team.levels);
        let work = step.work.with(Cost::Level, levels).times(steps);
        Ok((Body { work, ..step }, trips))
    }

    /// Private memory, and first carries in it. Each dispatch goes on where the one before left off.
    fn first(&self, emitter: &mut Emitter<'_>, places: &RowPlaces, parts: usize) -> Result<()> {
        let rows: usize = self.domain().iter().product();
        for (k, len) in self.body.slots.iter().enumerate() {
            // A value that rows share is kept by each.
            if let Leaf::Private(name) = &places.slots[k] {
                emitter.line(&format!("var {name}: array<u32, {}>;", self.slot(k).unwrap_or(len.div_ceil(rows))));
            }
        }
        for i in 0..self.carries.len() {
            if let Leaf::Private(name) = &places.carries[i] {
                let width = self.width(self.scan.body.params[1 + i])?;
                emitter.line(&format!("var {name}: array<u32, {width}>;"));
            }
        }
        self.alone(emitter, places, |emitter| self.first_carries(emitter, places, parts))?;
        for (i, place) in places.carries.iter().enumerate() {
            emitter.own(self.scan.body.params[1 + i], place);
        }
        Ok(())
    }

    fn first_carries(&self, emitter: &mut Emitter<'_>, places: &RowPlaces, parts: usize) -> Result<()> {
        for (i, (words, there)) in self.carries.iter().enumerate() {
            let (param, first) = (self.scan.body.params[1 + i], self.graph.nodes[self.node as usize].src[i]);
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
                let place = emitter.of_row(&places.carries[i], k);
                emitter.line(&format!("{place} = {word};"));
            })?;
        }
        Ok(())
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

    pub(super) fn kernel(&self, emitter: &mut Emitter<'_>, places: &RowPlaces, kernel: &Kernel) -> Result<()> {
        self.begin(emitter, places, kernel)?;
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
                stores
                    .iter()
                    .for_each(|(node, place, at, k, x)| self.store(emitter, places, (*node, *place), (at, k), x));
            });
        } else if let Some(first) = kernel.writes.first() {
            if widths.iter().any(|w| *w != widths[0]) {
                return no();
            }
            self.each(emitter, first.0, |emitter, _, k| self.element(emitter, places, kernel, k))?;
        }
        self.end(emitter, kernel);
        Ok(())
    }

    /// Lets the nodes of a kernel be computed, from what is in the row's own memory.
    pub(super) fn begin(&self, emitter: &mut Emitter<'_>, places: &RowPlaces, kernel: &Kernel) -> Result<()> {
        let stores = kernel.nodes.iter().any(|id| matches!(self.graph.nodes[*id as usize].op, Op::Store));
        if matches!(kernel.kind, Kind::Scan | Kind::Chain) || kernel.operands.is_some() || stores {
            return no();
        }
        emitter.compute_also(&kernel.nodes);
        for (node, place) in &kernel.reads {
            if let Some(own) = places.of_place(*place) {
                emitter.own(*node, own);
            }
        }
        Ok(())
    }

    /// Forgets the nodes of a kernel: the next one finds the values that were kept, and no others.
    pub(super) fn end(&self, emitter: &mut Emitter<'_>, kernel: &Kernel) {
        kernel.nodes.iter().for_each(|id| emitter.forget(*id));
    }

    /// Computes and stores element `k` of all that a kernel writes.
    pub(super) fn element(&self, emitter: &mut Emitter<'_>, places: &RowPlaces, kernel: &Kernel, k: &Ix) {
        let mut stores = Vec::new();
        for (node, place) in &kernel.writes {
            let at = self.at(emitter, &self.graph.nodes[*node as usize].shape, k);
            let x = emitter.value(*node, &at);
            stores.push((*node, *place, at, x));
        }
        stores.iter().for_each(|(node, place, at, x)| self.store(emitter, places, (*node, *place), (at, k), x));
    }

    fn store(
        &self,
        emitter: &mut Emitter<'_>,
        places: &RowPlaces,
        (node, place): (NodeId, Place),
        (at, k): (&[Ix], &Ix),
        x: &str,
    ) {
        let value = &self.graph.nodes[node as usize];
        let word = if value.dtype == DType::F32 { format!("bitcast<u32>({x})") } else { x.to_owned() };
        if let Some(own) = places.of_place(place) {
            let place = emitter.of_row(own, k);
            emitter.line(&format!("{place} = {word};"));
            return;
        }
        if let Place::Row(j) = place
            && let Some(words) = self.rows[j]
        {
            let first = emitter.times(&Ix::var("t"), value.len());
            let flat = emitter.flat(&value.shape, at);
            let flat = emitter.add(&first, &flat);
            let place = emitter.stored(words, &flat);
            emitter.line(&format!("{place} = {word};"));
        }
    }
}
