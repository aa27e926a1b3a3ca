//! Chooses which registers are row-major.
//!
//! Products of 16 outputs or a multiple of it are computed faster row by row (`simd::rows`), and elementwise work does
//! not care how values lie as long as all of its operands lie alike, nor does the noise that is drawn for a product's
//! results. Everything else (environments, sampling, parts of what a product makes) wants lanes. So registers that such
//! work connects are row-major together, if a product makes one of them and nothing else writes any; where other work
//! reads them they are turned. Narrow products (`simd::dots`) and sums of whole rows read them as they are.

use rustc_hash::FxHashMap;

use super::super::simd::dots::in_lanes;
use super::super::simd::rows::{suits, whole_rows};
use super::{Dense, Instr, Opnd, Own, Reg, Table};

/// How the blocks of a register lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Major {
    /// `[M][lanes]`: the rows' values of one index are next to each other.
    Lanes,
    /// `[lanes][M]`: the values of one row are.
    Rows,
}

/// Chooses how each register lies, and adds the instructions that turn some. `sizes` are the blocks of the registers.
#[inline(never)]
pub fn choose(code: &mut Vec<Instr>, sizes: &mut Vec<usize>) -> Vec<Major> {
    let mut logical = sizes.clone();
    each_product(code, &mut |product| product.inner.iter().for_each(|reg| logical[*reg] = product.strides[3]));
    let mut found = Components {
        next: (0..sizes.len()).collect(),
        lanes: logical.iter().map(|m| *m == 0 || !m.is_multiple_of(16)).collect(),
        wanted: vec![false; sizes.len()],
        sizes: logical,
        parts: Vec::new(),
    };
    found.code(code);
    found.join_parts();
    let rows: Vec<bool> = (0..sizes.len()).map(|reg| found.is_rows(reg)).collect();
    if !rows.contains(&true) {
        return vec![Major::Lanes; sizes.len()];
    }
    whole_parts(code, sizes, &rows);
    let mut turner = Turner { rows: &rows, sizes, turned: FxHashMap::default() };
    turner.reads(code);
    turner.add(code);
    let major = |reg: usize| if rows.get(reg).is_some_and(|rows| *rows) { Major::Rows } else { Major::Lanes };
    (0..sizes.len()).map(major).collect()
}

fn each_product(code: &[Instr], f: &mut dyn FnMut(&Dense)) {
    for instr in code {
        match instr {
            Instr::Own(Own::Dense(product)) => f(product),
            Instr::Loop(l) => each_product(&l.code, f),
            _ => {}
        }
    }
}

/// Registers that must lie alike.
struct Components {
    /// The next register on the way to the one that stands for all of a component.
    next: Vec<Reg>,
    /// Something needs lanes; of the one that stands for all.
    lanes: Vec<bool>,
    /// A product makes one of them, and can do so row by row.
    wanted: Vec<bool>,
    sizes: Vec<usize>,
    /// Results of elementwise work on a part of another register, and that register.
    parts: Vec<[Reg; 2]>,
}

impl Components {
    fn root(&self, mut reg: Reg) -> Reg {
        while self.next[reg] != reg {
            reg = self.next[reg];
        }
        reg
    }

    fn join(&mut self, a: Reg, b: Reg) {
        let (a, b) = (self.root(a), self.root(b));
        if a != b {
            self.next[a] = b;
            self.lanes[b] |= self.lanes[a];
            self.wanted[b] |= self.wanted[a];
        }
    }

    fn keep_lanes(&mut self, reg: Reg) {
        let root = self.root(reg);
        self.lanes[root] = true;
    }

    fn is_rows(&self, reg: Reg) -> bool {
        let root = self.root(reg);
        self.wanted[root] && !self.lanes[root]
    }

    /// Finds what the operands of an elementwise instruction ask of its result.
    fn alike(&mut self, dst: Reg, operands: &[&Opnd]) {
        let size = self.sizes[dst];
        for operand in operands {
            match operand {
                Opnd::Reg(reg, Table::Dense { start: 0, len }) if *len == size && self.sizes[*reg] == size => {
                    self.join(*reg, dst);
                }
                Opnd::Reg(reg, Table::Dense { start, len })
                    if *len == size && start.is_multiple_of(16) && self.sizes[*reg].is_multiple_of(16) =>
                {
                    self.parts.push([dst, *reg]);
                }
                Opnd::Const(_) => {}
                Opnd::Uniform(mem) if !matches!(mem.table, Table::Any(_)) => {}
                _ => self.keep_lanes(dst),
            }
        }
    }

    /// Decides of parts of registers, which are read row by row: what a product makes is not worth it, as parts of
    /// recurrent units' gates.
    fn join_parts(&mut self) {
        let parts = std::mem::take(&mut self.parts);
        let of_products: Vec<bool> = parts.iter().map(|[_, whole]| self.wanted[self.root(*whole)]).collect();
        for ([dst, whole], of_product) in parts.into_iter().zip(of_products) {
            match of_product {
                true => self.keep_lanes(dst),
                false => self.join(whole, dst),
            }
        }
    }

    /// Joins the parts of a register that whole registers make, if each is a whole number of blocks of 16.
    fn joined(&mut self, dst: Reg, parts: &[(Opnd, Box<[u32]>)]) -> Option<()> {
        let whole = |o: &Opnd| match o {
            Opnd::Reg(reg, Table::Dense { start: 0, len }) if self.sizes[*reg] == *len => Some(*reg),
            _ => None,
        };
        let regs: Vec<Reg> = parts.iter().map(|(o, _)| whole(o)).collect::<Option<_>>()?;
        let fit = |(reg, (_, to)): (&Reg, &(Opnd, Box<[u32]>))| {
            self.sizes[*reg].is_multiple_of(16) && to.windows(2).all(|at| at[1] == at[0] + 1)
        };
        regs.iter().zip(parts).all(fit).then(|| regs.into_iter().for_each(|reg| self.join(reg, dst)))
    }

    fn code(&mut self, code: &[Instr]) {
        for instr in code {
            if let Some((_, dst, operands)) = instr.elementwise() {
                self.alike(dst, &operands);
                continue;
            }
            match instr {
                Instr::Own(Own::Dense(product)) => {
                    let [.., k, n] = product.strides;
                    let root = self.root(product.dst);
                    match suits(k, n) {
                        true => self.wanted[root] = true,
                        false => self.lanes[root] = true,
                    }
                    self.code(&product.after);
                }
                Instr::Load { dst, src } => {
                    if src.per > 0 || matches!(src.table, Table::Any(_)) {
                        self.keep_lanes(*dst);
                    }
                }
                Instr::Threefry { dst: [dst, other], src } => {
                    self.join(*other, *dst);
                    // A number per row, such as a key.
                    let varies = |o: &&Opnd| !matches!(o, Opnd::Reg(_, Table::Repeat { .. }));
                    let along: Vec<&Opnd> = src.iter().filter(varies).collect();
                    self.alike(*dst, &along);
                }
                Instr::Assemble { dst, parts, zero } => {
                    if *zero || self.joined(*dst, parts).is_none() {
                        self.keep_lanes(*dst);
                    }
                }
                Instr::Loop(l) => {
                    for (reg, init, next) in &l.carries {
                        self.alike(*reg, &[init, next]);
                        // Carries are copied block by block, where what differs along a row is one number of a block.
                        let along =
                            |o: &Opnd| matches!(o, Opnd::Uniform(mem) if !matches!(mem.table, Table::Repeat { .. }));
                        if along(init) || along(next) {
                            self.keep_lanes(*reg);
                        }
                    }
                    l.index.into_iter().chain(l.until).for_each(|reg| self.keep_lanes(reg));
                    self.code(&l.code);
                }
                other => other.registers(&mut |reg, written| {
                    if written {
                        self.keep_lanes(reg);
                    }
                }),
            }
        }
    }
}

/// Row-major products are made whole, and what follows them after that: by instructions of its own, where it reads a
/// part of a register.
fn whole_parts(code: &mut Vec<Instr>, sizes: &mut [usize], rows: &[bool]) {
    let mut at = 0;
    while at < code.len() {
        let mut apart = Vec::new();
        match &mut code[at] {
            Instr::Own(Own::Dense(product)) if rows[product.dst] => {
                product.part = product.strides[3];
                product.inner.iter().for_each(|reg| sizes[*reg] = product.part);
                let part = |o: &&Opnd| matches!(o, Opnd::Reg(reg, _) if sizes[*reg] != product.part);
                let by_parts = |instr: &Instr| instr.elementwise().is_some_and(|(_, _, src)| src.iter().any(part));
                if let Some(first) = product.after.iter().position(by_parts) {
                    apart = product.after.split_off(first);
                    product.inner.clear();
                }
            }
            Instr::Loop(l) => whole_parts(&mut l.code, sizes, rows),
            _ => {}
        }
        at += 1;
        let next = at + apart.len();
        code.splice(at..at, apart);
        at = next;
    }
}

/// Lets what needs lanes read turned copies of row-major registers.
struct Turner<'a> {
    rows: &'a [bool],
    sizes: &'a mut Vec<usize>,
    /// The turned copy of each register that has one.
    turned: FxHashMap<Reg, Reg>,
}

impl Turner<'_> {
    fn is_rows(&self, reg: Reg) -> bool {
        self.rows.get(reg).is_some_and(|rows| *rows)
    }

    fn turn(&mut self, reg: &mut Reg) {
        if self.is_rows(*reg) {
            let sizes = &mut *self.sizes;
            *reg = *self.turned.entry(*reg).or_insert_with_key(|reg| {
                sizes.push(sizes[*reg]);
                sizes.len() - 1
            });
        }
    }

    fn operand(&mut self, operand: &mut Opnd) {
        if let Opnd::Reg(reg, _) = operand {
            self.turn(reg);
        }
    }

    fn reads(&mut self, code: &mut [Instr]) {
        for instr in code {
            let made = instr.elementwise().map(|(_, dst, _)| dst);
            match instr {
                // Operands of what is row-major are row-major.
                _ if made.is_some_and(|dst| self.is_rows(dst)) => {}
                Instr::Assemble { dst, .. } if self.is_rows(*dst) => {}
                Instr::Threefry { dst, src } if self.is_rows(dst[0]) => {
                    let one = |o: &&mut Opnd| matches!(o, Opnd::Reg(_, Table::Repeat { .. }));
                    src.iter_mut().filter(one).for_each(|operand| self.operand(operand));
                }
                Instr::Own(Own::Dense(product)) if self.is_rows(product.dst) => {}
                Instr::Own(Own::Dense(product)) => {
                    let [.., k, n] = product.strides;
                    if !in_lanes(k, n) {
                        self.turn(&mut product.a.0);
                    }
                    self.reads(&mut product.after);
                }
                Instr::Store { src: Opnd::Reg(reg, Table::Dense { start: 0, len }), .. }
                    if self.sizes[*reg] == *len => {}
                Instr::RowOuter { a, b, .. } => {
                    let full = |(reg, _, size): (Reg, usize, usize)| self.is_rows(reg) && size.is_multiple_of(16);
                    if !full(*a) && !full(*b) {
                        self.turn(&mut a.0);
                        self.turn(&mut b.0);
                    }
                }
                Instr::Loop(l) => {
                    for (reg, init, next) in &mut l.carries {
                        if !self.is_rows(*reg) {
                            self.operand(init);
                            self.operand(next);
                        }
                    }
                    self.reads(&mut l.code);
                }
                Instr::RowSum { .. } => {}
                Instr::Sum { src, sizes: [1, n, 1], .. } if whole_rows(*n) => {}
                Instr::Sum { src, .. } | Instr::Max { src, .. } => self.turn(src),
                Instr::RowProduct { a, .. } => self.turn(&mut a.0),
                Instr::Call { src, .. } => src.iter_mut().for_each(|reg| self.turn(reg)),
                other => other.operands_mut(&mut |operand| self.operand(operand)),
            }
        }
    }

    /// Adds the instructions that turn registers, each after that which makes it.
    fn add(&self, code: &mut Vec<Instr>) {
        let turn = |reg: &Reg| self.turned.get(reg).map(|dst| Instr::Own(Own::Turn { dst: *dst, src: *reg }));
        let mut at = 0;
        while at < code.len() {
            let mut made = Vec::new();
            match &mut code[at] {
                Instr::Loop(l) => {
                    self.add(&mut l.code);
                    made.extend(l.carries.iter().map(|(reg, ..)| *reg));
                    l.code.splice(0..0, made.iter().filter_map(turn));
                }
                other => other.registers(&mut |reg, written| made.extend(written.then_some(reg))),
            }
            made.dedup();
            let turns: Vec<Instr> = made.iter().filter_map(turn).collect();
            at += 1;
            let next = at + turns.len();
            code.splice(at..at, turns);
            at = next;
        }
    }
}
