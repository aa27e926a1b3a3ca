//! Loops: in one dispatch where their rows are independent, otherwise their body's dispatches repeated.

use std::collections::HashMap;

use quickstudy_kernels::Result;
use quickstudy_kernels::tensor::op::Scan;
use quickstudy_kernels::tensor::{NodeId, Op};

use super::bind::{Bindings, Frame, root};
use super::compiled::Step;
use super::dispatch::Dispatch;
use super::number::Number;
use super::spot::{Home, Key, Spot, fault};
use super::{Compiler, SMALL};
use crate::limits::CHAINS;
use crate::plan::{Kernel, KernelSchedule, Place};
use crate::wgsl::{self, Leaf, RowLoop};

/// Steps of a loop from which on copies before and after it pay.
const MANY_STEPS: usize = 4;

/// A loop of a plan.
#[derive(Clone, Copy)]
struct Of<'a> {
    kernel: &'a Kernel,
    node: NodeId,
    scan: &'a Scan,
    body: &'a KernelSchedule,
}

/// A value to copy before or after a loop.
struct Copy {
    node: NodeId,
    /// Where it is; none for where the loop's kernel reads it, or what it is computed from.
    from: Option<Spot>,
    to: Spot,
}

impl Compiler<'_> {
    pub(super) fn scan(&mut self, kernel: &Kernel, frame: &Frame<'_>, steps: &mut Vec<Step>) -> Result<()> {
        let graph = &self.plan.trace.graph;
        let found = kernel.nodes.iter().find_map(|id| match &graph.nodes[*id as usize].op {
            Op::Scan(scan) => Some((*id, scan.clone())),
            _ => None,
        });
        let (Some((node, scan)), Some(body)) = (found, &kernel.body) else {
            return fault("a loop without a body");
        };
        let of = Of { kernel, node, scan: &scan, body };
        // Where results are.
        let mut results: HashMap<usize, (NodeId, Spot)> = HashMap::new();
        for (out, place) in &kernel.writes {
            if let Op::Out(i) = graph.nodes[*out as usize].op
                && let Some((spot, None)) = frame.write(*place)?
            {
                results.insert(i as usize, (*out, spot));
            } else {
                return fault("a loop's result is in a row of another loop");
            }
        }
        let mut copied = kernel.first_carries(graph, node, scan.carries);
        // Results that the loop keeps elsewhere while it runs.
        let mut after = Vec::new();
        let mut carries = Vec::with_capacity(scan.carries);
        for i in 0..scan.carries {
            let key = Key::carry(kernel, i);
            carries.push(match (results.get(&i), self.packs.find(key)) {
                (None, _) => self.own(key, graph.nodes[scan.body.params[1 + i] as usize].len()),
                (Some((_, spot)), None) => *spot,
                (Some((out, spot)), Some(packed)) => {
                    after.push(Copy { node: *out, from: Some(packed), to: *spot });
                    if !copied.contains(&i) {
                        copied.push(i);
                    }
                    packed
                }
            });
        }
        let mut rows = Vec::with_capacity(scan.body.outs.len() - scan.carries);
        for i in scan.carries..scan.body.outs.len() {
            let packed = self.packs.find(Key::row(kernel, i));
            rows.push(match (results.get(&i), packed) {
                (Some((out, spot)), Some(packed)) => {
                    after.push(Copy { node: *out, from: Some(packed), to: *spot });
                    Some(packed)
                }
                (result, _) => result.map(|r| r.1),
            });
        }
        let first = |i: &usize| Copy { node: graph.nodes[node as usize].src[*i], from: None, to: carries[*i] };
        match self.row_loop(of, frame, &carries, &rows, &copied) {
            Some((step, in_kernel)) => {
                let before: Vec<Copy> = copied.iter().filter(|i| !in_kernel.contains(i)).map(first).collect();
                self.copy(kernel, frame, &before, steps)?;
                steps.push(step);
            }
            None => {
                self.wish_small(of, &carries);
                let before: Vec<Copy> = copied.iter().map(first).collect();
                self.copy(kernel, frame, &before, steps)?;
                let slots = self.slots(body);
                // What ends a loop as a whole may have ended it before it begins.
                let whole = scan.until.filter(|done| graph.nodes[scan.body.params[1 + done] as usize].shape.is_empty());
                let first = whole.map(|done| graph.nodes[node as usize].src[done]);
                let unless = first.and_then(|done| Number::of(graph, done, &|param| frame.level_of(param)));
                let around = Some((frame, kernel, node, &*scan));
                let is_flat = scan.len == 1 && unless.is_none();
                let level = frame.level + usize::from(!is_flat);
                let inner = Frame { around, is_flat, level, slots, carries, rows };
                let body = self.schedule(body, &inner)?.concat();
                if is_flat {
                    steps.extend(body);
                } else {
                    self.compiled.longest = self.compiled.longest.max(scan.len);
                    steps.push(Step::Loop { len: scan.len, reverse: scan.reverse, unless, body });
                }
            }
        }
        self.copy(kernel, frame, &after, steps)
    }

    /// Copies in as few dispatches as may be.
    fn copy(&mut self, kernel: &Kernel, frame: &Frame<'_>, list: &[Copy], steps: &mut Vec<Step>) -> Result<()> {
        let (mut bindings, mut read, mut written) = (Bindings::default(), Vec::new(), Vec::new());
        for copy in list {
            let mut alone = Bindings::default();
            self.add(kernel, frame, copy, &mut alone)?;
            alone.spots.retain(|spot| *spot != copy.to);
            let mut more = bindings.clone();
            self.add(kernel, frame, copy, &mut more)?;
            // One dispatch must not read what it writes: its invocations have no order.
            let clash = read.contains(&copy.to) || alone.spots.iter().any(|spot| written.contains(spot));
            if clash || more.homes.len() > self.limits.bindings {
                self.copies(&bindings, steps)?;
                (bindings, read, written) = (Bindings::default(), Vec::new(), Vec::new());
                self.add(kernel, frame, copy, &mut bindings)?;
            } else {
                bindings = more;
            }
            read.extend(alone.spots);
            written.push(copy.to);
        }
        self.copies(&bindings, steps)
    }

    fn add(&self, kernel: &Kernel, frame: &Frame<'_>, copy: &Copy, bindings: &mut Bindings) -> Result<()> {
        match copy.from {
            Some(from) => {
                let words = bindings.words(from);
                bindings.memory.leaves.insert(copy.node, Leaf::Buffer(words));
            }
            None => frame.value(self.plan, kernel, root(&self.plan.trace.graph, copy.node), bindings)?,
        }
        frame.steps_of(bindings);
        bindings.write(&[(copy.node, copy.to, None)]);
        Ok(())
    }

    fn copies(&mut self, bindings: &Bindings, steps: &mut Vec<Step>) -> Result<()> {
        if !bindings.memory.writes.is_empty() {
            let pass = wgsl::copies(&self.plan.trace.graph, &bindings.memory)?;
            steps.push(self.dispatch(pass, &bindings.homes, Vec::new()));
        }
        Ok(())
    }

    /// The loop in one dispatch, if its rows are independent and its buffers few enough; and the
    /// carries whose first value it computes itself.
    fn row_loop(
        &mut self,
        of: Of<'_>,
        frame: &Frame<'_>,
        carries: &[Spot],
        rows: &[Option<Spot>],
        copied: &[usize],
    ) -> Option<(Step, Vec<usize>)> {
        let Of { kernel, node, scan, body } = of;
        let graph = &self.plan.trace.graph;
        let inner = Frame {
            around: Some((frame, kernel, node, scan)),
            is_flat: false,
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
                inner.leaf(self.plan, *node, *place, &mut bindings).ok()?;
            }
        }
        inner.steps_of(&mut bindings);
        // Rows run at their own pace: what one writes, another must not read.
        if carries.iter().chain(rows.iter().flatten()).any(|spot| bindings.spots.contains(spot)) {
            return None;
        }
        let constant = |i: &usize| {
            let root = root(graph, graph.nodes[node as usize].src[*i]);
            !kernel.reads.iter().any(|r| r.0 == root)
        };
        let in_kernel: Vec<usize> = copied.iter().copied().filter(constant).collect();
        let of_carry = |(i, spot): (usize, &Spot)| (bindings.words_written(*spot), !in_kernel.contains(&i));
        let carry_words = carries.iter().enumerate().map(of_carry).collect();
        let row_words = rows.iter().map(|spot| spot.map(|spot| bindings.words_written(spot))).collect();
        let Bindings { homes, spots, memory } = bindings;
        let team_bytes = (CHAINS && self.limits.teams).then_some(self.limits.workgroup_bytes);
        let (level, carries_at, rows_at) = (frame.level, carry_words, row_words);
        let row_loop =
            RowLoop { graph, node, scan, body, level, memory, carries: carries_at, rows: rows_at, team_bytes };
        let (loop_body, parts) = row_loop.body(self.limits.trips).ok()?;
        if homes.len() > self.limits.bindings {
            self.wish(of, &spots, carries, rows);
            return None;
        }
        let mut moved = 0;
        for (i, out) in scan.body.outs.iter().enumerate() {
            let times = match i.checked_sub(scan.carries).map(|row| rows[row]) {
                None => 1,
                Some(None) => 0,
                Some(Some(_)) => scan.len.div_ceil(parts),
            };
            moved += times * graph.nodes[*out as usize].len();
        }
        self.compiled.dispatches.push(Dispatch::new(loop_body, &homes, moved, vec![node]));
        let run = Step::Run(self.compiled.dispatches.len() - 1);
        self.compiled.longest = self.compiled.longest.max(parts);
        let step =
            if parts == 1 { run } else { Step::Loop { len: parts, reverse: false, unless: None, body: vec![run] } };
        Some((step, in_kernel))
    }

    /// Wish that the small carries of a loop which is run step by step share a buffer, to be copied to their arguments
    /// afterwards: the fewer buffers its kernels bind, the more of them run in turn.
    fn wish_small(&mut self, of: Of<'_>, carries: &[Spot]) {
        if !self.limits.runs || of.scan.len < MANY_STEPS {
            return;
        }
        for (i, spot) in carries.iter().enumerate() {
            let len = self.plan.trace.graph.nodes[of.scan.body.outs[i] as usize].len();
            if matches!(spot.home, Home::Arg(_)) && len <= SMALL {
                self.wishes.wish(Key::carry(of.kernel, i), len);
            }
        }
    }

    /// Wish that a loop's values shared so few buffers that it fits into one dispatch: those of the program's own, and
    /// if that is not enough, the carries and rows that end in arguments, to be copied there afterwards.
    fn wish(&mut self, of: Of<'_>, spots: &[Spot], carries: &[Spot], rows: &[Option<Spot>]) {
        let outs = &of.scan.body.outs;
        let len = |i: usize| self.plan.trace.graph.nodes[outs[i] as usize].len();
        let is_arg = |spot: &Spot| matches!(spot.home, Home::Arg(_));
        let first = of.scan.carries;
        let results = carries.iter().enumerate().map(|(i, spot)| (Key::carry(of.kernel, i), len(i), *spot)).chain(
            rows.iter()
                .enumerate()
                .filter_map(|(j, spot)| Some((Key::row(of.kernel, first + j), len(first + j) * of.scan.len, (*spot)?))),
        );
        let staged: Vec<(Key, usize, Spot)> = results.filter(|(.., spot)| is_arg(spot)).collect();
        let own: Vec<(Key, usize)> = spots.iter().filter_map(|spot| spot.key).collect();
        // Buffers that stay, and one for what is packed.
        let count = |without: &[(Key, usize, Spot)]| {
            let packed = |s: &&Spot| s.home == Home::Own(0) || s.key.is_some() || without.iter().any(|w| w.2 == **s);
            let stay = spots.iter().filter(|s| !packed(s));
            let mut homes: Vec<Home> = stay.map(|s| s.home).collect();
            homes.sort_unstable();
            homes.dedup();
            homes.len() + 1
        };
        let most = self.limits.bindings;
        if count(&staged) <= most {
            own.iter().for_each(|(key, len)| self.wishes.wish(*key, *len));
            if count(&[]) > most {
                staged.iter().for_each(|(key, len, _)| self.wishes.wish(*key, *len));
            }
        }
    }
}
