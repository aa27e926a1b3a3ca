//! Joins elementwise instructions to chains, which one kernel works off without returning in between.

use std::ops::Range;

use super::super::simd::chain::{Chain, Job, RowNumber, Src, Work};
use super::super::simd::dots::in_lanes;
use super::super::simd::elementwise::{BinaryOp, UnaryOp};
use super::{Dense, Instr, Major, Mem, Opnd, Reg, Table, TileLoop};

/// Jobs that one instruction may become; more are not worth it.
const MOST: usize = 64;

/// Numbers per row from which whole blocks of rows are turned at once, by instructions and not by chains.
pub(super) const WIDE: usize = 16;

/// A tile as it is run.
#[derive(Clone, Debug)]
pub struct LinkedTile {
    /// The parts.
    pub parts: Vec<TilePart>,
    /// Values of chains that are the same for all rows.
    pub values: Vec<ChainValue>,
    /// Number of places of turned weights.
    pub packs: usize,
}

/// A value of chains.
#[derive(Clone, Debug, PartialEq)]
pub enum ChainValue {
    /// A constant.
    Const(u32),
    /// The element of that position in memory.
    Uniform(Mem, usize),
}

/// A part of a tile as it is run: one instruction, or several joined.
#[derive(Clone, Debug)]
pub enum TilePart {
    /// Elementwise instructions.
    Chain(Linked),
    /// A product with what follows it.
    Layer(Box<DenseLayer>),
    /// Another instruction, no loop.
    Instr(Box<Instr>),
    /// A loop, whose inside is here. New carries are copied by the last of its parts.
    Loop(TileLoop, Vec<TilePart>),
}

/// A chain with what it reads and writes outside of the registers.
#[derive(Clone, Debug)]
pub struct Linked {
    /// The jobs.
    pub chain: Chain,
    /// Which of the tile's values change with the step of a loop, and where they are: they are fetched before each run.
    pub moving: Vec<(usize, Mem, usize)>,
    /// Rows of memory.
    pub streams: Vec<Mem>,
}

/// A product with the chain that follows each part of it.
#[derive(Clone, Debug)]
pub struct DenseLayer {
    /// The product.
    pub product: Dense,
    /// How the kernel itself does all that follows; else that is the work of chains.
    pub inside: Option<Inside>,
    /// The elementwise work that follows.
    pub linked: Linked,
    /// Where the jobs of each part end.
    pub ends: Vec<usize>,
    /// The number of the place where turned weights are kept while they are the same, and its first value; for
    /// row-major products whose weights are not next to each other.
    pub packed: Option<(usize, usize)>,
    /// The result of all, where the chain may work on the turned results of few rows as well: it reads nothing else of
    /// the rows.
    pub last: Option<Reg>,
}

/// Elementwise work that the kernel of a product does while results are in registers or the first cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inside {
    /// None.
    Linear,
    /// tanh in place.
    Tanh,
    /// tanh's derivative in place, by its values: a register from that block on.
    Slope(Reg, usize),
    /// ReLU into a register, which may be the product's own.
    Relu(Reg),
    /// ReLU's derivative into the first register, by what ReLU was applied to: the second from that block on.
    Gate(Reg, (Reg, usize)),
}

/// Where registers are in a tile's scratch.
#[derive(Clone, Copy, Debug)]
pub struct RegisterPlaces<'a> {
    /// First block and number of blocks of each.
    pub registers: &'a [(usize, usize)],
    /// How each lies.
    pub majors: &'a [Major],
    /// Rows of a tile.
    pub lanes: usize,
}

/// Join the instructions of a tile.
pub fn link(code: &[Instr], places: RegisterPlaces<'_>) -> LinkedTile {
    let mut uses = vec![0; places.registers.len()];
    code.iter().for_each(|instr| count(instr, &mut uses));
    let mut values = Vec::new();
    let mut packs = Packs::default();
    let parts = parts(places, code, &uses, &mut values, &mut packs);
    LinkedTile { parts, values, packs: packs.places }
}

/// Counts how often each register is named; a carry, which lives from step to step, once more.
fn count(instr: &Instr, uses: &mut [usize]) {
    instr.registers(&mut |reg, _| uses[reg] += 1);
    carries(instr, &mut |reg| uses[reg] += 1);
}

fn carries(instr: &Instr, f: &mut dyn FnMut(Reg)) {
    if let Instr::Loop(l) = instr {
        l.carries.iter().for_each(|(reg, ..)| f(*reg));
        l.code.iter().for_each(|instr| carries(instr, f));
    }
}

/// The places of turned weights so far, and their values.
#[derive(Default)]
struct Packs {
    places: usize,
    values: usize,
}

fn parts(
    places: RegisterPlaces<'_>,
    code: &[Instr],
    uses: &[usize],
    values: &mut Vec<ChainValue>,
    packs: &mut Packs,
) -> Vec<TilePart> {
    let RegisterPlaces { registers, majors, lanes } = places;
    let here = vec![0; registers.len()];
    let inner: (&[Reg], usize) = (&[], 0);
    let (jobs, columns) = (Vec::new(), Vec::new());
    let (moving, streams) = (Vec::new(), Vec::new());
    let mut linker = Linker { registers, majors, lanes, inner, uses, here, values, jobs, columns, moving, streams };
    let mut parts = Vec::new();
    for instr in code {
        if linker.add(instr).is_some() {
            instr.registers(&mut |reg, _| linker.here[reg] += 1);
            continue;
        }
        linker.flush(&mut parts);
        parts.push(match instr {
            Instr::Loop(l) => {
                let mut code = l.code.clone();
                for (reg, _, next) in &l.carries {
                    if !matches!(next, Opnd::Reg(r, _) if r == reg) {
                        let to = (0..registers[*reg].1 as u32).collect();
                        code.push(Instr::Assemble { dst: *reg, parts: vec![(next.clone(), to)], zero: false });
                    }
                }
                let inside = self::parts(places, &code, uses, linker.values, packs);
                let mut named = vec![0; registers.len()];
                code.iter().for_each(|instr| count(instr, &mut named));
                let index = l.index.filter(|index| named[*index] > 0);
                TilePart::Loop(TileLoop { code: Vec::new(), index, ..(**l).clone() }, inside)
            }
            Instr::Dense(product) => {
                let [ks, ns, k, n] = product.strides;
                let turns = match majors[product.dst] {
                    Major::Rows => ns != 1 && n > 1,
                    Major::Lanes => product.of_rows(majors) && ks != 1,
                };
                let place = turns.then_some((packs.places, packs.values));
                if turns {
                    *packs = Packs { places: packs.places + 1, values: packs.values + k * n };
                }
                TilePart::Layer(Box::new(linker.layer(product, place)))
            }
            other => TilePart::Instr(Box::new(other.clone())),
        });
    }
    linker.flush(&mut parts);
    parts
}

struct Linker<'a> {
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
    fn flush(&mut self, parts: &mut Vec<TilePart>) {
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

    fn layer(&mut self, product: &'a Dense, packed: Option<(usize, usize)>) -> DenseLayer {
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

    /// Add an instruction, if a chain can do it.
    fn add(&mut self, instr: &Instr) -> Option<()> {
        if let Some((work, dst, src)) = instr.elementwise() {
            // Of row-major values, what differs along a row is added row by row.
            let along = |o: &&Opnd| matches!(o, Opnd::Uniform(mem) if !matches!(mem.table, Table::Repeat { .. }));
            return match self.majors[dst] == Major::Rows && src.iter().any(along) {
                true => None,
                false => self.each(work, [dst; 2], &src),
            };
        }
        match instr {
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
                    let len = self.lanes as u32;
                    self.jobs.push(Job { work: Work::Write(column), dst: [0; 2], src: [from; 4], len });
                }
                Some(())
            }
            _ => None,
        }
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
            let job = Job { work, dst, src: all, len: lanes as u32 };
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

impl Instr {
    /// Finds the chain operation of an elementwise instruction, its result and its operands.
    #[inline(never)]
    pub fn elementwise(&self) -> Option<(Work, Reg, Vec<&Opnd>)> {
        match self {
            Instr::Unary { op, dst, a } => Some((Work::Unary(*op), *dst, vec![a])),
            Instr::Binary { op, dst, a, b } => Some((Work::Binary(*op), *dst, vec![a, b])),
            Instr::Select { dst, c, a, b } => Some((Work::Select, *dst, vec![c, a, b])),
            _ => None,
        }
    }
}

/// Finds whether the kernel of a product does itself what follows it.
fn inside(product: &Dense) -> Option<Inside> {
    let Dense { dst, strides: [.., n], after, inner, .. } = product;
    let whole = |o: &Opnd| match o {
        Opnd::Reg(reg, Table::Dense { start, len }) if len == n => Some((*reg, *start)),
        _ => None,
    };
    let made = |o: &Opnd| whole(o) == Some((*dst, 0));
    let zero = |o: &Opnd| *o == Opnd::Const(0);
    match &after[..] {
        [] => Some(Inside::Linear),
        [Instr::Unary { op: UnaryOp::Tanh, dst: to, a }] if to == dst && made(a) => Some(Inside::Tanh),
        [Instr::Binary { op: BinaryOp::TanhGrad, dst: to, a, b }] if to == dst && made(a) => {
            whole(b).map(|(y, start)| Inside::Slope(y, start))
        }
        [Instr::Binary { op: BinaryOp::Max, dst: to, a, b }]
            if made(a) && zero(b) && !inner.contains(to) && (to == dst || !inner.contains(dst)) =>
        {
            Some(Inside::Relu(*to))
        }
        [Instr::Binary { op: BinaryOp::Lt, dst: less, a: x, b }, Instr::Select { dst: to, c, a, b: g }]
            if zero(b)
                && zero(a)
                && made(g)
                && whole(c) == Some((*less, 0))
                && !inner.contains(to)
                && [less, dst].into_iter().all(|reg| reg == to || inner.contains(reg)) =>
        {
            whole(x).filter(|(x, _)| x != dst && x != to).map(|x| Inside::Gate(*to, x))
        }
        _ => None,
    }
}

/// The one register that others read of a product and what follows it, if nothing else of the rows is needed for it.
fn last(product: &Dense) -> Option<Reg> {
    let made: Option<Vec<_>> = product.after.iter().map(Instr::elementwise).collect();
    let made = made.filter(|made| !made.is_empty())?;
    let outer = |reg: &Reg| !product.inner.contains(reg);
    let last = [product.dst].into_iter().chain(made.iter().map(|(_, dst, _)| *dst)).find(outer)?;
    let own = |reg: &Reg| *reg == last || !outer(reg);
    let reads = |o: &&Opnd| !matches!(o, Opnd::Reg(reg, _) if !own(reg));
    let all = own(&product.dst) && made.iter().all(|(_, dst, src)| own(dst) && src.iter().all(reads));
    all.then_some(last)
}

impl Dense {
    /// Tells whether this is a narrow product with lane-major results of row-major values.
    pub fn of_rows(&self, majors: &[Major]) -> bool {
        let [.., k, n] = self.strides;
        let is_rows = |reg: Reg| majors.get(reg) == Some(&Major::Rows);
        in_lanes(k, n) && is_rows(self.a.0) && !is_rows(self.dst)
    }
}
