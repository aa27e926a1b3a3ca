//! Rows of memory in and out of registers.
#![allow(unsafe_code, reason = "tiles write disjoint rows of one value")]

use super::super::simd::elementwise::Operand;
use super::super::simd::pack::transpose;
use super::link::WIDE;
use super::run::{Frame, lane};
use super::{Mem, Opnd, Reg, Table};

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
}
