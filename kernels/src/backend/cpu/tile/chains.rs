//! Runs chains, and loops that do nothing else.
#![allow(unsafe_code, reason = "tiles write disjoint rows of one value, and registers are blocks of one scratch")]

use std::ops::Range;

use super::super::simd::chain::{Feed, Index, LoopSteps, Stream, UntilHolds};
use super::linked::{ChainValue, Linked};
use super::run::Frame;
use super::{Mem, Reg, TileLoop};

/// Values that a loop computes between two looks at whether it is to stop: some 10 to 100 microseconds.
const AT_ONCE: usize = 1 << 15;

impl Frame<'_> {
    /// Values of chains for this group, in the first step of loops.
    pub(super) fn fill_values(&mut self, values: &[ChainValue]) {
        self.values.resize(values.len() * 16, 0.0);
        for (slot, value) in values.iter().enumerate() {
            let bits = match value {
                ChainValue::Const(bits) => *bits,
                ChainValue::Uniform(mem, at) => {
                    let (words, base) = self.base(mem);
                    words[base + at]
                }
            };
            self.values[slot * 16..][..16].fill(f32::from_bits(bits));
        }
    }

    /// Fetch those values of a chain that are others in this step.
    pub(super) fn move_values(&mut self, linked: &Linked) {
        for (slot, mem, at) in &linked.moving {
            let (words, base) = self.base(mem);
            let value = f32::from_bits(words[base + at]);
            self.values[slot * 16..][..16].fill(value);
        }
    }

    /// Do these jobs of a chain without streams, on so many of every 16 lanes.
    pub(super) fn jobs(&mut self, linked: &Linked, jobs: Range<usize>, lanes: usize) {
        // SAFETY: only this thread uses its scratch, and no register is borrowed now.
        let scratch = bytemuck::cast_slice_mut(unsafe { self.scratch.words_mut() });
        linked.chain.run(self.isa, scratch, &mut self.values, jobs, lanes);
    }

    #[inline(never)]
    pub(super) fn chain(&mut self, linked: &Linked) {
        self.open(linked, None);
        self.steps(linked, &mut LoopSteps { len: 1, index: None, until: None });
    }

    /// Note where a chain's rows and the values are that change, for the steps of a loop from this one on.
    fn open(&mut self, linked: &Linked, body: Option<&TileLoop>) {
        let mut streams = std::mem::take(&mut self.streams);
        streams.clear();
        let distance = |mem: &Mem| {
            body.map_or((0, 1), |body| {
                let distance = mem.time.get(body.level).map_or(0, |distance| *distance as isize);
                (if body.reverse { -distance } else { distance }, body.len)
            })
        };
        // The words from `at` on that are used in each step.
        let address = |frame: &Self, mem: &Mem, at: usize, len: usize| {
            let (delta, steps) = distance(mem);
            let (span, start) = (frame.mem.span(mem.value), frame.base(mem).1 + at);
            let end = start as isize + delta * (steps as isize - 1);
            span.part(end as usize, len);
            (span.part(start, len).as_ptr().cast::<f32>(), delta)
        };
        for (slot, mem, at) in &linked.moving {
            let (value, delta) = address(self, mem, *at, 1);
            streams.feeds.push(Feed { slot: *slot, value, delta });
        }
        for mem in &linked.streams {
            let len = (self.valid - 1) * mem.row + mem.table.max() + 1;
            let (values, delta) = address(self, mem, self.row * mem.row, len);
            streams.push(Stream { values, row: mem.row, delta });
        }
        self.streams = streams;
    }

    /// Make steps of the chain that has been opened; returns how many were made.
    fn steps(&mut self, linked: &Linked, steps: &mut LoopSteps) -> usize {
        // SAFETY: only this thread uses its scratch, and no register is borrowed now. Streams are rows of this tile:
        // nobody else writes them while it runs, or reads those that it writes.
        unsafe {
            let scratch = bytemuck::cast_slice_mut(self.scratch.words_mut());
            linked.chain.steps(self.isa, scratch, &mut self.values, &mut self.streams, self.valid, steps)
        }
    }

    /// A loop that does nothing but a chain: many steps at a time.
    pub(super) fn repeat_chain(&mut self, body: &TileLoop, linked: &Linked) {
        let level = body.level;
        let lanes_of = |frame: &Self, reg: Reg| {
            let (block, m) = frame.tile.registers[reg];
            (block * frame.lanes, m)
        };
        let t = if body.reverse { body.len.saturating_sub(1) } else { 0 };
        let index = body.index.map(|reg| {
            let (at, m) = lanes_of(self, reg);
            Index { at, len: m * self.lanes, next: t as u32, delta: if body.reverse { -1 } else { 1 } }
        });
        let until = body.until.map(|reg| {
            let (at, blocks) = lanes_of(self, reg);
            UntilHolds { at, blocks, lanes: self.lanes }
        });
        self.time[level] = t;
        if body.len > 0 {
            self.open(linked, Some(body));
        }
        let most = (AT_ONCE / linked.chain.work()).max(1);
        let mut steps = LoopSteps { len: 0, index, until };
        let mut step = 0;
        while step < body.len && !self.interrupt.asked() {
            if self.reports && level == 0 {
                self.interrupt.at_step(step, body.len);
            }
            steps.len = most.min(body.len - step);
            let made = self.steps(linked, &mut steps);
            step += made;
            if made < steps.len {
                break;
            }
        }
        self.time[level] = 0;
    }
}
