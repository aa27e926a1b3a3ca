//! Joins elementwise instructions to chains, which one kernel works off without returning in between.

use std::ops::Range;

use super::super::simd::chain::{Chain, Job, Src, Work};
use super::super::simd::dots::in_lanes;
use super::super::simd::elementwise::{BinaryOp, UnaryOp};
use super::{Dense, Instr, Major, Mem, Opnd, Reg, Table, Tile, TileLoop};

/// Jobs that one instruction may become; more are not worth it.
const MOST: usize = 64;

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

/// A chain with its values that are the same for all rows.
#[derive(Clone, Debug)]
pub struct Linked {
    /// The jobs.
    pub chain: Chain,
    /// The values; those that come from memory are set before each run.
    pub constants: Vec<f32>,
    /// Which values come from memory: slot, place, position of the element.
    pub fetched: Vec<(usize, Mem, usize)>,
    /// Rows of memory that are next to each other, one element each.
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
    /// The number of the place where turned weights are kept while they are the same, and its first value; for row-major
    /// products whose weights are not next to each other.
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

/// Join the instructions of a tile.
pub fn link(tile: &Tile) -> Vec<TilePart> {
    link_code(tile, &tile.code, &mut (0, 0))
}

/// `packed` counts the places of turned weights, and their values.
fn link_code(tile: &Tile, code: &[Instr], packed: &mut (usize, usize)) -> Vec<TilePart> {
    let registers = &tile.registers;
    let mut linker = Linker {
        registers,
        majors: &tile.majors,
        lanes: tile.lanes,
        inner: (&[], 0),
        jobs: Vec::new(),
        values: Vec::new(),
        fetched: Vec::new(),
        streams: Vec::new(),
    };
    let mut parts = Vec::new();
    for instr in code {
        if linker.add(instr).is_some() {
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
                let inside = link_code(tile, &code, packed);
                TilePart::Loop(TileLoop { code: Vec::new(), ..(**l).clone() }, inside)
            }
            Instr::Dense(product) => {
                let [ks, ns, k, n] = product.strides;
                let turns = match tile.majors[product.dst] {
                    Major::Rows => ns != 1 && n > 1,
                    Major::Lanes => product.of_rows(&tile.majors) && ks != 1,
                };
                let place = turns.then_some(*packed);
                if turns {
                    *packed = (packed.0 + 1, packed.1 + k * n);
                }
                TilePart::Layer(Box::new(linker.layer(product, place)))
            }
            other => TilePart::Instr(Box::new(other.clone())),
        });
    }
    linker.flush(&mut parts);
    parts
}

/// The number of places of turned weights.
pub fn packs(parts: &[TilePart]) -> usize {
    let of = |part: &TilePart| match part {
        TilePart::Layer(layer) => layer.packed.map_or(0, |(place, _)| place + 1),
        TilePart::Loop(_, parts) => packs(parts),
        TilePart::Chain(_) | TilePart::Instr(_) => 0,
    };
    parts.iter().map(of).max().unwrap_or(0)
}

struct Linker<'a> {
    registers: &'a [(usize, usize)],
    majors: &'a [Major],
    lanes: usize,
    /// Registers that hold one part of a product's blocks, and the first of those.
    inner: (&'a [Reg], usize),
    jobs: Vec<Job>,
    values: Vec<f32>,
    fetched: Vec<(usize, Mem, usize)>,
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
        let chain = Chain::new(std::mem::take(&mut self.jobs));
        let (constants, fetched) = (std::mem::take(&mut self.values), std::mem::take(&mut self.fetched));
        Linked { chain, constants, fetched, streams: std::mem::take(&mut self.streams) }
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
            Instr::Load { dst, src } if src.row == 1 && src.per == 0 && src.table.len() == 1 => {
                let stream = self.stream(src);
                self.jobs(Work::Read(stream), [*dst; 2], &[], 0, &[0]);
                Some(())
            }
            Instr::Store { src, dst } if dst.row == 1 && dst.table.len() == 1 => {
                let stream = self.stream(dst);
                let from = self.src(src, 0);
                let len = self.lanes as u32;
                self.jobs.push(Job { work: Work::Write(stream), dst: [0; 2], src: [from; 4], len });
                Some(())
            }
            _ => None,
        }
    }

    fn stream(&mut self, mem: &Mem) -> u32 {
        self.streams.push(mem.clone());
        self.streams.len() as u32 - 1
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
            Opnd::Const(bits) => {
                let fixed = |(slot, v): (usize, &f32)| {
                    v.to_bits() == *bits && !self.fetched.iter().any(|(fetched, ..)| *fetched == slot)
                };
                let known = self.values.iter().enumerate().position(fixed);
                Src::Value(known.unwrap_or_else(|| self.value(f32::from_bits(*bits))) as u32)
            }
            Opnd::Uniform(mem) => {
                let at = mem.table.at(i);
                let known = self.fetched.iter().find(|(_, m, a)| *a == at && m == mem).map(|f| f.0);
                let slot = known.unwrap_or_else(|| {
                    let slot = self.value(0.0);
                    self.fetched.push((slot, mem.clone(), at));
                    slot
                });
                Src::Value(slot as u32)
            }
        }
    }

    fn value(&mut self, value: f32) -> usize {
        self.values.push(value);
        self.values.len() - 1
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
