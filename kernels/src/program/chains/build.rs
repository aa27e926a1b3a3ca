//! From nodes to instructions.

use rustc_hash::FxHashMap;

use super::domain::{Domain, Lead};
use super::instr::{ChainInstr, ChainProduct, Mem, Opnd, Reg};
use super::scope::Scope;
use super::table::Table;
use super::values::{ValueId, Values};
use crate::program::constant;
use crate::program::layout::{Access, access};
use crate::tensor::{NodeId, Op};

/// Where a node of the group is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loc {
    /// Varies with the row; dense inner blocks.
    Row(Reg),
    /// Computed inside of a loop, the same for all rows, or for all rows of a group.
    Uniform {
        /// The register: all rows have equal numbers, or those of one group where several are taken together.
        reg: Reg,
        /// The leading axis is that of the groups, of which a row has its own.
        grouped: bool,
    },
    /// A sum over rows: not to be read in this group.
    Terminal,
}

/// A stacked input or output of a loop being built.
#[derive(Clone, Debug)]
pub struct Stacked {
    /// View of the whole in memory: value, offset, strides with the step's first.
    pub value: ValueId,
    /// Position of the first element.
    pub offset: usize,
    /// Distances, the step's first.
    pub strides: Vec<usize>,
}

/// Builds the instructions of a group.
#[derive(Debug)]
pub struct Builder<'a, O> {
    /// The scope whose nodes are added.
    pub scope: Scope<'a>,
    /// The rows.
    pub domain: Domain,
    /// Blocks of each register.
    pub sizes: Vec<usize>,
    /// Instructions so far, of the innermost open loop.
    pub code: Vec<ChainInstr<O>>,
    /// Where nodes are.
    pub map: FxHashMap<NodeId, Loc>,
    /// Rows of memory that were loaded already, in this or an outer loop.
    pub loads: Vec<(Mem, Reg)>,
    /// Parameters of open loops that are read from memory.
    pub stacked: FxHashMap<NodeId, (Stacked, usize)>,
    /// Stacked outputs of loops that are in an open one: the value of the outermost loop that they are rows of, and the
    /// distances of the open loops' steps in it.
    pub nested: Vec<(NodeId, ValueId, Vec<usize>)>,
    /// Open loops.
    pub depth: usize,
    /// The deepest nesting.
    pub deepest: usize,
    /// Sums over rows, and the elements of each per group.
    pub terminals: Vec<(NodeId, usize)>,
    /// Stacked outputs: nodes that will be in memory once the group has run.
    pub pending: Vec<(NodeId, ValueId)>,
    /// Rough number of operations per row.
    pub work: usize,
    /// Operations are this often repeated by the open loops.
    pub times: usize,
}

/// State to go back to when a kernel does not fit.
#[derive(Debug)]
pub struct Mark {
    sizes: usize,
    code: usize,
    loads: usize,
    terminals: usize,
    pending: usize,
    work: usize,
    deepest: usize,
}

/// A node that is not row-local in this domain.
#[derive(Debug)]
pub struct Unfit;

/// The result of adding a node: it fits, or is [`Unfit`].
pub type Fit<T> = Result<T, Unfit>;

impl<'a, O: From<ChainProduct>> Builder<'a, O> {
    /// An empty group.
    pub fn new(scope: Scope<'a>, domain: Domain) -> Self {
        Builder {
            scope,
            domain,
            sizes: Vec::new(),
            code: Vec::new(),
            map: FxHashMap::default(),
            loads: Vec::new(),
            stacked: FxHashMap::default(),
            nested: Vec::new(),
            depth: 0,
            deepest: 0,
            terminals: Vec::new(),
            pending: Vec::new(),
            work: 0,
            times: 1,
        }
    }

    /// The state now.
    pub fn mark(&self) -> Mark {
        Mark {
            sizes: self.sizes.len(),
            code: self.code.len(),
            loads: self.loads.len(),
            terminals: self.terminals.len(),
            pending: self.pending.len(),
            work: self.work,
            deepest: self.deepest,
        }
    }

    /// Forget what came after `mark`; `nodes` are those that were tried.
    #[inline(never)]
    pub fn rollback(&mut self, values: &mut dyn Values, mark: Mark, nodes: &[NodeId]) {
        let registers = self.sizes.len() > mark.sizes;
        self.sizes.truncate(mark.sizes);
        self.code.truncate(mark.code);
        self.loads.truncate(mark.loads);
        self.terminals.truncate(mark.terminals);
        (self.work, self.deepest) = (mark.work, mark.deepest);
        for (_, value) in self.pending.drain(mark.pending..) {
            values.release(value);
        }
        for n in nodes {
            self.map.remove(n);
        }
        if !registers {
            return; // Most kernels that do not fit have come to nothing yet.
        }
        let sizes = self.sizes.len();
        self.map.retain(|_, loc| match loc {
            Loc::Row(reg) | Loc::Uniform { reg, .. } => *reg < sizes,
            Loc::Terminal => true,
        });
    }

    /// A new register of `m` blocks.
    pub fn reg(&mut self, m: usize) -> Reg {
        self.sizes.push(m);
        self.sizes.len() - 1
    }

    /// Counts operations, which open loops repeat.
    pub fn count(&mut self, operations: usize) {
        self.work = self.work.saturating_add(operations.saturating_mul(self.times));
    }

    /// Memory for a stacked output.
    pub fn pend(&mut self, values: &mut dyn Values, id: NodeId) -> ValueId {
        let value = values.reserve(self.scope.graph.nodes[id as usize].len());
        self.pending.push((id, value));
        value
    }

    /// Most inner elements of a node that stays on the chip.
    pub fn widest(&self) -> usize {
        self.limit(self.scope.budget.widest)
    }

    /// A limit on inner elements. Few rows fill few lanes, and long ones no cache: another domain suits a longer node
    /// better. Where rows are the stacked seeds, there mostly is one, of the rows of each seed.
    fn limit(&self, most: usize) -> usize {
        match self.domain.rows() {
            16.. if !self.domain.merged => most,
            _ if self.domain.lead.len() < 2 => most.min(16),
            _ => most.min(256),
        }
    }

    /// Add one node.
    #[inline(never)]
    pub fn node(&mut self, values: &mut dyn Values, id: NodeId) -> Fit<()> {
        let graph = self.scope.graph;
        let node = &graph.nodes[id as usize];
        let (lead, m) = self.shape_of(&node.shape).ok_or(Unfit)?;
        let is_sum = lead != Lead::Rows && self.depth == 0;
        if m > if is_sum { self.limit(self.scope.budget.largest_sum) } else { self.widest() } {
            return Err(Unfit);
        }
        match &node.op {
            Op::Sum { axis } | Op::ReduceMax { axis } => return self.reduce(values, id, *axis),
            Op::MatMul { ta, tb } => return self.matmul(values, id, *ta, *tb),
            Op::Scan(_) | Op::Call(_) | Op::Store => return Err(Unfit),
            _ => {}
        }
        if is_sum {
            return Err(Unfit);
        }
        self.count(m);
        let operands: Vec<Opnd> = match node.op {
            Op::Gather => Vec::new(),
            _ => node.src.iter().map(|s| self.operand(values, *s)).collect::<Fit<_>>()?,
        };
        let dtype = node.src.first().map_or(node.dtype, |s| graph.nodes[*s as usize].dtype);
        if let Op::Threefry { word } = node.op {
            let reg = self.threefry(&operands, m, word);
            self.place(id, reg, lead);
            return Ok(());
        }
        let mut op = operands.into_iter();
        let mut next = || op.next().ok_or(Unfit);
        let dst = match &node.op {
            // The same bits under another type: no work, but the operand may be strided.
            Op::Unary(u) if u.keeps_bits(dtype) => {
                let a = next()?;
                self.dense(a, m)
            }
            Op::Unary(op) => {
                let a = next()?;
                let dst = self.reg(m);
                self.code.push(ChainInstr::Unary { op: *op, dtype, dst, a });
                dst
            }
            Op::Binary(op) => {
                let (a, b) = (next()?, next()?);
                let dst = self.reg(m);
                self.code.push(ChainInstr::Binary { op: *op, dtype, dst, a, b });
                dst
            }
            Op::Select => {
                let (c, a, b) = (next()?, next()?, next()?);
                let dst = self.reg(m);
                self.code.push(ChainInstr::Select { dst, c, a, b });
                dst
            }
            Op::Permutation { n } => {
                let src = [next()?, next()?, next()?];
                let dst = self.reg(m);
                self.count(40 * m);
                self.code.push(ChainInstr::Permutation { dst, src, n: *n });
                dst
            }
            Op::Pad { axis, lo, .. } => {
                let own = &graph.nodes[node.src[0] as usize].shape;
                let to = self.blocks(own, &node.shape, *axis, *lo).ok_or(Unfit)?;
                let a = next()?;
                let dst = self.reg(m);
                self.code.push(ChainInstr::Assemble { dst, parts: vec![(a, to)], zero: true });
                dst
            }
            Op::Concat { axis } => {
                let mut parts = Vec::new();
                let mut lo = 0;
                for s in &node.src {
                    let own = graph.nodes[*s as usize].shape.clone();
                    let to = self.blocks(&own, &node.shape, *axis, lo).ok_or(Unfit)?;
                    parts.push((next()?, to));
                    lo += own[*axis];
                }
                let dst = self.reg(m);
                self.code.push(ChainInstr::Assemble { dst, parts, zero: false });
                dst
            }
            Op::Gather => self.gather(values, &node.src, m)?,
            _ => return Err(Unfit),
        };
        self.place(id, dst, lead);
        Ok(())
    }

    fn place(&mut self, id: NodeId, reg: Reg, lead: Lead) {
        let loc = match lead {
            Lead::Rows => Loc::Row(reg),
            Lead::Group => Loc::Uniform { reg, grouped: true },
            Lead::None => Loc::Uniform { reg, grouped: false },
        };
        self.map.insert(id, loc);
    }

    /// How a shape lies in the domain, and its number of inner elements.
    pub fn shape_of(&self, shape: &[usize]) -> Option<(Lead, usize)> {
        if let Some(inner) = self.domain.inner(shape) {
            if self.domain.flat && !inner.is_empty() {
                return None;
            }
            return Some((Lead::Rows, inner.iter().product()));
        }
        if self.domain.flat {
            return None;
        }
        let len: usize = shape.iter().product();
        // One row's worth per group, or the same for all groups.
        if self.domain.lead.len() == 2 && shape.first() == Some(&self.domain.lead[0]) {
            return Some((Lead::Group, len / self.domain.lead[0]));
        }
        Some((Lead::None, len))
    }

    /// Blocks of a concatenated or padded result that one operand's blocks go to.
    fn blocks(&self, own: &[usize], whole: &[usize], axis: usize, lo: usize) -> Option<Box<[u32]>> {
        let p = self.domain.lead.len();
        if self.domain.flat || axis < p {
            return None;
        }
        self.domain.inner(own)?;
        let inner: usize = whole[axis + 1..].iter().product();
        let (from, to) = (own[axis] * inner, whole[axis] * inner);
        let len: usize = own[p..].iter().product();
        Some((0..len).map(|i| (i / from * to + lo * inner + i % from) as u32).collect())
    }

    /// An operand of an elementwise instruction.
    #[inline(never)]
    pub fn operand(&mut self, values: &mut dyn Values, id: NodeId) -> Fit<Opnd> {
        let graph = self.scope.graph;
        if let Some(c) = constant(graph, id) {
            return Ok(Opnd::Const(c));
        }
        let shape = &graph.nodes[id as usize].shape;
        let (lead, _) = self.shape_of(shape).ok_or(Unfit)?;
        let at = self.access_of(values, id)?;
        let (group, row, inner_shape, inner_strides) = self.split(shape, &at.strides, lead)?;
        if !Table::fits(&inner_shape, &inner_strides, at.offset) {
            return Err(Unfit);
        }
        let table = |offset: usize| Table::new(&inner_shape, &inner_strides, offset);
        if let Some(loc) = self.map.get(&at.root).copied() {
            let root = &graph.nodes[at.root as usize];
            return match loc {
                Loc::Terminal => Err(Unfit),
                Loc::Row(reg) => {
                    let m = self.sizes[reg];
                    let same_row = (row == m || self.domain.rows() == 1) && lead == Lead::Rows;
                    let same_group = group == m * self.domain.rows() || self.domain.groups() == 1;
                    let table = table(at.offset);
                    if same_row && same_group && table.max() < m { Ok(Opnd::Reg(reg, table)) } else { Err(Unfit) }
                }
                Loc::Uniform { reg, grouped } => {
                    let size = root.shape.iter().product::<usize>() / if grouped { self.domain.groups() } else { 1 };
                    let group_fits = if grouped { group == size || self.domain.groups() == 1 } else { group == 0 };
                    let table = table(at.offset);
                    if row == 0 && group_fits && table.max() < self.sizes[reg] {
                        Ok(Opnd::Reg(reg, table))
                    } else {
                        Err(Unfit)
                    }
                }
            };
        }
        let mut time = vec![0; self.depth];
        let (value, offset) = if let Some((stacked, depth)) = self.stacked.get(&at.root) {
            // A row of a stacked input: the strides are those of its whole in memory.
            time[depth - 1] = stacked.strides[0];
            (stacked.value, stacked.offset + at.offset)
        } else {
            (values.external(at.root).ok_or(Unfit)?, at.offset)
        };
        let mem = self.mem((value, offset), [group, row], time, table(0));
        if mem.row == 0 && mem.per == 0 && mem.time.iter().all(|t| *t == 0) {
            return Ok(Opnd::Uniform(mem));
        }
        let reg = self.load(mem);
        let m = self.sizes[reg];
        Ok(Opnd::Reg(reg, Table::Dense { start: 0, len: m }))
    }

    /// Access to a node through its views, where those of parameters are those of their whole in memory.
    #[inline(never)]
    pub fn access_of(&self, values: &mut dyn Values, id: NodeId) -> Fit<Access> {
        loop {
            let known = |n: NodeId| {
                if self.map.contains_key(&n) {
                    return Some(Access::whole(n, &self.scope.graph.nodes[n as usize].shape));
                }
                if let Some((stacked, _)) = self.stacked.get(&n) {
                    return Some(Access { root: n, offset: 0, strides: stacked.strides[1..].to_vec() });
                }
                values.known(n)
            };
            match access(self.scope.graph, id, &known) {
                Ok(a) => return Ok(a),
                Err(_) if self.depth > 0 => return Err(Unfit),
                // Only values in memory can be copied into another layout.
                Err(src) => {
                    let inner = self.access_of(values, src)?;
                    if self.map.contains_key(&inner.root) {
                        return Err(Unfit);
                    }
                    values.copy(src).map_err(|_| Unfit)?;
                }
            }
        }
    }

    /// Distances of groups and rows, and the inner axes, of an operand.
    #[inline(never)]
    fn split(&self, shape: &[usize], strides: &[usize], lead: Lead) -> Fit<(usize, usize, Vec<usize>, Vec<usize>)> {
        let at = |n: usize| (shape[n..].to_vec(), strides[n..].to_vec());
        match lead {
            Lead::Rows if self.domain.flat => {
                // All elements in order, or all the same.
                let a = Access { root: 0, offset: 0, strides: strides.to_vec() };
                let repeated = shape.iter().zip(strides).all(|(n, s)| *n == 1 || *s == 0);
                let row = if a.is_contiguous(shape) && !repeated { 1 } else { 0 };
                if row == 0 && !repeated {
                    return Err(Unfit);
                }
                Ok((0, row, Vec::new(), Vec::new()))
            }
            Lead::Rows => {
                let p = self.domain.lead.len();
                let (inner, s) = at(p);
                let group = if p == 2 && shape[0] > 1 { strides[0] } else { 0 };
                Ok((group, if shape[p - 1] > 1 { strides[p - 1] } else { 0 }, inner, s))
            }
            Lead::Group => {
                let (inner, s) = at(1);
                Ok((if shape[0] > 1 { strides[0] } else { 0 }, 0, inner, s))
            }
            Lead::None => {
                let (inner, s) = at(0);
                Ok((0, 0, inner, s))
            }
        }
    }

    /// A place in memory, from the distances of groups and of the rows of one.
    pub(super) fn mem(&self, at: (ValueId, usize), [group, row]: [usize; 2], time: Vec<usize>, table: Table) -> Mem {
        let (value, offset) = at;
        let [group, row, per] = match self.domain.rows() {
            _ if !self.domain.merged => [group, row, 0],
            1 => [0, group, 0],
            rows if group == rows * row => [0, row, 0],
            rows => [group, row, rows],
        };
        Mem { value, offset, group, row, per, time, table }
    }

    pub(super) fn load(&mut self, mem: Mem) -> Reg {
        if let Some((_, reg)) = self.loads.iter().find(|(m, _)| *m == mem) {
            return *reg;
        }
        let reg = self.reg(mem.table.len());
        self.code.push(ChainInstr::Load { dst: reg, src: mem.clone() });
        self.loads.push((mem, reg));
        reg
    }

    /// A register that holds an operand's blocks one after the other.
    pub fn dense(&mut self, a: Opnd, m: usize) -> Reg {
        if let Opnd::Reg(reg, Table::Dense { start: 0, len }) = &a
            && self.sizes[*reg] == *len
        {
            return *reg;
        }
        let dst = self.reg(m);
        self.code.push(ChainInstr::Assemble { dst, parts: vec![(a, (0..m as u32).collect())], zero: false });
        dst
    }

    /// A register and the first of an operand's consecutive blocks in it.
    pub(super) fn run_of(&mut self, a: Opnd, m: usize) -> (Reg, usize) {
        match &a {
            Opnd::Reg(reg, Table::Dense { start, .. }) => (*reg, *start),
            _ => (self.dense(a, m), 0),
        }
    }

    pub(super) fn threefry(&mut self, operands: &[Opnd], m: usize, word: u8) -> Reg {
        for instr in self.code.iter().rev() {
            if let ChainInstr::Threefry { dst, src } = instr
                && src[..] == *operands
            {
                return dst[word as usize];
            }
        }
        let dst = [self.reg(m), self.reg(m)];
        self.count(100 * m);
        let src = [operands[0].clone(), operands[1].clone(), operands[2].clone(), operands[3].clone()];
        self.code.push(ChainInstr::Threefry { dst, src });
        dst[word as usize]
    }
}
