//! Runs tiles.
#![allow(unsafe_code, reason = "threads write disjoint rows, and registers are disjoint blocks of one scratch")]

use super::super::halt::{Halt, Ran};
use super::super::memory::{Memory, Span};
use super::super::run::Run;
use super::super::simd::aligned::AlignedVec;
use super::super::simd::chain::Streams;
use super::super::simd::elementwise::{BinaryOp, Operand, binary, select, threefry, unary};
use super::super::simd::isa::Isa;
use super::super::simd::permutation::permutation;
use super::super::simd::reduce::{Reduction, accumulate_rows, finish_rows, reduce_outer};
use super::super::simd::row_product::row_product;
use super::super::simd::rows::{sum_rows, turn_rows, turn_sums};
use super::super::simd::squares::squares;
use super::link::link;
use super::linked::{RegisterPlaces, TilePart};
use super::shares::{Desk, Shares, Workspace};
use super::{Instr, Major, Mem, Opnd, Own, Reg, Table, Tile, TileLoop, ops};
use crate::backend::Interrupt;
use crate::program::chains::MOST_OF_CALL;
use crate::rng;

/// A thread's place in a tile.
pub(super) struct Frame<'a> {
    pub(super) tile: &'a Tile,
    pub(super) mem: &'a Memory<'a>,
    pub(super) isa: Isa,
    pub(super) scratch: Span,
    /// Rows that a matrix product transposes.
    pub(super) spare: Vec<f32>,
    /// Weights that row-major products have turned, and the group of each.
    pub(super) packed: AlignedVec,
    pub(super) packed_for: Vec<usize>,
    pub(super) group: usize,
    /// First row of the tile in its group, and how many of its lanes are rows.
    pub(super) row: usize,
    pub(super) valid: usize,
    pub(super) lanes: usize,
    /// Indices of the open loops.
    pub(super) time: Vec<usize>,
    /// Partial sums of this slice, one after the other.
    partials: Span,
    /// Asks for a stop: loops then end at once, and what they leave is of no value.
    pub(super) interrupt: &'a Interrupt,
    /// Steps of the outermost loop are reported.
    pub(super) reports: bool,
    /// Values of chains, 16 times each.
    pub(super) values: Vec<f32>,
    /// Rows of the chain that runs.
    pub(super) streams: Streams,
}

impl Tile {
    pub(super) fn places(&self) -> RegisterPlaces<'_> {
        RegisterPlaces { registers: &self.registers, majors: &self.majors, lanes: self.lanes }
    }

    /// Run all tiles.
    #[inline(never)]
    pub fn run(&self, mem: &mut Memory<'_>, run: &Run<'_>, space: &mut Workspace) -> Ran<()> {
        let isa = run.isa;
        let Shares { slice, slices, tasks, workers, scratch, .. } = self.shares(run.threads);
        let (starts, per_slice) = self.partial_sizes();
        let Workspace { threads: desks, partials: sums } = space;
        desks.resize_with(desks.len().max(workers), Desk::default);
        for desk in &mut desks[..workers] {
            desk.scratch.grow(scratch)?;
        }
        sums.grow(per_slice * tasks)?;
        let partials = Span::of(sums.as_mut_slice());
        let shared: &Memory<'_> = mem;
        let linked = self.linked.get_or_init(|| link(&self.code, self.places()));
        let work = |worker: usize, desk: &mut Desk| {
            let mut frame = Frame {
                tile: self,
                mem: shared,
                isa,
                scratch: Span::of(desk.scratch.as_mut_slice()),
                spare: std::mem::take(&mut desk.spare),
                packed: std::mem::take(&mut desk.packed),
                packed_for: vec![usize::MAX; linked.packs],
                group: 0,
                row: 0,
                valid: 0,
                lanes: self.lanes,
                time: vec![0; self.depth],
                partials,
                interrupt: run.interrupt,
                reports: run.outermost && worker == 0,
                values: std::mem::take(&mut desk.values),
                streams: Streams::default(),
            };
            let (lo, hi) = (worker * tasks / workers, (worker + 1) * tasks / workers);
            for task in lo..hi {
                if task == lo || frame.group != task / slices {
                    frame.group = task / slices;
                    frame.fill_values(&linked.values);
                }
                frame.partials = partials.part(task * per_slice, per_slice);
                // SAFETY: each task has its own part.
                unsafe { frame.partials.words_mut() }.fill(0);
                let first = task % slices * slice;
                let end = (first + slice).min(self.rows);
                let mut row = first;
                while row < end && !run.interrupt.asked() {
                    frame.row = row;
                    frame.valid = self.lanes.min(end - row);
                    frame.parts(&linked.parts, &starts);
                    row += frame.valid;
                }
            }
            (desk.spare, desk.values, desk.packed) = (frame.spare, frame.values, frame.packed);
        };
        #[cfg(feature = "parallel")]
        if let [first, others @ ..] = &mut desks[..workers]
            && !others.is_empty()
        {
            rayon::scope(|s| {
                for (i, desk) in others.iter_mut().enumerate() {
                    let work = &work;
                    s.spawn(move |_| work(i + 1, desk));
                }
                work(0, first);
            });
        } else {
            desks[..workers].iter_mut().for_each(|desk| work(0, desk));
        }
        #[cfg(not(feature = "parallel"))]
        desks[..workers].iter_mut().enumerate().for_each(|(worker, desk)| work(worker, desk));
        if run.interrupt.asked() {
            return Err(Halt::Interrupted);
        }
        let sums = sums.as_slice();
        let turned = &mut desks[0].spare;
        for (terminal, start) in self.terminals.iter().zip(&starts) {
            for g in 0..self.groups {
                let out = mem.words_mut(terminal.dst);
                let out: &mut [f32] =
                    bytemuck::cast_slice_mut(&mut out[terminal.offset + g * terminal.group..][..terminal.size]);
                for s in 0..slices {
                    let part = &sums[(g * slices + s) * per_slice + start..][..terminal.size * terminal.lanes];
                    let part: &[f32] = bytemuck::cast_slice(part);
                    if terminal.turned {
                        turned.resize(turned.len().max(part.len()), 0.0);
                        let turned = &mut turned[..part.len()];
                        turn_sums(isa, turned, part);
                        finish_rows(Reduction::Sum, out, turned, s == 0);
                    } else if terminal.lanes == 16 {
                        finish_rows(Reduction::Sum, out, part, s == 0);
                    } else if s == 0 {
                        out.copy_from_slice(part);
                    } else {
                        out.iter_mut().zip(part).for_each(|(o, p)| *o += p);
                    }
                }
            }
        }
        for sum in &self.squares {
            for g in 0..sum.groups {
                let total = squares(isa, &mem.floats(sum.src)[sum.offset + g * sum.group..][..sum.len]);
                mem.words_mut(sum.dst)[g] = total.to_bits();
            }
        }
        Ok(())
    }
}

impl Frame<'_> {
    /// Blocks of a register.
    ///
    /// Registers that are alive at the same time are disjoint, so a slice of one can be held while another is written.
    pub(super) fn reg<'s>(&self, reg: Reg) -> &'s [f32] {
        let (block, m) = self.tile.registers[reg];
        // SAFETY: only this thread uses its scratch, and an instruction's result is disjoint from its operands.
        let words: &'s [u32] = unsafe { self.scratch.part(block * self.lanes, m * self.lanes).words() };
        bytemuck::cast_slice(words)
    }

    pub(super) fn reg_mut<'s>(&self, reg: Reg) -> &'s mut [f32] {
        let (block, m) = self.tile.registers[reg];
        // SAFETY: as above.
        let words: &'s mut [u32] = unsafe { self.scratch.part(block * self.lanes, m * self.lanes).words_mut() };
        bytemuck::cast_slice_mut(words)
    }

    /// Words of a value in memory, and the position of this group's first element in this step.
    pub(super) fn base<'s>(&self, mem: &Mem) -> (&'s [u32], usize) {
        let at =
            mem.offset + self.group * mem.group + mem.time.iter().zip(&self.time).map(|(s, t)| s * t).sum::<usize>();
        // SAFETY: a tile reads values that nobody writes while it runs, but for its own rows.
        (unsafe { self.mem.span(mem.value).words() }, at)
    }

    fn parts(&mut self, parts: &[TilePart], starts: &[usize]) {
        for part in parts {
            match part {
                TilePart::Instr(instr) => self.instr(instr, starts),
                TilePart::Chain(chain) => self.chain(chain),
                TilePart::Layer(layer) => self.layer(layer),
                TilePart::Loop(body, parts) => self.repeat(body, parts, starts),
            }
        }
    }

    #[inline(never)]
    fn instr(&mut self, instr: &Instr, starts: &[usize]) {
        let isa = self.isa;
        match instr {
            Instr::Load { dst, src } => self.load(*dst, src),
            Instr::Store { src, dst } => self.store(src, dst),
            Instr::Unary { op, dtype, dst, a } => {
                if let Some(op) = ops::unary(*op, *dtype) {
                    self.each(*dst, [a], |out, [a]| unary(isa, op, out, a));
                }
            }
            Instr::Binary { op, dtype, dst, a, b } => self.binary(ops::binary(*op, *dtype), *dst, [a, b]),
            Instr::Own(Own::TanhGrad { dst, a, b }) => self.binary(BinaryOp::TanhGrad, *dst, [a, b]),
            Instr::Select { dst, c, a, b } => {
                self.each(*dst, [c, a, b], |out, [c, a, b]| select(isa, out, c, a, b));
            }
            Instr::Threefry { dst, src } => {
                let (x, y) = (self.reg_mut(dst[0]), self.reg_mut(dst[1]));
                let lanes = self.lanes;
                for (m, (x, y)) in x.chunks_exact_mut(lanes).zip(y.chunks_exact_mut(lanes)).enumerate() {
                    let operands = [0, 1, 2, 3].map(|i| self.block(&src[i], m));
                    threefry(isa, x, y, operands);
                }
            }
            Instr::Permutation { dst, src, n } => {
                self.each(*dst, [&src[0], &src[1], &src[2]], |out, [i, k0, k1]| {
                    if let (Operand::Splat(k0), Operand::Splat(k1)) = (k0, k1) {
                        let map = rng::Permutation::new([k0.to_bits(), k1.to_bits()], *n);
                        return permutation(isa, out, i, &map);
                    }
                    for (r, o) in out.iter_mut().enumerate() {
                        let [i, k0, k1] = [i, k0, k1].map(|x| lane(x, r));
                        *o = f32::from_bits(rng::permute(i, [k0, k1], *n));
                    }
                });
            }
            Instr::Assemble { dst, parts, zero } => {
                let out = self.reg_mut(*dst);
                if *zero {
                    out.fill(0.0);
                }
                for (part, to) in parts {
                    for (m, block) in to.iter().enumerate() {
                        let out = &mut out[*block as usize * self.lanes..][..self.lanes];
                        match self.block(part, m) {
                            Operand::Slice(s) => out.copy_from_slice(s),
                            Operand::Splat(v) => out.fill(v),
                            Operand::Dst => {}
                        }
                    }
                }
            }
            Instr::Sum { dst, src, sizes } => self.reduce(Reduction::Sum, *dst, *src, *sizes),
            Instr::Max { dst, src, sizes, unsigned } if *unsigned => self.max_u32(*dst, *src, *sizes),
            Instr::Max { dst, src, sizes, .. } => self.reduce(Reduction::Max, *dst, *src, *sizes),
            Instr::RowProduct { dst, a, w, sizes: [k, n] } => {
                let a = &self.reg(a.0)[a.1 * self.lanes..];
                row_product(isa, self.reg_mut(*dst), a, self.reg(*w), [*k, *n], self.lanes);
            }
            Instr::Gather { dst, table, n, index } => self.gather(*dst, table, *n, index),
            Instr::Call { native, src, dst } => {
                let mut inputs: [&[f32]; MOST_OF_CALL] = [&[]; MOST_OF_CALL];
                let mut outputs: [&mut [f32]; MOST_OF_CALL] = std::array::from_fn(|_| &mut [][..]);
                inputs.iter_mut().zip(src).for_each(|(input, reg)| *input = self.reg(*reg));
                outputs.iter_mut().zip(dst).for_each(|(output, reg)| *output = self.reg_mut(*reg));
                native.run(isa, self.lanes, &inputs[..src.len()], &mut outputs[..dst.len()]);
            }
            Instr::RowSum { terminal, src } => {
                let t = &self.tile.terminals[*terminal];
                let acc = self.partial(starts[*terminal], t.size * 16);
                match t.turned {
                    true => sum_rows(isa, acc, &self.reg(*src)[..self.valid * t.size]),
                    false => accumulate_rows(isa, Reduction::Sum, acc, self.reg(*src), self.lanes, 0..self.valid),
                }
            }
            Instr::RowOuter { terminal, a, b } => {
                let acc = self.partial(starts[*terminal], a.2 * b.2);
                self.outer(acc, *a, *b);
            }
            Instr::Own(Own::Turn { dst, src }) => {
                turn_rows(isa, self.reg_mut(*dst), self.lanes, self.reg_mut(*src), self.valid);
            }
            Instr::Own(Own::Update(update)) => self.update(update),
            // Parts of their own.
            Instr::Own(Own::Dense(_)) | Instr::Loop(_) => {}
        }
    }

    fn binary(&self, op: BinaryOp, dst: Reg, src: [&Opnd; 2]) {
        self.each(dst, src, |out, [a, b]| binary(self.isa, op, out, a, b));
    }

    fn partial<'s>(&self, start: usize, len: usize) -> &'s mut [f32] {
        // SAFETY: the partial sums of this task belong to this thread, and each terminal has its own.
        let words: &'s mut [u32] = unsafe { self.partials.part(start, len).words_mut() };
        bytemuck::cast_slice_mut(words)
    }

    fn repeat(&mut self, body: &TileLoop, parts: &[TilePart], starts: &[usize]) {
        for (reg, init, _) in &body.carries {
            self.copy(*reg, init);
        }
        if let [TilePart::Chain(linked)] = parts {
            return self.repeat_chain(body, linked);
        }
        let level = body.level;
        for step in 0..body.len {
            if self.interrupt.asked() || body.until.is_some_and(|until| self.holds(until)) {
                break;
            }
            if self.reports && level == 0 {
                self.interrupt.at_step(step, body.len);
            }
            let t = if body.reverse { body.len - 1 - step } else { step };
            self.time[level] = t;
            if let Some(index) = body.index {
                self.reg_mut(index).fill(f32::from_bits(t as u32));
            }
            self.parts(parts, starts);
        }
        self.time[level] = 0;
    }

    fn copy(&self, dst: Reg, src: &Opnd) {
        let out = self.reg_mut(dst);
        if let Opnd::Reg(reg, Table::Dense { start, len }) = src {
            out.copy_from_slice(&self.reg(*reg)[start * self.lanes..][..len * self.lanes]);
            return;
        }
        for (m, out) in out.chunks_exact_mut(self.lanes).enumerate() {
            match self.block(src, m) {
                Operand::Slice(s) => out.copy_from_slice(s),
                Operand::Splat(v) => out.fill(v),
                Operand::Dst => {}
            }
        }
    }

    /// Block `m` of an operand.
    pub(super) fn block<'s>(&self, o: &Opnd, m: usize) -> Operand<'s> {
        match o {
            Opnd::Reg(reg, table) => {
                let whole: &'s [f32] = self.reg(*reg);
                Operand::Slice(&whole[table.at(m) * self.lanes..][..self.lanes])
            }
            Opnd::Uniform(mem) => {
                let (words, at) = self.base(mem);
                Operand::Splat(f32::from_bits(words[at + mem.table.at(m)]))
            }
            Opnd::Const(bits) => Operand::Splat(f32::from_bits(*bits)),
        }
    }

    /// Row `r`, of `m` values, of an operand that is row-major or a part of such a register, or the same for all rows.
    #[inline(never)]
    fn row_of<'s>(&self, o: &Opnd, r: usize, m: usize) -> Operand<'s> {
        match o {
            Opnd::Reg(reg, table) => {
                let whole: &'s [f32] = self.reg(*reg);
                Operand::Slice(&whole[r * self.tile.registers[*reg].1 + table.at(0)..][..m])
            }
            Opnd::Uniform(mem) if matches!(mem.table, Table::Dense { .. }) && m > 1 => {
                let (words, at) = self.base(mem);
                let values: &'s [f32] = bytemuck::cast_slice(words);
                Operand::Slice(&values[at + mem.table.at(0)..][..m])
            }
            _ => self.block(o, 0),
        }
    }

    /// All blocks of an operand as one, if they are contiguous or equal.
    fn all<'s>(&self, o: &Opnd) -> Option<Operand<'s>> {
        match o {
            Opnd::Reg(reg, Table::Dense { start, len }) => {
                let whole: &'s [f32] = self.reg(*reg);
                Some(Operand::Slice(&whole[start * self.lanes..][..len * self.lanes]))
            }
            Opnd::Reg(_, table) if table.len() == 1 => Some(self.block(o, 0)),
            Opnd::Uniform(mem) if matches!(mem.table, Table::Repeat { .. }) || mem.table.len() == 1 => {
                Some(self.block(o, 0))
            }
            Opnd::Const(bits) => Some(Operand::Splat(f32::from_bits(*bits))),
            _ => None,
        }
    }

    /// Call `f` on as many blocks at once as the operands allow.
    #[inline(always)]
    fn each<const K: usize>(&self, dst: Reg, src: [&Opnd; K], f: impl Fn(&mut [f32], [Operand<'_>; K])) {
        let out = self.reg_mut(dst);
        if self.tile.majors[dst] == Major::Rows {
            let m = self.tile.registers[dst].1;
            for (r, out) in out.chunks_exact_mut(m).take(self.valid).enumerate() {
                f(out, src.map(|o| self.row_of(o, r, m)));
            }
            return;
        }
        let all = src.map(|o| self.all(o));
        if all.iter().all(Option::is_some) {
            f(out, all.map(|o| o.unwrap_or(Operand::Dst)));
            return;
        }
        for (m, out) in out.chunks_exact_mut(self.lanes).enumerate() {
            f(out, src.map(|o| self.block(o, m)));
        }
    }

    fn reduce(&self, op: Reduction, dst: Reg, src: Reg, [outer, n, inner]: [usize; 3]) {
        let (out, src, lanes) = (self.reg_mut(dst), self.reg(src), self.lanes);
        for o in 0..outer {
            for i in 0..inner {
                let from = &src[(o * n * inner + i) * lanes..];
                reduce_outer(self.isa, op, &mut out[(o * inner + i) * lanes..][..lanes], from, n, inner * lanes);
            }
        }
    }

    fn max_u32(&self, dst: Reg, src: Reg, [outer, n, inner]: [usize; 3]) {
        let (out, src, lanes) = (self.reg_mut(dst), self.reg(src), self.lanes);
        for o in 0..outer {
            for i in 0..inner {
                for r in 0..lanes {
                    let at = |k: usize| src[(o * n * inner + i + k * inner) * lanes + r].to_bits();
                    let top = (0..n).map(at).max().unwrap_or(0);
                    out[(o * inner + i) * lanes + r] = f32::from_bits(top);
                }
            }
        }
    }
}

/// Lane `r` of an operand, as u32.
pub(super) fn lane(o: Operand<'_>, r: usize) -> u32 {
    match o {
        Operand::Slice(s) => s[r].to_bits(),
        Operand::Splat(v) => v.to_bits(),
        Operand::Dst => 0,
    }
}
