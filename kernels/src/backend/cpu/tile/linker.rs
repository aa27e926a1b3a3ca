//! Puts the work of a tile's elementwise instructions together as the jobs of chains.

use std::ops::Range;

use super::super::simd::chain::{Chain, Job, RowNumber, RowWalk, Src, Work};
use super::super::simd::elementwise::BinaryOp;
use super::super::simd::reduce::Reduction;
use super::linked::{ChainValue, DenseLayer, Linked, RegisterPlaces, TilePart, WIDE, inside, last};
use super::{Dense, Instr, Major, Mem, Opnd, Reg, Table};

/// Jobs that one instruction may become; more are not worth it.
const MOST: usize = 64;

/// Results of a reduction that becomes jobs.
const MOST_REDUCED: usize = 4;

/// The jobs of the next chain, and what they read and write outside of the registers.
pub(super) struct Linker<'a> {
    registers: &'a [(usize, usize)],
    majors: &'a [Major],
    lanes: usize,
    /// Registers that hold one part of a product's blocks, and the first of those.
    inner: (&'a [Reg], usize),
    /// How often each register is named in the tile, and in the chain.
    uses: &'a [usize],
    here: Vec<usize>,
    values: &'a mut Vec<ChainValue>,
    jobs: Vec<Job>,
    /// Jobs that read or write rows which may take the place of a register.
    columns: Vec<(usize, Reg)>,
    moving: Vec<(usize, Mem, usize)>,
    streams: Vec<Mem>,
}

impl<'a> Linker<'a> {
    /// No jobs yet.
    pub(super) fn new(places: RegisterPlaces<'a>, uses: &'a [usize], values: &'a mut Vec<ChainValue>) -> Linker<'a> {
        let RegisterPlaces { registers, majors, lanes } = places;
        Linker {
            registers,
            majors,
            lanes,
            inner: (&[], 0),
            uses,
            here: vec![0; registers.len()],
            values,
            jobs: Vec::new(),
            columns: Vec::new(),
            moving: Vec::new(),
            streams: Vec::new(),
        }
    }

    /// The values of all chains.
    pub(super) fn values(&mut self) -> &mut Vec<ChainValue> {
        self.values
    }

    /// Makes a chain of the jobs, if there are any.
    pub(super) fn flush(&mut self, parts: &mut Vec<TilePart>) {
        if !self.jobs.is_empty() {
            parts.push(TilePart::Chain(self.linked()));
        }
    }

    /// Makes a chain of the work that has been added.
    fn linked(&mut self) -> Linked {
        for (job, reg) in self.columns.drain(..) {
            if let Work::Read(column) | Work::Write(column) = &mut self.jobs[job].work {
                column.direct = self.uses[reg] == self.here[reg];
            }
        }
        self.here.fill(0);
        let chain = Chain::new(&std::mem::take(&mut self.jobs));
        Linked { chain, moving: std::mem::take(&mut self.moving), streams: std::mem::take(&mut self.streams) }
    }

    /// Makes a layer of a product and the elementwise work that follows it.
    pub(super) fn layer(&mut self, product: &'a Dense, packed: Option<(usize, usize)>) -> DenseLayer {
        let n = product.strides[3];
        let mut ends = Vec::new();
        for start in (0..n).step_by(product.part) {
            self.inner = (&product.inner, start);
            for instr in &product.after {
                self.elementwise(instr, start..n.min(start + product.part));
            }
            ends.push(self.jobs.len());
        }
        self.inner = (&[], 0);
        let inside = inside(product);
        DenseLayer { inside, linked: self.linked(), ends, packed, last: last(product), product: product.clone() }
    }

    /// Add these blocks of an elementwise instruction.
    #[inline(never)]
    fn elementwise(&mut self, instr: &Instr, blocks: Range<usize>) {
        if let Some((work, dst, src)) = instr.elementwise() {
            let to: Vec<u32> = blocks.map(|block| block as u32).collect();
            self.jobs(work, [dst; 2], &src, to[0] as usize, &to);
        }
    }

    /// Adds an instruction, if a chain can do it.
    pub(super) fn add(&mut self, instr: &Instr) -> Option<()> {
        self.jobs_of(instr)?;
        instr.registers(&mut |reg, _| self.here[reg] += 1);
        Some(())
    }

    fn jobs_of(&mut self, instr: &Instr) -> Option<()> {
        if let Some((work, dst, src)) = instr.elementwise() {
            return match self.majors[dst] {
                Major::Rows => self.rows(work, [dst; 2], &src),
                Major::Lanes => self.each(work, [dst; 2], &src),
            };
        }
        match instr {
            Instr::Threefry { dst, src: [a, b, c, d] } if self.majors[dst[0]] == Major::Rows => {
                self.rows(Work::Threefry, *dst, &[a, b, c, d])
            }
            Instr::Assemble { dst, parts, .. } if self.majors[*dst] == Major::Rows => {
                if let [(whole, to)] = &parts[..]
                    && to.len() == self.registers[*dst].1
                {
                    return self.rows(Work::Copy, [*dst; 2], &[whole]);
                }
                for (part, to) in parts {
                    self.apart(Work::Copy, [*dst; 2], &[part], to[0] as usize, to.len());
                }
                Some(())
            }
            Instr::Sum { dst, src, sizes: [_, n, _] } if self.majors[*src] == Major::Rows => {
                let (dst, src) = (self.place(*dst, 0), Src::At(self.place(*src, 0)));
                self.lanes_job(Work::Sums(*n as u32), dst, src);
                Some(())
            }
            Instr::Sum { dst, src, sizes } => self.reduction(Reduction::Sum, [*dst, *src], *sizes),
            Instr::Max { dst, src, sizes, unsigned: false } => self.reduction(Reduction::Max, [*dst, *src], *sizes),
            Instr::Threefry { dst, src: [a, b, c, d] } => self.each(Work::Threefry, *dst, &[a, b, c, d]),
            Instr::Assemble { dst, parts, zero } => {
                if parts.iter().any(|(o, to)| !self.fits(to.len(), &[o])) {
                    return None;
                }
                if *zero {
                    let all = Opnd::Const(0);
                    let to: Vec<u32> = (0..self.registers[*dst].1 as u32).collect();
                    self.jobs(Work::Copy, [*dst; 2], &[&all], 0, &to);
                }
                for (o, to) in parts {
                    self.jobs(Work::Copy, [*dst; 2], &[o], 0, to);
                }
                Some(())
            }
            Instr::Load { dst, src } if src.per == 0 && self.narrow(src) => {
                for m in 0..src.table.len() {
                    let column = self.column(src, m, *dst);
                    self.jobs(Work::Read(column), [*dst; 2], &[], m, &[m as u32]);
                }
                Some(())
            }
            Instr::Store { src, dst } if self.narrow(dst) => {
                for m in 0..dst.table.len() {
                    let reg = if let Opnd::Reg(reg, _) = src { *reg } else { usize::MAX };
                    let column = self.column(dst, m, reg);
                    let from = self.src(src, m);
                    self.lanes_job(Work::Write(column), 0, from);
                }
                Some(())
            }
            _ => None,
        }
    }

    /// Adds a reduction over so few numbers that they need no second accumulator, in the order of
    /// [`super::super::simd::reduce`]: the first, the third and the second.
    fn reduction(&mut self, op: Reduction, [dst, src]: [Reg; 2], [outer, n, inner]: [usize; 3]) -> Option<()> {
        if !(1..=3).contains(&n) || outer * inner > MOST_REDUCED || self.majors[src] == Major::Rows {
            return None;
        }
        let work = Work::Binary(if op == Reduction::Sum { BinaryOp::Add } else { BinaryOp::Max });
        let start = self.value(ChainValue::Const(op.start().to_bits())) as u32;
        for (o, i) in (0..outer).flat_map(|o| (0..inner).map(move |i| (o, i))) {
            let to = self.place(dst, o * inner + i);
            let mut so_far = Src::Value(start);
            for k in [0, 2, 1].into_iter().filter(|k| *k < n) {
                let next = Src::At(self.place(src, (o * n + k) * inner + i));
                let src = [so_far, next, next, next];
                self.jobs.push(Job { work, dst: [to; 2], src, len: self.lanes as u32, rows: RowWalk::Lanes });
                so_far = Src::At(to);
            }
        }
        Some(())
    }

    /// Adds a job on one block.
    fn lanes_job(&mut self, work: Work, dst: u32, src: Src) {
        let len = self.lanes as u32;
        self.jobs.push(Job { work, dst: [dst; 2], src: [src; 4], len, rows: RowWalk::Lanes });
    }

    /// Adds work on row-major values: on all rows at once, or row by row where an operand differs along a row and is
    /// the same for all rows, has one number for a row, or is a part of a register.
    fn rows(&mut self, work: Work, dst: [Reg; 2], src: &[&Opnd]) -> Option<()> {
        let m = self.registers[dst[0]].1;
        let whole = |o: &&Opnd| match o {
            Opnd::Uniform(mem) => matches!(mem.table, Table::Repeat { .. }),
            Opnd::Reg(reg, table) => self.registers[*reg].1 == m && matches!(table, Table::Dense { .. }),
            Opnd::Const(_) => true,
        };
        if !src.iter().all(whole) {
            let chained = matches!(work, Work::Copy | Work::Threefry | Work::Binary(BinaryOp::Add | BinaryOp::Mul));
            return chained.then(|| self.apart(work, dst, src, 0, m));
        }
        let mut all = [Src::Value(0); 4];
        for (slot, o) in all.iter_mut().zip(src) {
            *slot = self.src(o, 0);
        }
        let (dst, len) = (dst.map(|reg| self.place(reg, 0)), (m * self.lanes) as u32);
        self.jobs.push(Job { work, dst, src: all, len, rows: RowWalk::Whole(m as u32) });
        Some(())
    }

    /// Adds work on each row by itself, for `m` numbers of the result from `first` on.
    fn apart(&mut self, work: Work, dst: [Reg; 2], src: &[&Opnd], first: usize, m: usize) {
        let mut all = [Src::Value(0); 4];
        for (slot, o) in all.iter_mut().zip(src) {
            *slot = match o {
                Opnd::Reg(reg, Table::Repeat { at, .. }) => Src::Number(self.place(*reg, *at)),
                Opnd::Reg(reg, table) => {
                    let (start, numbers) = self.registers[*reg];
                    Src::Row((start * self.lanes + table.at(0)) as u32, numbers as u32)
                }
                Opnd::Uniform(mem) if !matches!(mem.table, Table::Repeat { .. }) => {
                    Src::Along(self.column(mem, 0, usize::MAX))
                }
                _ => self.src(o, 0),
            };
        }
        let distance = self.registers[dst[0]].1 as u32;
        let dst = dst.map(|reg| self.place(reg, 0) + first as u32);
        self.jobs.push(Job { work, dst, src: all, len: m as u32, rows: RowWalk::Apart(distance, self.lanes as u32) });
    }

    /// Tells whether rows are read or written number by number.
    fn narrow(&self, mem: &Mem) -> bool {
        mem.table.len() < WIDE && mem.table.max() <= u32::MAX as usize
    }

    /// Number `m` of each row, which the next job reads to a register or writes from it.
    fn column(&mut self, mem: &Mem, m: usize, reg: Reg) -> RowNumber {
        let known = self.streams.iter().position(|known| known == mem);
        let stream = known.unwrap_or_else(|| {
            self.streams.push(mem.clone());
            self.streams.len() - 1
        });
        if mem.row == 1 && mem.table.len() == 1 && self.registers.get(reg).is_some_and(|(_, blocks)| *blocks == 1) {
            self.columns.push((self.jobs.len(), reg));
        }
        RowNumber { stream: stream as u32, at: mem.table.at(m) as u32, direct: false }
    }

    fn each(&mut self, work: Work, dst: [Reg; 2], src: &[&Opnd]) -> Option<()> {
        let m = self.registers[dst[0]].1;
        if !self.fits(m, src) {
            return None;
        }
        let to: Vec<u32> = (0..m as u32).collect();
        self.jobs(work, dst, src, 0, &to);
        Some(())
    }

    /// Tells whether an instruction of `m` blocks becomes few enough jobs.
    fn fits(&self, m: usize, src: &[&Opnd]) -> bool {
        let plain = |o: &&Opnd| match o {
            Opnd::Reg(_, table) => matches!(table, Table::Dense { .. }),
            Opnd::Uniform(mem) => matches!(mem.table, Table::Repeat { .. }),
            Opnd::Const(_) => true,
        };
        m <= MOST || src.iter().all(plain)
    }

    /// As few jobs as blocks that are next to each other allow. Block first + i of the operands goes to block `to[i]`.
    fn jobs(&mut self, work: Work, dst: [Reg; 2], src: &[&Opnd], first: usize, to: &[u32]) {
        let lanes = self.lanes;
        let mut open: Option<(usize, Job)> = None;
        for (i, block) in to.iter().enumerate() {
            let mut all = [Src::Value(0); 4];
            for (slot, o) in all.iter_mut().zip(src) {
                *slot = self.src(o, first + i);
            }
            let dst = dst.map(|reg| self.place(reg, *block as usize));
            if let Some((blocks, job)) = &mut open {
                let step = (*blocks * lanes) as u32;
                let next = |old: Src, new: Src| match (old, new) {
                    (Src::At(old), Src::At(new)) => new == old + step,
                    (old, new) => old == new,
                };
                let follows = job.src.iter().zip(&all).take(src.len()).all(|(old, new)| next(*old, *new));
                if follows && dst[0] == job.dst[0] + step {
                    *blocks += 1;
                    job.len += lanes as u32;
                    continue;
                }
            }
            let job = Job { work, dst, src: all, len: lanes as u32, rows: RowWalk::Lanes };
            if let Some((_, done)) = open.replace((1, job)) {
                self.jobs.push(done);
            }
        }
        self.jobs.extend(open.map(|(_, job)| job));
    }

    /// Where a block of a register is in the scratch.
    fn place(&self, reg: Reg, block: usize) -> u32 {
        let (inner, start) = self.inner;
        let block = if inner.contains(&reg) { block - start } else { block };
        ((self.registers[reg].0 + block) * self.lanes) as u32
    }

    /// Block `i` of an operand.
    fn src(&mut self, o: &Opnd, i: usize) -> Src {
        match o {
            Opnd::Reg(reg, table) => Src::At(self.place(*reg, table.at(i))),
            Opnd::Const(bits) => Src::Value(self.value(ChainValue::Const(*bits)) as u32),
            Opnd::Uniform(mem) => {
                let at = mem.table.at(i);
                let slot = self.value(ChainValue::Uniform(mem.clone(), at));
                if mem.time.iter().any(|distance| *distance > 0) && self.moving.iter().all(|known| known.0 != slot) {
                    self.moving.push((slot, mem.clone(), at));
                }
                Src::Value(slot as u32)
            }
        }
    }

    /// The number of a value.
    fn value(&mut self, value: ChainValue) -> usize {
        self.values.iter().position(|known| *known == value).unwrap_or_else(|| {
            self.values.push(value);
            self.values.len() - 1
        })
    }
}
