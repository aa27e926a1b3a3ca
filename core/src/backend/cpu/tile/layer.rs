//! Runs products with what follows them, part by part.

use super::super::simd::dense::{DenseDims, Epilogue, Strided, dense};
use super::super::simd::elementwise::{BinaryOp, Operand, UnaryOp, unary};
use super::super::simd::few::{dense_few, few, turn};
use super::link::DenseLayer;
use super::run::Frame;
use super::{Dense, Instr, Opnd, Reg, Table};

impl Frame<'_> {
    #[inline(never)]
    pub(super) fn layer(&mut self, layer: &DenseLayer) {
        let product = &layer.product;
        let Dense { dst, a, w, strides: [ks, ns, k, n], bias, .. } = product;
        let (isa, lanes) = (self.isa, self.lanes);
        let (words, at) = self.base(w);
        let w: &[f32] = bytemuck::cast_slice(&words[at..]);
        let mut flat = Vec::new();
        let bias = bias.as_ref().map(|b| {
            let (words, at) = self.base(b);
            let values: &[f32] = bytemuck::cast_slice(words);
            match &b.table {
                Table::Dense { start, .. } => Strided { values: &values[at + start..], row: 1, col: 0 },
                Table::Repeat { at: i, .. } => Strided { values: &values[at + i..], row: 0, col: 0 },
                table => {
                    flat.extend((0..table.len()).map(|m| values[at + table.at(m)]));
                    Strided { values: &[], row: 1, col: 0 }
                }
            }
        });
        let bias = bias.map(|b| if b.values.is_empty() { Strided { values: &flat, ..b } } else { b });
        // Tanh and its derivative alone are done inside of the product, which saves a few percent.
        let (whole, strided) = (DenseDims { k: *k, n: *n, r: lanes }, Strided { values: w, row: *ks, col: *ns });
        let rows = few(strided, bias, whole, self.valid);
        let after = match &product.after[..] {
            [Instr::Unary { op: UnaryOp::Tanh, dst: to, .. }] if to == dst => Some(Epilogue::Tanh),
            [
                Instr::Binary {
                    op: BinaryOp::TanhGrad,
                    dst: to,
                    a: Opnd::Reg(g, _),
                    b: Opnd::Reg(y, Table::Dense { start, .. }),
                },
            ] if to == dst && g == dst => Some(Epilogue::Slope(&self.reg(*y)[start * lanes..][..n * lanes])),
            [] => Some(Epilogue::Linear),
            _ => None,
        };
        let mut spare = std::mem::take(&mut self.spare);
        if rows.is_some() {
            spare.resize(spare.len().max(lanes * n), 0.0);
        }
        let input = &self.reg(a.0)[a.1 * lanes..];
        match (after, rows) {
            (Some(after), None) => dense(isa, self.reg_mut(*dst), input, strided, bias, whole, after),
            (Some(after @ (Epilogue::Linear | Epilogue::Tanh)), Some(rows)) => {
                dense_few(isa, &mut spare, input, strided, bias, whole, rows);
                if matches!(after, Epilogue::Tanh) {
                    unary(isa, UnaryOp::Tanh, &mut spare[..rows * n], Operand::Dst);
                }
                turn(isa, self.reg_mut(*dst), &mut spare, rows);
            }
            _ => self.in_parts(layer, strided, bias, rows, &mut spare),
        }
        self.spare = spare;
    }

    /// A product and the chain that follows it: part by part, where few rows are computed turned and, if the chain suits, stay so for it.
    fn in_parts(
        &mut self,
        layer: &DenseLayer,
        w: Strided<'_>,
        bias: Option<Strided<'_>>,
        rows: Option<usize>,
        spare: &mut [f32],
    ) {
        let DenseLayer { product, linked, ends, last } = layer;
        let Dense { dst, a, strides: [.., k, n], part, inner, .. } = product;
        let (isa, lanes) = (self.isa, self.lanes);
        let values = self.values(linked);
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
            self.jobs(linked, &values, &[], first..*end, turned.map_or(16, |(_, rows)| rows));
            if let Some((reg, rows)) = turned {
                let (results, len) = (own(self, reg), rows * dims.n);
                spare[..len].copy_from_slice(&results[..len]);
                turn(isa, results, spare, rows);
            }
            first = *end;
        }
        self.values = values;
    }
}
