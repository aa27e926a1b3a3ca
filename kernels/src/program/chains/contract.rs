//! Sums, products and gathers in chains.

use super::build::{Builder, Fit, Loc, Unfit};
use super::instr::{ChainInstr, ChainProduct, Mem, Reg};
use super::table::Table;
use super::values::{ValueId, Values};
use crate::tensor::{DType, NodeId, Op};

/// Most elements of a matrix that each row has of its own: it stays in the fastest memory beside the rows. Rows of
/// larger ones are rather left apart, where the elements are the same for all.
const OWN_MATRIX: usize = 64;
/// Most elements of such a matrix where a step of a row takes so long that unused lanes cost more than loads.
const OWN_MATRIX_OF_LONG_STEPS: usize = 1024;

impl<O: From<ChainProduct>> Builder<'_, O> {
    pub(super) fn reduce(&mut self, values: &mut dyn Values, id: NodeId, axis: usize) -> Fit<()> {
        let graph = self.scope.graph;
        let node = &graph.nodes[id as usize];
        let own = &graph.nodes[node.src[0] as usize];
        let p = self.domain.lead.len();
        if self.domain.flat || self.domain.inner(&own.shape).is_none() {
            return Err(Unfit);
        }
        let a = self.operand(values, node.src[0])?;
        let m: usize = own.shape[p..].iter().product();
        self.count(m);
        if axis + 1 == p {
            // Over the rows themselves.
            if matches!(node.op, Op::ReduceMax { .. }) || self.depth > 0 || self.domain.merged {
                return Err(Unfit);
            }
            let src = self.dense(a, m);
            let terminal = self.terminals.len();
            self.code.push(ChainInstr::RowSum { terminal, src });
            self.terminals.push((id, m));
            self.map.insert(id, Loc::Terminal);
            return Ok(());
        }
        if axis < p {
            return Err(Unfit);
        }
        let n = own.shape[axis];
        let inner: usize = own.shape[axis + 1..].iter().product();
        let sizes = [m / n / inner, n, inner];
        let src = self.dense(a, m);
        let dst = self.reg(m / n);
        self.code.push(match node.op {
            Op::Sum { .. } => ChainInstr::Sum { dst, src, sizes },
            _ => ChainInstr::Max { dst, src, sizes, unsigned: own.dtype == DType::U32 },
        });
        self.map.insert(id, Loc::Row(dst));
        Ok(())
    }

    pub(super) fn matmul(&mut self, values: &mut dyn Values, id: NodeId, ta: bool, tb: bool) -> Fit<()> {
        let graph = self.scope.graph;
        let node = &graph.nodes[id as usize];
        let p = self.domain.lead.len();
        let rank = node.shape.len();
        let shape = |i: usize| &graph.nodes[node.src[i] as usize].shape;
        let (sa, sb) = (shape(0), shape(1));
        if self.domain.flat || rank != p + 1 {
            return Err(Unfit);
        }
        if !ta && sa[..p] == self.domain.lead[..] && node.shape[..p] == self.domain.lead[..] {
            let (k, n) = (sa[p], node.shape[p]);
            let a = self.operand(values, node.src[0])?;
            let (w, group, strides) = self.matrix(values, node.src[1])?;
            let [ks, ns] = if tb { [strides[1], strides[0]] } else { strides };
            let a = self.run_of(a, k);
            let dst = self.reg(n);
            self.count(k * n);
            if self.domain.merged && group != 0 {
                let most = if self.scope.units.calls_loop { OWN_MATRIX_OF_LONG_STEPS } else { OWN_MATRIX };
                if k * n > most || !Table::fits(&[k, n], &[ks, ns], 0) {
                    return Err(Unfit);
                }
                let table = Table::new(&[k, n], &[ks, ns], 0);
                let w = self.load(self.mem(w, [group, 0], vec![0; self.depth], table));
                self.code.push(ChainInstr::RowProduct { dst, a, w, sizes: [k, n] });
            } else {
                let w = self.mem(w, [group, 0], vec![0; self.depth], Table::Dense { start: 0, len: 1 });
                self.code.push(ChainInstr::Own(ChainProduct { dst, a, w, strides: [ks, ns, k, n] }.into()));
            }
            self.map.insert(id, Loc::Row(dst));
            return Ok(());
        }
        let apart = self.depth == 0 && !self.domain.merged;
        if ta && !tb && apart && sa[..p] == self.domain.lead[..] && sb[..p] == self.domain.lead[..] {
            let (k, n) = (sa[p], sb[p]);
            let a = self.operand(values, node.src[0])?;
            let b = self.operand(values, node.src[1])?;
            let a = self.run_of(a, k);
            let b = self.run_of(b, n);
            let terminal = self.terminals.len();
            self.count(k * n);
            self.code.push(ChainInstr::RowOuter { terminal, a: (a.0, a.1, k), b: (b.0, b.1, n) });
            self.terminals.push((id, k * n));
            self.map.insert(id, Loc::Terminal);
            return Ok(());
        }
        Err(Unfit)
    }

    /// A matrix per group in memory: its first element, the distance of groups and those of its two axes.
    fn matrix(&mut self, values: &mut dyn Values, id: NodeId) -> Fit<((ValueId, usize), usize, [usize; 2])> {
        let at = self.access_of(values, id)?;
        if self.map.contains_key(&at.root) || self.stacked.contains_key(&at.root) {
            return Err(Unfit);
        }
        let shape = &self.scope.graph.nodes[id as usize].shape;
        let value = values.external(at.root).ok_or(Unfit)?;
        let rank = shape.len();
        let group = if rank == 3 && shape[0] > 1 { at.strides[0] } else { 0 };
        Ok(((value, at.offset), group, [at.strides[rank - 2], at.strides[rank - 1]]))
    }

    /// Rows of a table in memory, chosen by an index per row.
    pub(super) fn gather(&mut self, values: &mut dyn Values, src: &[NodeId], m: usize) -> Fit<Reg> {
        let p = self.domain.lead.len();
        let graph = self.scope.graph;
        let shape = |i: usize| &graph.nodes[src[i] as usize].shape;
        let (table_shape, index_shape) = (shape(0), shape(1));
        // The index has one entry per row: its last axis is that of the rows.
        if self.domain.flat || *index_shape != self.domain.lead {
            return Err(Unfit);
        }
        let at = self.access_of(values, src[0])?;
        if self.map.contains_key(&at.root) || self.stacked.contains_key(&at.root) {
            return Err(Unfit);
        }
        let index = self.operand(values, src[1])?;
        let value = values.external(at.root).ok_or(Unfit)?;
        let group = if p == 2 && table_shape[0] > 1 { at.strides[0] } else { 0 };
        if !Table::fits(&table_shape[p..], &at.strides[p..], 0) {
            return Err(Unfit);
        }
        let inner = Table::new(&table_shape[p..], &at.strides[p..], 0);
        let row = at.strides[p - 1];
        if self.domain.merged && group != 0 {
            return Err(Unfit);
        }
        let (offset, time) = (at.offset, vec![0; self.depth]);
        let table = Mem { value, offset, group, row, per: 0, time, table: inner };
        let dst = self.reg(m);
        self.count(4 * m);
        self.code.push(ChainInstr::Gather { dst, table, n: table_shape[p - 1], index });
        Ok(dst)
    }
}
