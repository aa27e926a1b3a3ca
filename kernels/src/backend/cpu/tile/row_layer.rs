//! Runs products row by row, and weight gradients.

use super::super::simd::aligned::AlignedVec;
use super::super::simd::dense::{Epilogue, Outer, dense_accumulate_outer};
use super::super::simd::dots::{Dots, dots};
use super::super::simd::pack::transpose;
use super::super::simd::rows::{RowDims, RowOuter, dense_rows, outer_rows};
use super::super::simd::strided::Strided;
use super::linked::DenseLayer;
use super::run::Frame;
use super::{Dense, Major, Reg};

impl Frame<'_> {
    /// A product whose result is row-major.
    #[inline(never)]
    pub(super) fn row_layer(&mut self, layer: &DenseLayer) {
        let Dense { dst, a, w, strides: [ks, _, k, n], bias, .. } = &layer.product;
        let (isa, dims) = (self.isa, RowDims { rows: self.valid, k: *k, n: *n });
        let (words, at) = self.base(w);
        let mut packed = std::mem::take(&mut self.packed);
        let (weights, row) = match layer.packed {
            Some(place) => (self.turned_weights(&mut packed, place, &layer.product), *n),
            None => (bytemuck::cast_slice(&words[at..]), *ks),
        };
        let mut flat = Vec::new();
        let bias = bias.as_ref().map(|b| self.bias(b, &mut flat));
        let mut repeated = Vec::new();
        let bias = bias.map(|bias| match bias.row {
            0 => {
                repeated.resize(*n, bias.values[0]);
                &repeated[..]
            }
            _ => bias.values,
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
                self.move_values(&layer.linked);
                let lanes = if self.lanes == 16 { self.valid } else { 16 };
                self.jobs(&layer.linked, 0..layer.linked.chain.len(), lanes);
            }
        }
        self.packed = packed;
    }

    /// A narrow product of row-major values, whose result is lane-major.
    #[inline(never)]
    pub(super) fn narrow_layer(&mut self, layer: &DenseLayer) {
        let Dense { dst, a, w, strides: [_, ns, k, n], bias, .. } = &layer.product;
        let (words, at) = self.base(w);
        let mut packed = std::mem::take(&mut self.packed);
        let w = match layer.packed {
            Some(place) => (self.turned_weights(&mut packed, place, &layer.product), *k),
            None => (bytemuck::cast_slice(&words[at..]), *ns),
        };
        let mut flat = Vec::new();
        let bias = bias.as_ref().map(|b| self.bias(b, &mut flat));
        let a = (&self.reg(a.0)[a.1..], self.tile.registers[a.0].1);
        let out = &mut self.reg_mut(*dst)[..n * self.lanes];
        dots(self.isa, out, [1, self.lanes], Dots { a, w, bias, sizes: [self.valid, *k, *n] });
        if self.valid < self.lanes {
            for out in out.chunks_exact_mut(self.lanes) {
                let last = out[self.valid - 1];
                out[self.valid..].fill(last);
            }
        }
        self.packed = packed;
    }

    /// The weights of a product as its kernel wants them, `[k][n]` or, of a narrow one, `[n][k]`: turned once for each
    /// group of a run.
    fn turned_weights<'s>(
        &mut self,
        packed: &'s mut AlignedVec,
        (place, start): (usize, usize),
        product: &Dense,
    ) -> &'s [f32] {
        let [ks, ns, k, n] = product.strides;
        if self.packed_for[place] != self.group {
            self.packed_for[place] = self.group;
            packed.resize(packed.len().max(start + k * n));
            let (words, at) = self.base(&product.w);
            let weights: &[f32] = bytemuck::cast_slice(&words[at..]);
            let to = &mut packed[start..][..k * n];
            let [rows, cols, row, col] = match product.of_rows(&self.tile.majors) {
                true => [n, k, ns, ks],
                false => [k, n, ks, ns],
            };
            if row == 1 {
                transpose(self.isa, to, cols, weights, col, cols, rows);
            } else {
                for (i, to) in to.chunks_exact_mut(cols).enumerate() {
                    to.iter_mut().enumerate().for_each(|(j, x)| *x = weights[i * row + j * col]);
                }
            }
        }
        &packed[start..][..k * n]
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
