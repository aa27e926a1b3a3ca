//! Runs products row by row, and weight gradients.

use super::super::simd::dense::{Epilogue, Outer, dense_accumulate_outer};
use super::super::simd::pack::transpose;
use super::super::simd::rows::{RowDims, RowOuter, dense_rows, outer_rows};
use super::super::simd::strided::Strided;
use super::link::DenseLayer;
use super::run::Frame;
use super::{Dense, Major, Reg, Table};

impl Frame<'_> {
    /// A product whose result is row-major.
    #[inline(never)]
    pub(super) fn row_layer(&mut self, layer: &DenseLayer) {
        let Dense { dst, a, w, strides: [ks, _, k, n], bias, .. } = &layer.product;
        let (isa, dims) = (self.isa, RowDims { rows: self.valid, k: *k, n: *n });
        let (words, at) = self.base(w);
        let weights: &[f32] = bytemuck::cast_slice(&words[at..]);
        let mut packed = std::mem::take(&mut self.packed);
        if let Some((place, start)) = layer.packed
            && self.packed_for[place] != self.group
        {
            self.packed_for[place] = self.group;
            packed.resize(packed.len().max(start + k * n));
            self.turn_weights(&mut packed[start..][..k * n], weights, &layer.product);
        }
        let (weights, row) = match layer.packed {
            Some((_, start)) => (&packed[start..][..k * n], *n),
            None => (weights, *ks),
        };
        let mut flat = Vec::new();
        let bias = bias.as_ref().map(|b| {
            let (words, at) = self.base(b);
            let values: &[f32] = bytemuck::cast_slice(words);
            match &b.table {
                Table::Dense { start, len } => &values[at + start..][..*len],
                table => {
                    flat.extend((0..table.len()).map(|m| values[at + table.at(m)]));
                    &flat[..]
                }
            }
        });
        let input = self.strided(a.0, a.1);
        match layer.inside {
            Some(inside) => {
                let (to, after) = self.epilogue(*dst, *n, inside);
                dense_rows(isa, &mut self.reg_mut(to)[..dims.rows * n], input, weights, row, bias, dims, after);
            }
            None => {
                let out = &mut self.reg_mut(*dst)[..dims.rows * n];
                dense_rows(isa, out, input, weights, row, bias, dims, Epilogue::Linear);
                let values = self.values(&layer.linked);
                let lanes = if self.lanes == 16 { self.valid } else { 16 };
                self.jobs(&layer.linked, &values, &[], 0..layer.linked.chain.len(), lanes);
                self.values = values;
            }
        }
        self.packed = packed;
    }

    /// Weights of which the inputs are next to each other, turned to `[k][n]`.
    fn turn_weights(&self, to: &mut [f32], weights: &[f32], product: &Dense) {
        let [ks, ns, k, n] = product.strides;
        if ks == 1 {
            transpose(self.isa, to, n, weights, ns, n, k);
            return;
        }
        for (i, row) in to.chunks_exact_mut(n).enumerate() {
            row.iter_mut().enumerate().for_each(|(j, x)| *x = weights[i * ks + j * ns]);
        }
    }

    /// The rows of a register from that block on.
    fn strided<'s>(&self, reg: Reg, block: usize) -> Strided<'s> {
        match self.tile.majors[reg] {
            Major::Rows => Strided { values: &self.reg(reg)[block..], row: self.tile.registers[reg].1, col: 1 },
            Major::Lanes => Strided { values: &self.reg(reg)[block * self.lanes..], row: 1, col: self.lanes },
        }
    }

    /// Add the outer products of two registers' rows to a partial sum.
    pub(super) fn outer(&mut self, acc: &mut [f32], a: (Reg, usize, usize), b: (Reg, usize, usize)) {
        let dims = RowDims { rows: self.valid, k: a.2, n: b.2 };
        let outer = RowOuter { a: self.strided(a.0, a.1), g: self.strided(b.0, b.1), dims };
        if outer.suits() {
            return outer_rows(self.isa, acc, outer, &mut self.spare);
        }
        let outer =
            Outer { a: outer.a.values, g: outer.g.values, k: dims.k, n: dims.n, stride: self.lanes, rows: self.valid };
        dense_accumulate_outer(self.isa, acc, dims.n, outer, &mut self.spare);
    }
}
