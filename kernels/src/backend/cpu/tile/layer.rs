//! Runs products with what follows them, part by part.

use super::super::simd::dense::{DenseDims, Epilogue, dense};
use super::super::simd::dots::{LaneDots, dots_of_lanes, in_lanes};
use super::super::simd::elementwise::{Operand, UnaryOp, unary};
use super::super::simd::few::{dense_few, few, turn};
use super::super::simd::strided::Strided;
use super::linked::{DenseLayer, Inside};
use super::run::Frame;
use super::{Dense, Major, Mem, Reg, Table};

impl Frame<'_> {
    #[inline(never)]
    pub(super) fn layer(&mut self, layer: &DenseLayer) {
        if self.tile.majors[layer.product.dst] == Major::Rows {
            return self.row_layer(layer);
        }
        if layer.product.of_rows(&self.tile.majors) {
            return self.narrow_layer(layer);
        }
        let product = &layer.product;
        let Dense { dst, a, w, strides: [ks, ns, k, n], bias, .. } = product;
        let (isa, lanes) = (self.isa, self.lanes);
        let (words, at) = self.base(w);
        let w: &[f32] = bytemuck::cast_slice(&words[at..]);
        let mut flat = Vec::new();
        let bias = bias.as_ref().map(|b| self.bias(b, &mut flat));
        let (whole, strided) = (DenseDims { k: *k, n: *n, r: lanes }, Strided { values: w, row: *ks, col: *ns });
        if in_lanes(*k, *n) {
            // Narrow: nothing has been moved into it.
            let input = &self.reg(a.0)[a.1 * lanes..];
            return dots_of_lanes(isa, self.reg_mut(*dst), LaneDots { a: input, w: strided, bias }, [*k, *n, lanes]);
        }
        let rows = few(strided, bias, whole, self.valid);
        let mut spare = std::mem::take(&mut self.spare);
        if rows.is_some() {
            spare.resize(spare.len().max(lanes * n), 0.0);
        }
        let input = &self.reg(a.0)[a.1 * lanes..];
        match (layer.inside, rows) {
            (Some(inside), None) => {
                let (to, after) = self.epilogue(*dst, *n, inside);
                dense(isa, self.reg_mut(to), input, strided, bias, whole, after);
            }
            (Some(inside @ (Inside::Linear | Inside::Tanh)), Some(rows)) => {
                dense_few(isa, &mut spare, input, strided, bias, whole, rows);
                if inside == Inside::Tanh {
                    unary(isa, UnaryOp::Tanh, &mut spare[..rows * n], Operand::Dst);
                }
                turn(isa, self.reg_mut(*dst), &mut spare, rows);
            }
            _ => self.in_parts(layer, strided, bias, rows, &mut spare),
        }
        self.spare = spare;
    }

    /// The bias of a product: element (n, 0). `flat` is where it is copied to if no strides tell its places.
    pub(super) fn bias<'s>(&self, bias: &Mem, flat: &'s mut Vec<f32>) -> Strided<'s> {
        let (words, at) = self.base(bias);
        let values: &'s [f32] = bytemuck::cast_slice(words);
        match &bias.table {
            Table::Dense { start, .. } => Strided { values: &values[at + start..], row: 1, col: 0 },
            Table::Repeat { at: i, .. } => Strided { values: &values[at + i..], row: 0, col: 0 },
            table => {
                flat.extend((0..table.len()).map(|m| values[at + table.at(m)]));
                Strided { values: flat, row: 1, col: 0 }
            }
        }
    }

    /// Where the kernel of a product of `n` blocks writes, and what it does with its results.
    pub(super) fn epilogue(&self, dst: Reg, n: usize, inside: Inside) -> (Reg, Epilogue<'_>) {
        let blocks = |(reg, start): (Reg, usize)| &self.reg(reg)[start * self.lanes..][..n * self.lanes];
        match inside {
            Inside::Linear => (dst, Epilogue::Linear),
            Inside::Tanh => (dst, Epilogue::Tanh),
            Inside::Slope(y, start) => (dst, Epilogue::Slope(blocks((y, start)))),
            Inside::Relu(to) => (dst, Epilogue::Relu((to != dst).then(|| self.reg_mut(to)))),
            Inside::Gate(to, x) => (to, Epilogue::Gate(blocks(x))),
        }
    }

    /// A product and the chain that follows it: part by part, where few rows are computed turned
    /// and, if the chain suits, stay so for it.
    fn in_parts(
        &mut self,
        layer: &DenseLayer,
        w: Strided<'_>,
        bias: Option<Strided<'_>>,
        rows: Option<usize>,
        spare: &mut [f32],
    ) {
        let DenseLayer { product, linked, ends, last, .. } = layer;
        let Dense { dst, a, strides: [.., k, n], part, inner, .. } = product;
        let (isa, lanes) = (self.isa, self.lanes);
        self.move_values(linked);
        let mut first = 0;
        for (start, end) in (0..*n).step_by(*part).zip(ends) {
            let dims = DenseDims { k: *k, n: (*part).min(n - start), r: lanes };
            let w = Strided { values: w.values.get(start * w.col..).unwrap_or(&[]), ..w };
            let bias = bias.map(|b| Strided { values: &b.values[start * b.row..], ..b });
            let own = |frame: &Self, reg: Reg| {
                let at = if inner.contains(&reg) { 0 } else { start * lanes };
                &mut frame.reg_mut(reg)[at..][..dims.n * lanes]
            };
            let input = &self.reg(a.0)[a.1 * lanes..];
            match (rows, last) {
                (None, _) => dense(isa, own(self, *dst), input, w, bias, dims, Epilogue::Linear),
                (Some(rows), Some(_)) => dense_few(isa, own(self, *dst), input, w, bias, dims, rows),
                (Some(rows), None) => {
                    dense_few(isa, spare, input, w, bias, dims, rows);
                    turn(isa, own(self, *dst), spare, rows);
                }
            }
            let turned = last.and_then(|reg| Some((reg, rows?)));
            self.jobs(linked, first..*end, turned.map_or(16, |(_, rows)| rows));
            if let Some((reg, rows)) = turned {
                let (results, len) = (own(self, reg), rows * dims.n);
                spare[..len].copy_from_slice(&results[..len]);
                turn(isa, results, spare, rows);
            }
            first = *end;
        }
    }
}
