//! Joins elementwise instructions to chains, which one kernel works off without returning in between.

use super::super::simd::chain::{Chain, Job, Src, Work};
use super::{Instr, Loop, Mem, Opnd, Reg, Table};

/// Jobs that one instruction may become; more are not worth it.
const MOST: usize = 64;

/// What a tile runs.
#[derive(Clone, Debug)]
pub enum Part {
    /// Elementwise instructions.
    Chain(Linked),
    /// Another instruction, no loop.
    Instr(Box<Instr>),
    /// A loop, whose inside is here. New carries are copied by the last of its parts.
    Loop(Loop, Vec<Part>),
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

/// Join the instructions of a tile. `registers` are the first block and the blocks of each register.
pub fn link(code: &[Instr], registers: &[(usize, usize)], lanes: usize) -> Vec<Part> {
    let mut linker =
        Linker { registers, lanes, jobs: Vec::new(), values: Vec::new(), fetched: Vec::new(), streams: Vec::new() };
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
                let inside = link(&code, registers, lanes);
                Part::Loop(Loop { code: Vec::new(), ..(**l).clone() }, inside)
            }
            other => Part::Instr(Box::new(other.clone())),
        });
    }
    linker.flush(&mut parts);
    parts
}

struct Linker<'a> {
    registers: &'a [(usize, usize)],
    lanes: usize,
    jobs: Vec<Job>,
    values: Vec<f32>,
    fetched: Vec<(usize, Mem, usize)>,
    streams: Vec<Mem>,
}

impl Linker<'_> {
    fn flush(&mut self, parts: &mut Vec<Part>) {
        if !self.jobs.is_empty() {
            let chain = Chain::new(std::mem::take(&mut self.jobs));
            let (constants, fetched) = (std::mem::take(&mut self.values), std::mem::take(&mut self.fetched));
            let streams = std::mem::take(&mut self.streams);
            parts.push(Part::Chain(Linked { chain, constants, fetched, streams }));
        }
    }

    /// Add an instruction, if it is elementwise.
    fn add(&mut self, instr: &Instr) -> Option<()> {
        let whole = |reg: Reg| Opnd::Reg(reg, Table::Dense { start: 0, len: self.registers[reg].1 });
        match instr {
            Instr::Unary { op, dst, a } => self.each(Work::Unary(*op), [*dst; 2], &[a]),
            Instr::Binary { op, dst, a, b } => self.each(Work::Binary(*op), [*dst; 2], &[a, b]),
            Instr::Select { dst, c, a, b } => self.each(Work::Select, [*dst; 2], &[c, a, b]),
            Instr::TanhGrad { dst, g, y } => {
                let (g, y) = (whole(*g), whole(*y));
                self.each(Work::TanhGrad, [*dst; 2], &[&g, &y])
            }
            Instr::Threefry { dst, src: [a, b, c, d] } => self.each(Work::Threefry, *dst, &[a, b, c, d]),
            Instr::Assemble { dst, parts, zero } => {
                if parts.iter().any(|(o, to)| !self.fits(to.len(), &[o])) {
                    return None;
                }
                if *zero {
                    let all = Opnd::Const(0);
                    let to: Vec<u32> = (0..self.registers[*dst].1 as u32).collect();
                    self.jobs(Work::Copy, [*dst; 2], &[&all], &to);
                }
                for (o, to) in parts {
                    self.jobs(Work::Copy, [*dst; 2], &[o], to);
                }
                Some(())
            }
            Instr::Load { dst, src } if src.row == 1 && src.table.len() == 1 => {
                let stream = self.stream(src);
                self.jobs(Work::Read(stream), [*dst; 2], &[], &[0]);
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
        self.jobs(work, dst, src, &to);
        Some(())
    }

    /// Whether an instruction of `m` blocks becomes few enough jobs.
    fn fits(&self, m: usize, src: &[&Opnd]) -> bool {
        let plain = |o: &&Opnd| match o {
            Opnd::Reg(_, table) => matches!(table, Table::Dense { .. }),
            Opnd::Uniform(mem) => matches!(mem.table, Table::Repeat { .. }),
            Opnd::Const(_) => true,
        };
        m <= MOST || src.iter().all(plain)
    }

    /// As few jobs as blocks that are next to each other allow. Block i of the operands goes to block `to[i]`.
    fn jobs(&mut self, work: Work, dst: [Reg; 2], src: &[&Opnd], to: &[u32]) {
        let lanes = self.lanes;
        let place = |reg: Reg, block: usize| ((self.registers[reg].0 + block) * lanes) as u32;
        let starts = dst.map(|d| place(d, 0));
        let mut open: Option<(usize, Job)> = None;
        for (i, block) in to.iter().enumerate() {
            let mut all = [Src::Value(0); 4];
            for (slot, o) in all.iter_mut().zip(src) {
                *slot = self.src(o, i);
            }
            let offset = *block * lanes as u32;
            if let Some((blocks, job)) = &mut open {
                let step = (*blocks * lanes) as u32;
                let next = |old: Src, new: Src| match (old, new) {
                    (Src::At(old), Src::At(new)) => new == old + step,
                    (old, new) => old == new,
                };
                let follows = job.src.iter().zip(&all).take(src.len()).all(|(old, new)| next(*old, *new));
                if follows && starts[0] + offset == job.dst[0] + step {
                    *blocks += 1;
                    job.len += lanes as u32;
                    continue;
                }
            }
            let job = Job { work, dst: starts.map(|s| s + offset), src: all, len: lanes as u32 };
            if let Some((_, done)) = open.replace((1, job)) {
                self.jobs.push(done);
            }
        }
        self.jobs.extend(open.map(|(_, job)| job));
    }

    /// Block `i` of an operand.
    fn src(&mut self, o: &Opnd, i: usize) -> Src {
        match o {
            Opnd::Reg(reg, table) => Src::At(((self.registers[*reg].0 + table.at(i)) * self.lanes) as u32),
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
