//! Loops and native calls inside of chains.

use rustc_hash::FxHashSet;

use super::build::{Builder, Fit, Loc, Stacked, Unfit};
use super::domain::Lead;
use super::instr::{ChainInstr, ChainLoop, ChainProduct, Opnd, Reg};
use super::table::Table;
use super::values::Values;
use crate::tensor::op::Scan;
use crate::tensor::{Graph, NodeId, Op};

/// Operands, or results, of a native call in a chain at most.
pub const MOST_OF_CALL: usize = 12;

impl<O: Clone + From<ChainProduct>> Builder<'_, O> {
    /// Add the nodes of a kernel.
    pub fn kernel(&mut self, values: &mut dyn Values, nodes: &[NodeId]) -> Fit<()> {
        for &id in nodes {
            if self.map.contains_key(&id) || values.is_kept(id) {
                continue;
            }
            let graph = self.scope.graph;
            match &graph.nodes[id as usize].op {
                Op::Out(_) => {}
                Op::Scan(scan) => self.scan(values, id, scan)?,
                Op::Call(_) => self.call(values, id)?,
                _ => self.node(values, id)?,
            }
        }
        Ok(())
    }

    #[inline(never)]
    fn scan(&mut self, values: &mut dyn Values, id: NodeId, scan: &Scan) -> Fit<()> {
        if self.domain.flat {
            return Err(Unfit);
        }
        let graph = self.scope.graph;
        let src = &graph.nodes[id as usize].src;
        let params = &scan.body.params;
        let mut carries = Vec::new();
        for i in 0..scan.carries {
            let shape = graph.nodes[params[1 + i] as usize].shape.clone();
            let (lead, m) = self.shape_of(&shape).ok_or(Unfit)?;
            let init = self.operand(values, src[i])?;
            let reg = self.reg(m);
            self.map.insert(params[1 + i], located(reg, lead));
            carries.push((reg, init));
        }
        let index = self.reg(1);
        self.map.insert(params[0], Loc::Uniform { reg: index, grouped: false });
        for i in 0..scan.xs {
            let at = self.access_of(values, src[scan.carries + i])?;
            if self.map.contains_key(&at.root) || self.stacked.contains_key(&at.root) {
                return Err(Unfit);
            }
            let value = values.external(at.root).ok_or(Unfit)?;
            let whole = Stacked { value, offset: at.offset, strides: at.strides };
            self.stacked.insert(params[1 + scan.carries + i], (whole, self.depth + 1));
        }
        let outer = std::mem::take(&mut self.code);
        let loads = self.loads.len();
        self.depth += 1;
        self.deepest = self.deepest.max(self.depth);
        let times = self.times;
        self.times = times.saturating_mul(scan.len);
        let inside = self.inside(values, id, scan, &carries);
        if inside.is_err() {
            self.nested.clear();
        }
        self.times = times;
        self.depth -= 1;
        // What was loaded inside is not there outside.
        self.loads.truncate(loads);
        let mut code = std::mem::replace(&mut self.code, outer);
        let next = inside?;
        if self.domain.merged {
            self.hoist(&mut code);
        }
        let carries: Vec<_> = carries.into_iter().zip(next).map(|((reg, init), next)| (reg, init, next)).collect();
        // With stacked outputs there are rows to write in all steps.
        let until = scan.until.filter(|_| scan.body.outs.len() == scan.carries).map(|u| carries[u].0);
        let (len, reverse) = (scan.len, scan.reverse);
        let body = ChainLoop { len, reverse, level: self.depth, index: Some(index), carries, until, code };
        self.code.push(ChainInstr::Loop(Box::new(body)));
        Ok(())
    }

    /// Moves loads of what no step of the loop changes before it. Where rows of several groups are taken together such
    /// loads are many: what would be the same for all rows of a group differs from row to row.
    fn hoist(&mut self, code: &mut Vec<ChainInstr<O>>) {
        code.retain_mut(|instr| match instr {
            ChainInstr::Load { src, .. } if src.time.get(self.depth).is_none_or(|distance| *distance == 0) => {
                src.time.truncate(self.depth);
                self.code.push(instr.clone());
                false
            }
            _ => true,
        });
    }

    /// The body of a loop; returns the new carries.
    #[inline(never)]
    fn inside(&mut self, values: &mut dyn Values, id: NodeId, scan: &Scan, carries: &[(Reg, Opnd)]) -> Fit<Vec<Opnd>> {
        let graph = self.scope.graph;
        let outs = graph.outs_of(id, scan.body.outs.len());
        let mut stores = Vec::new();
        for (out, inner) in outs.iter().zip(&scan.body.outs).skip(scan.carries) {
            let (value, mut time) = match self.nested.iter().position(|(node, ..)| node == out) {
                Some(i) => {
                    let (_, value, time) = self.nested.remove(i);
                    (value, time)
                }
                None => (self.pend(values, *out), vec![0; self.depth - 1]),
            };
            time.push(graph.nodes[*inner as usize].len());
            // A loop inside writes its steps to where they stay.
            match is_stacked(graph, *inner) {
                true => self.nested.push((*inner, value, time)),
                false => stores.push((*inner, value, time)),
            }
        }
        let others = self.nested.len() - (outs.len() - scan.carries - stores.len());
        for unit in self.scope.units.of(scan.body.scope) {
            self.kernel(values, &unit.nodes)?;
        }
        if self.nested.len() > others {
            return Err(Unfit); // No loop has written it.
        }
        for (inner, value, time) in stores {
            let shape = graph.nodes[inner as usize].shape.clone();
            let (lead, m) = self.shape_of(&shape).ok_or(Unfit)?;
            if lead != Lead::Rows {
                return Err(Unfit);
            }
            let src = self.operand(values, inner)?;
            let dst = self.mem((value, 0), [self.domain.rows() * m, m], time, Table::Dense { start: 0, len: m });
            self.code.push(ChainInstr::Store { src, dst });
        }
        let mut next = Vec::new();
        for (i, out) in scan.body.outs.iter().take(scan.carries).enumerate() {
            let mut value = self.operand(values, *out)?;
            // A new carry that reads another carry's register must not see it changed.
            let other =
                matches!(&value, Opnd::Reg(reg, _) if carries.iter().any(|c| c.0 == *reg) && *reg != carries[i].0);
            let in_order = |t: &Table| matches!(t, Table::Dense { start: 0, .. });
            let shuffled = matches!(&value, Opnd::Reg(reg, t) if *reg == carries[i].0 && !in_order(t));
            if other || shuffled {
                let m = self.sizes[carries[i].0];
                let dst = self.reg(m);
                let to = (0..m as u32).collect();
                self.code.push(ChainInstr::Assemble { dst, parts: vec![(value, to)], zero: false });
                value = Opnd::Reg(dst, Table::Dense { start: 0, len: m });
            }
            next.push(value);
        }
        for ((reg, _), out) in carries.iter().zip(&outs) {
            let lead = self.shape_of(&graph.nodes[*out as usize].shape).ok_or(Unfit)?.0;
            // Only what has a row of its own is written to memory at the end.
            if lead != Lead::Rows && values.used_outside(*out, &FxHashSet::default()) {
                return Err(Unfit);
            }
            self.map.insert(*out, located(*reg, lead));
        }
        Ok(next)
    }

    #[inline(never)]
    fn call(&mut self, values: &mut dyn Values, id: NodeId) -> Fit<()> {
        let graph = self.scope.graph;
        let node = &graph.nodes[id as usize];
        let Op::Call(call) = &node.op else { return Err(Unfit) };
        if self.domain.flat || node.src.len().max(call.body.outs.len()) > MOST_OF_CALL {
            return Err(Unfit);
        }
        let mut src = Vec::new();
        for s in &node.src {
            let shape = graph.nodes[*s as usize].shape.clone();
            if shape.len() != self.domain.lead.len() + 1 {
                return Err(Unfit);
            }
            let m = self.domain.inner(&shape).ok_or(Unfit)?.iter().product();
            let a = self.operand(values, *s)?;
            src.push(self.dense(a, m));
        }
        let mut dst = Vec::new();
        for out in graph.outs_of(id, call.body.outs.len()) {
            let m = graph.nodes[out as usize].shape.last().copied().unwrap_or(1);
            let reg = self.reg(m);
            self.map.insert(out, Loc::Row(reg));
            dst.push(reg);
        }
        self.count(200);
        self.code.push(ChainInstr::Call { native: call.native.clone(), src, dst });
        Ok(())
    }
}

/// Tells whether a node is a stacked output of a loop.
fn is_stacked(graph: &Graph, id: NodeId) -> bool {
    let node = &graph.nodes[id as usize];
    let Op::Out(k) = node.op else { return false };
    matches!(&graph.nodes[node.src[0] as usize].op, Op::Scan(scan) if k as usize >= scan.carries)
}

fn located(reg: Reg, lead: Lead) -> Loc {
    match lead {
        Lead::Rows => Loc::Row(reg),
        Lead::Group => Loc::Uniform { reg, grouped: true },
        Lead::None => Loc::Uniform { reg, grouped: false },
    }
}
