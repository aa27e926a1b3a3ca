//! Rows of memory in and out of registers.
#![allow(unsafe_code, reason = "tiles write disjoint rows of one value")]

use super::super::simd::elementwise::Operand;
use super::super::simd::pack::transpose;
use super::super::simd::update::{SharedNumbers, update};
use super::linked::WIDE;
use super::run::{Frame, lane};
use super::{Major, Mem, Opnd, Reg, Table, Update};

impl Frame<'_> {
    /// Rows of memory to a register; lanes past the last row repeat it.
    pub(super) fn load(&self, dst: Reg, src: &Mem) {
        let (words, at) = self.base(src);
        let values: &[f32] = bytemuck::cast_slice(words);
        let (out, lanes) = (self.reg_mut(dst), self.lanes);
        if src.per > 0 {
            for (m, out) in out.chunks_exact_mut(lanes).enumerate() {
                let from = &values[at + src.table.at(m)..];
                let rows = (self.row..).take(self.valid).map(|row| row / src.per * src.group + row % src.per * src.row);
                out.iter_mut().zip(rows).for_each(|(o, at)| *o = from[at]);
                let last = out[self.valid - 1];
                out[self.valid..].fill(last);
            }
            return;
        }
        let at = at + self.row * src.row;
        if self.tile.majors[dst] == Major::Rows {
            let m = src.table.len();
            for (r, out) in out.chunks_exact_mut(m).take(self.valid).enumerate() {
                let from = &values[at + src.table.at(0) + r * src.row..];
                match src.table {
                    Table::Repeat { .. } => out.fill(from[0]),
                    _ => out.copy_from_slice(&from[..m]),
                }
            }
            return;
        }
        if src.row == 1 {
            for (m, out) in out.chunks_exact_mut(lanes).enumerate() {
                let from = &values[at + src.table.at(m)..][..self.valid];
                out[..self.valid].copy_from_slice(from);
                let last = from[self.valid - 1];
                out[self.valid..].fill(last);
            }
            return;
        }
        if let Table::Dense { start, len } = src.table
            && len >= WIDE
        {
            transpose(self.isa, out, lanes, &values[at + start..], src.row, self.valid, len);
            for out in out.chunks_exact_mut(lanes).take(len) {
                let last = out[self.valid - 1];
                out[self.valid..].fill(last);
            }
            return;
        }
        for (m, out) in out.chunks_exact_mut(lanes).enumerate() {
            let from = &values[at + src.table.at(m)..];
            for (r, o) in out[..self.valid].iter_mut().enumerate() {
                *o = from[r * src.row];
            }
            let last = out[self.valid - 1];
            out[self.valid..].fill(last);
        }
    }

    pub(super) fn store(&self, src: &Opnd, dst: &Mem) {
        let at = self.base(dst).1 + self.row * dst.row;
        let span = self.mem.span(dst.value);
        let len = dst.table.len();
        let base = match dst.table {
            Table::Dense { start, .. } => at + start,
            _ => at,
        };
        // SAFETY: these rows belong to this tile; nobody else reads or writes them while it runs.
        let out = unsafe { span.part(base, (self.valid - 1) * dst.row.max(len) + len).words_mut() };
        if let Opnd::Reg(reg, _) = src
            && self.tile.majors[*reg] == Major::Rows
        {
            let rows = self.reg(*reg).chunks_exact(len).take(self.valid).enumerate();
            rows.for_each(|(r, row)| out[r * dst.row..][..len].copy_from_slice(bytemuck::cast_slice(row)));
            return;
        }
        if let Opnd::Reg(reg, Table::Dense { start, .. }) = src
            && len >= WIDE
            && dst.row >= len
        {
            let out: &mut [f32] = bytemuck::cast_slice_mut(out);
            transpose(self.isa, out, dst.row, &self.reg(*reg)[start * self.lanes..], self.lanes, len, self.valid);
            return;
        }
        for m in 0..len {
            match self.block(src, m) {
                Operand::Slice(s) if dst.row == 1 => {
                    out[..self.valid].copy_from_slice(bytemuck::cast_slice(&s[..self.valid]));
                }
                Operand::Slice(s) => {
                    for (r, v) in s[..self.valid].iter().enumerate() {
                        out[r * dst.row + m] = v.to_bits();
                    }
                }
                Operand::Splat(v) => (0..self.valid).for_each(|r| out[r * dst.row + m] = v.to_bits()),
                Operand::Dst => {}
            }
        }
    }

    /// Tells whether no element of any row is 0.
    #[inline(never)]
    pub(super) fn holds(&self, reg: Reg) -> bool {
        let is_row = |lane: usize| lane % self.lanes < self.valid;
        self.reg(reg).iter().enumerate().all(|(lane, x)| x.to_bits() != 0 || !is_row(lane))
    }

    pub(super) fn gather(&self, dst: Reg, table: &Mem, n: usize, index: &Opnd) {
        let (words, at) = self.base(table);
        let values: &[f32] = bytemuck::cast_slice(words);
        let (out, lanes, inner) = (self.reg_mut(dst), self.lanes, table.table.len());
        let index = self.block(index, 0);
        for r in 0..lanes {
            let row = at + (lane(index, r) as usize).min(n - 1) * table.row;
            match &table.table {
                Table::Dense { start, len } => {
                    for (m, v) in values[row + start..][..*len].iter().enumerate() {
                        out[m * lanes + r] = *v;
                    }
                }
                any => (0..inner).for_each(|m| out[m * lanes + r] = values[row + any.at(m)]),
            }
        }
    }

    /// Make an optimiser's step of these rows.
    #[inline(never)]
    pub(super) fn update(&self, step: &Update) {
        let number = |o: &Opnd| match self.block(o, 0) {
            Operand::Splat(x) => x,
            _ => 0.0,
        };
        let rows = |mem: &Mem| {
            let at = self.base(mem).1 + self.row * mem.row + mem.table.at(0);
            self.mem.span(mem.value).part(at, self.valid).as_ptr().cast::<f32>()
        };
        let (mut src, mut dst) = ([std::ptr::null(); 4], [std::ptr::null_mut(); 3]);
        src.iter_mut().zip(&step.src).for_each(|(src, mem)| *src = rows(mem).cast_const());
        dst.iter_mut().zip(&step.dst).for_each(|(dst, mem)| *dst = rows(mem));
        let [reads, writes, _] = step.rule.sizes();
        if number(&step.go).to_bits() == 0 {
            for (old, new) in src[reads - writes..reads].iter().zip(&dst) {
                // SAFETY: rows of this tile, which nobody else writes now; the old are the new or apart from them.
                unsafe { new.copy_from(*old, self.valid) };
            }
            return;
        }
        let mut shared = SharedNumbers::default();
        shared.iter_mut().zip(&step.shared).for_each(|(x, o)| *x = number(o));
        // SAFETY: as above; what is written over is what the same rows read.
        unsafe { update(self.isa, step.rule, src, dst, &shared, self.valid) };
    }
}
