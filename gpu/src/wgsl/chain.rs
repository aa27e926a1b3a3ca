//! Chains: a workgroup computes the rows of one tile after the other, in workgroup memory and in variables, and keeps
//! sums over rows until its last tile. Where several workgroups share the rows, a second dispatch adds their sums.

use std::collections::HashMap;

use quickstudy_kernels::program::chains::{ChainProduct, Mem, Opnd, Reg, Table, ValueId};
use quickstudy_kernels::tensor::Graph;
use quickstudy_kernels::{DType, Result};

use super::body::{Body, buffer};
use super::emit::Emitter;
use super::index::Ix;
use super::memory::{Leaf, Memory};
use super::results::GROUP;
use super::scalar::{binary_of_rows, number, rows_of, unary_of_rows, vector};
use super::sums::positions;
use crate::plan::PlannedChain;
use crate::tile::{ROWS, Section, SectionKind, Tile, TileItem, TileOp, composed};
use crate::work::{Cost, Work};

/// Terms of a product in one turn of its loop.
const STRETCH: usize = 16;

/// The code of a chain, without the addition of what several workgroups have summed.
///
/// # Errors
/// If the plan is at fault.
pub(super) fn body(graph: &Graph, chain: &PlannedChain, memory: &Memory) -> Result<Body> {
    let tile = &chain.tile;
    let mut emitter = Emitter::new(graph, memory.leaves.clone(), &[]);
    let rows = if tile.vectors > 0 { emitter.share(0, "vec4<u32>", tile.vectors) } else { String::new() };
    emitter.line("let number = group.x + group.y * count.x;");
    emitter.guard(format!("number < {}u", tile.groups * tile.workgroups));
    let at = emitter.unflat(&[tile.groups, tile.workgroups], &Ix::var("number"));
    let [group, part] = [at[0].clone(), at[1].clone()];
    let mut code = ChainCode { emitter, chain, tile, memory, rows, group, part, known: HashMap::new() };
    code.sums_begin();
    if tile.turns > 1 {
        let head = format!("for (var turn = 0u; turn < {}u; turn++)", tile.turns);
        code.turns(&head, tile.turns);
    } else {
        code.tile();
    }
    code.sums_end();
    let work = work(tile);
    let body = code.emitter.body(Cost::Other, GROUP, tile.groups * tile.workgroups)?;
    Ok(Body { work, ..body })
}

/// What an invocation does in all of its tiles.
fn work(tile: &Tile) -> Work {
    let mut work = Work::default();
    for level in &tile.levels {
        work = work.with(Cost::Level, 1);
        for section in level {
            let rounds = section.count.div_ceil(GROUP);
            for item in &section.items {
                let (cost, each) = match &tile.items[*item].op {
                    TileOp::Product(product) => (Cost::Product, product.strides[2].div_ceil(STRETCH)),
                    TileOp::RowOuter(_) | TileOp::RowSum(_) => (Cost::Straight, tile.lanes * section.kept()),
                    _ => continue,
                };
                work = work.with(cost, rounds * each);
            }
        }
    }
    work.times(tile.turns)
}

struct ChainCode<'a> {
    emitter: Emitter<'a>,
    chain: &'a PlannedChain,
    tile: &'a Tile,
    memory: &'a Memory,
    /// The array in workgroup memory.
    rows: String,
    /// The group of rows, and the number of the workgroup in it.
    group: Ix,
    part: Ix,
    /// The registers that the section has in variables, and the type of these.
    known: HashMap<Reg, (String, DType)>,
}

/// The block and rows of an invocation.
struct BlockAt {
    /// The block.
    m: Ix,
    /// The vector of rows.
    q: Ix,
    /// The rows, none beyond the last.
    rows: [Ix; ROWS],
    /// The first row, before that.
    first: Ix,
}

impl ChainCode<'_> {
    fn turns(&mut self, head: &str, n: usize) {
        // The emitter's blocks take closures that have the emitter alone.
        self.emitter.open(head, n);
        self.tile();
        self.emitter.line("workgroupBarrier();");
        self.emitter.close(n);
    }

    /// One tile: its levels, with barriers between them.
    fn tile(&mut self) {
        let tile = self.tile;
        let number = match tile.turns {
            1 => self.part.clone(),
            turns => {
                let first = self.emitter.times(&self.part.clone(), turns);
                self.emitter.add(&first, &Ix::var("turn"))
            }
        };
        let front = self.emitter.times(&number, tile.lanes);
        for (i, level) in tile.levels.iter().enumerate() {
            if i > 0 {
                self.emitter.line("workgroupBarrier();");
            }
            for section in level {
                self.section(section, &front);
            }
        }
    }

    fn section(&mut self, section: &Section, front: &Ix) {
        let (first, count) = (section.first, section.count);
        let several = count > GROUP;
        let head = match (several, first, count) {
            (true, ..) => format!("for (var i = local; i < {count}u; i += {GROUP}u)"),
            (_, 0, GROUP) => String::new(),
            (_, 0, _) => format!("if (local < {count}u)"),
            _ if first + count == GROUP => format!("if (local >= {first}u)"),
            _ => format!("if (local >= {first}u && local < {}u)", first + count),
        };
        if section.kind != SectionKind::Blocks && several {
            // What an invocation keeps has a name for each of its turns.
            for round in 0..count.div_ceil(GROUP) {
                self.emitter.open(&format!("if (local < {}u)", count - (round * GROUP).min(count)), 1);
                let i = self.emitter.add(&Ix::var("local"), &Ix::Known(round * GROUP));
                self.inside(section, &i, round, front);
                self.emitter.close(1);
            }
            return;
        }
        self.emitter.open(&head, if several { count.div_ceil(GROUP) } else { 1 });
        let i = match (several, first) {
            (true, _) => Ix::var("i"),
            (_, 0) => Ix::var("local"),
            _ => Ix::var(&self.emitter.bind(format!("local - {first}u"))),
        };
        self.inside(section, &i, 0, front);
        self.emitter.close(if several { count.div_ceil(GROUP) } else { 1 });
    }

    fn inside(&mut self, section: &Section, i: &Ix, round: usize, front: &Ix) {
        self.known.clear();
        match section.kind {
            SectionKind::Blocks => {
                let vectors = self.tile.lanes / ROWS;
                let at = match (section.width, vectors) {
                    (1, 1) => [Ix::Known(0), Ix::Known(0)],
                    (1, _) => [Ix::Known(0), i.clone()],
                    (_, 1) => [i.clone(), Ix::Known(0)],
                    (width, _) => [self.emitter.modulo(i, width), self.emitter.over(i, width)],
                };
                let [m, q] = at;
                let rows = self.emitter.times(&q, ROWS);
                let first = self.emitter.add(front, &rows);
                let rows = std::array::from_fn(|row| self.row(&first, row));
                let at = BlockAt { m, q, rows, first };
                for item in &section.items {
                    self.item(&self.tile.items[*item], &at);
                }
            }
            SectionKind::Sums => {
                for item in &section.items {
                    self.row_sum(&self.tile.items[*item], i, round, front);
                }
            }
            SectionKind::Outer { each, apart } => {
                for item in &section.items {
                    self.row_outer(&self.tile.items[*item], (i, round), (each, apart), front);
                }
            }
        }
    }

    fn row(&mut self, first: &Ix, row: usize) -> Ix {
        let at = self.emitter.add(first, &Ix::Known(row));
        let last = self.tile.rows - 1;
        match at {
            _ if self.tile.is_even() => at,
            Ix::Known(n) => Ix::Known(n.min(last)),
            Ix::Var(name) => Ix::var(&self.emitter.bind(format!("min({name}, {last}u)"))),
        }
    }

    /// Position of block `m` by a table.
    fn position(&mut self, table: &Table, m: &Ix) -> Ix {
        let known = match m {
            Ix::Known(m) => Some(*m),
            Ix::Var(_) => None,
        };
        match (table, known) {
            (_, Some(m)) => Ix::Known(table.at(m)),
            (Table::Dense { start, .. }, _) => self.emitter.add(m, &Ix::Known(*start)),
            (Table::Repeat { at, .. }, _) => Ix::Known(*at),
            (Table::Any(at), _) => match regular(at) {
                Some([period, apart, next]) => {
                    let (outer, inner) = (self.emitter.over(m, period), self.emitter.modulo(m, period));
                    let (outer, inner) = (self.emitter.times(&outer, apart), self.emitter.times(&inner, next));
                    let sum = self.emitter.add(&outer, &inner);
                    self.emitter.add(&sum, &Ix::Known(at[0] as usize))
                }
                None => {
                    let name = self.emitter.name("table");
                    let list: Vec<String> = at.iter().map(|at| format!("{at}u")).collect();
                    let (n, list) = (at.len(), list.join(", "));
                    self.emitter.line(&format!("var {name} = array<u32, {n}>({list});"));
                    Ix::var(&self.emitter.bind(format!("{name}[{m}]")))
                }
            },
        }
    }

    /// The word of a value at a position.
    fn word(&mut self, value: ValueId, flat: &Ix) -> String {
        let node = self.chain.values[value];
        if let Some(Leaf::Buffer(words)) = self.memory.leaves.get(&node) {
            let word = self.emitter.loaded(*words, flat);
            return self.emitter.bind(word);
        }
        let (shape, dtype) = {
            let node = &self.emitter.graph.nodes[node as usize];
            (node.shape.clone(), node.dtype)
        };
        let at = self.emitter.unflat(&shape, flat);
        let x = self.emitter.value(node, &at);
        if dtype == DType::F32 { format!("bitcast<u32>({x})") } else { x }
    }

    /// Position of a group's block `m` in memory, in row 0.
    fn base(&mut self, mem: &Mem, table: &Table, m: &Ix) -> Ix {
        let at = self.position(table, m);
        let group = self.emitter.times(&self.group.clone(), mem.group);
        let at = self.emitter.add(&at, &group);
        self.emitter.add(&at, &Ix::Known(mem.offset))
    }

    /// Position in memory of a row, from that in row 0.
    fn in_row(&mut self, base: &Ix, mem: &Mem, row: &Ix) -> Ix {
        let row = self.emitter.times(row, mem.row);
        self.emitter.add(base, &row)
    }

    /// Words of four rows in memory.
    fn words(&mut self, mem: &Mem, table: &Table, at: &BlockAt) -> String {
        let base = self.base(mem, table, &at.m);
        if mem.row == 0 {
            let word = self.word(mem.value, &base);
            return self.emitter.bind(format!("vec4<u32>({word})"));
        }
        let words: Vec<String> = at
            .rows
            .iter()
            .map(|row| {
                let flat = self.in_row(&base, mem, row);
                self.word(mem.value, &flat)
            })
            .collect();
        self.emitter.bind(rows_of(DType::U32, words.into_iter()))
    }

    /// Where block `block` of a register is in workgroup memory.
    fn shared(&mut self, reg: Reg, block: &Ix, q: &Ix) -> String {
        let by = self.emitter.times(q, self.tile.sizes[reg]);
        let at = self.emitter.add(block, &by);
        let at = self.emitter.add(&at, &Ix::Known(self.tile.places[reg].unwrap_or(usize::MAX)));
        format!("{}[{at}]", self.rows)
    }

    fn typed(&mut self, words: String, dtype: DType) -> String {
        match dtype {
            DType::F32 => self.emitter.bind(format!("bitcast<vec4<f32>>({words})")),
            DType::U32 => words,
        }
    }

    /// Four rows of an operand.
    fn operand(&mut self, item: &TileItem, operand: &Opnd, at: &BlockAt, dtype: DType) -> String {
        match operand {
            Opnd::Const(bits) => {
                let number = match dtype {
                    DType::F32 => number(f64::from(f32::from_bits(*bits)).to_bits(), dtype),
                    DType::U32 => format!("{bits}u"),
                };
                self.emitter.bind(format!("{}({number})", vector(dtype)))
            }
            Opnd::Uniform(mem) => {
                let base = self.base(mem, &mem.table, &at.m);
                let word = self.word(mem.value, &base);
                let words = self.emitter.bind(format!("vec4<u32>({word})"));
                self.typed(words, dtype)
            }
            Opnd::Reg(reg, table) => {
                if let Some(load) = self.tile.loads[*reg] {
                    let TileOp::Load(mem) = &self.tile.items[load].op else { return String::new() };
                    let table = composed(table, &mem.table);
                    let words = self.words(mem, &table, at);
                    return self.typed(words, dtype);
                }
                if item.is_own(operand, &self.tile.sizes)
                    && let Some((name, of)) = self.known.get(reg).cloned()
                {
                    return match (of, dtype) {
                        (DType::U32, DType::F32) => self.emitter.bind(format!("bitcast<vec4<f32>>({name})")),
                        (DType::F32, DType::U32) => self.emitter.bind(format!("bitcast<vec4<u32>>({name})")),
                        _ => name,
                    };
                }
                let block = self.position(table, &at.m);
                let place = self.shared(*reg, &block, &at.q);
                let words = self.emitter.bind(place);
                self.typed(words, dtype)
            }
        }
    }

    fn item(&mut self, item: &TileItem, at: &BlockAt) {
        let (value, dtype) = match &item.op {
            TileOp::Load(mem) => (self.words(mem, &mem.table, at), DType::U32),
            TileOp::Store(mem) => {
                let words = self.operand(item, &item.src[0], at, DType::U32);
                return self.store(mem, &words, at);
            }
            TileOp::Unary(op, dtype) => {
                let x = self.operand(item, &item.src[0], at, *dtype);
                (unary_of_rows(*op, &x, *dtype), op.result(*dtype))
            }
            TileOp::Binary(op, dtype) => {
                let [x, y] = [0, 1].map(|k| self.operand(item, &item.src[k], at, *dtype));
                (binary_of_rows(*op, &x, &y), op.result(*dtype))
            }
            TileOp::Select => {
                let [c, a, b] = [0, 1, 2].map(|k| self.operand(item, &item.src[k], at, DType::U32));
                (format!("select({b}, {a}, {c} != vec4<u32>(0u))"), DType::U32)
            }
            TileOp::Move => (self.operand(item, &item.src[0], at, DType::U32), DType::U32),
            TileOp::Threefry => return self.threefry(item, at),
            TileOp::Permutation(n) => {
                if !self.emitter.permutations.contains(n) {
                    self.emitter.permutations.push(*n);
                }
                let [i, k0, k1] = [0, 1, 2].map(|k| self.operand(item, &item.src[k], at, DType::U32));
                let rows = (0..ROWS).map(|c| format!("permute{n}({i}[{c}], {k0}[{c}], {k1}[{c}])"));
                (rows_of(DType::U32, rows), DType::U32)
            }
            TileOp::Sum(sizes) => self.reduced(item, *sizes, at, None),
            TileOp::Max(sizes, unsigned) => self.reduced(item, *sizes, at, Some(*unsigned)),
            TileOp::Gather(mem, n, inner) => (self.gathered(item, (mem, *n, *inner), at), DType::U32),
            TileOp::Product(product) => (self.product(item, product, at), DType::F32),
            TileOp::RowSum(_) | TileOp::RowOuter(_) => return,
        };
        let name = self.emitter.bind(value);
        self.keep(item, 0, (name, dtype), at);
    }

    /// Keeps a register that an item has computed.
    fn keep(&mut self, item: &TileItem, k: usize, (name, dtype): (String, DType), at: &BlockAt) {
        let Some((reg, table)) = item.dst.get(k) else { return };
        if self.tile.places[*reg].is_some() {
            let block = self.position(table, &at.m);
            let place = self.shared(*reg, &block, &at.q);
            let words = if dtype == DType::F32 { format!("bitcast<vec4<u32>>({name})") } else { name.clone() };
            self.emitter.line(&format!("{place} = {words};"));
        }
        if item.writes_own(*reg, &self.tile.sizes) {
            self.known.insert(*reg, (name, dtype));
        }
    }

    fn threefry(&mut self, item: &TileItem, at: &BlockAt) {
        let src: Vec<String> = item.src.iter().map(|src| self.operand(item, src, at, DType::U32)).collect();
        let calls: Vec<String> = (0..ROWS)
            .map(|c| {
                let operands: Vec<String> = src.iter().map(|x| format!("{x}[{c}]")).collect();
                self.emitter.bind(format!("threefry({})", operands.join(", ")))
            })
            .collect();
        for word in 0..2 {
            let rows = calls.iter().map(|call| format!("{call}[{word}]"));
            let name = self.emitter.bind(rows_of(DType::U32, rows));
            self.keep(item, word, (name, DType::U32), at);
        }
    }

    fn store(&mut self, mem: &Mem, words: &str, at: &BlockAt) {
        let node = self.chain.values[mem.value];
        let base = self.base(mem, &mem.table, &at.m);
        for c in 0..ROWS {
            let row = self.emitter.add(&at.first, &Ix::Known(c));
            let flat = self.in_row(&base, mem, &row);
            let head = if self.tile.is_even() { String::new() } else { format!("if ({row} < {}u)", self.tile.rows) };
            self.emitter.open(&head, 1);
            written(&mut self.emitter, self.memory, node, &flat, &format!("{words}[{c}]"));
            self.emitter.close(1);
        }
    }

    /// The sum of a register's blocks `[outer][n][inner]` over `n`, or the largest of them, and its type.
    fn reduced(
        &mut self,
        item: &TileItem,
        [_, n, inner]: [usize; 3],
        at: &BlockAt,
        largest: Option<bool>,
    ) -> (String, DType) {
        let (reg, first, _) = item.whole[0];
        let dtype = if largest == Some(true) { DType::U32 } else { DType::F32 };
        let start = match largest {
            None => "0.0f",
            Some(false) => "bitcast<f32>(0xff800000u | words[0].x)",
            Some(true) => "0u",
        };
        let sum = self.emitter.name("s");
        self.emitter.line(&format!("var {sum} = {}({start});", vector(dtype)));
        let (outer, within) = (self.emitter.over(&at.m, inner), self.emitter.modulo(&at.m, inner));
        let outer = self.emitter.times(&outer, n * inner);
        let base = self.emitter.add(&outer, &within);
        let base = self.emitter.add(&base, &Ix::Known(first));
        self.stretch(n, |this, k| {
            let by = this.emitter.times(k, inner);
            let block = this.emitter.add(&base, &by);
            let place = this.shared(reg, &block, &at.q);
            let x = this.emitter.bind(place);
            let x = this.typed(x, dtype);
            let next = match largest {
                None => format!("{sum} + {x}"),
                Some(_) => format!("select({sum}, {x}, {sum} < {x})"),
            };
            this.emitter.line(&format!("{sum} = {next};"));
        });
        (sum, dtype)
    }

    /// Code for each of `n` terms, several of which are written out in a turn of a loop.
    fn stretch(&mut self, n: usize, mut term: impl FnMut(&mut Self, &Ix)) {
        let whole = if n <= 2 * STRETCH { 0 } else { n / STRETCH };
        if whole > 0 {
            let k = self.emitter.name("k");
            let head = format!("for (var {k} = 0u; {k} < {}u; {k} += {STRETCH}u)", whole * STRETCH);
            self.emitter.open(&head, whole);
            for j in 0..STRETCH {
                let k = self.emitter.add(&Ix::var(&k), &Ix::Known(j));
                term(self, &k);
                self.emitter.term();
            }
            self.emitter.close(whole);
        }
        for k in whole * STRETCH..n {
            term(self, &Ix::Known(k));
            self.emitter.term();
        }
    }

    /// Words of table rows that an index chooses.
    fn gathered(&mut self, item: &TileItem, (mem, n, inner): (&Mem, usize, usize), at: &BlockAt) -> String {
        let block = self.emitter.over(&at.m, inner);
        let index_at = BlockAt { m: block, q: at.q.clone(), rows: at.rows.clone(), first: at.first.clone() };
        let index = self.operand(item, &item.src[0], &index_at, DType::U32);
        let within = self.emitter.modulo(&at.m, inner);
        let base = self.base(mem, &mem.table, &within);
        let words: Vec<String> = (0..ROWS)
            .map(|c| {
                let row = Ix::var(&self.emitter.bind(format!("min({index}[{c}], {}u)", n - 1)));
                let flat = self.in_row(&base, mem, &row);
                self.word(mem.value, &flat)
            })
            .collect();
        rows_of(DType::U32, words.into_iter())
    }

    /// A unit of a product with a matrix.
    fn product(&mut self, item: &TileItem, product: &ChainProduct, at: &BlockAt) -> String {
        let (reg, first, _) = item.whole[0];
        let [along, across, k, _] = product.strides;
        let sum = self.emitter.name("s");
        self.emitter.line(&format!("var {sum} = vec4<f32>(0.0f);"));
        let column = self.emitter.times(&at.m, across);
        let group = self.emitter.times(&self.group.clone(), product.w.group);
        let column = self.emitter.add(&column, &group);
        let column = self.emitter.add(&column, &Ix::Known(product.w.offset));
        self.stretch(k, |this, k| {
            let block = this.emitter.add(k, &Ix::Known(first));
            let place = this.shared(reg, &block, &at.q);
            let x = this.typed(place, DType::F32);
            let by = this.emitter.times(k, along);
            let flat = this.emitter.add(&column, &by);
            let word = this.word(product.w.value, &flat);
            this.emitter.line(&format!("{sum} = fma({x}, vec4<f32>(bitcast<f32>({word})), {sum});"));
        });
        sum
    }

    /// A vector of a register's block, whose rows beyond the last are 0.
    fn inside_rows(&mut self, reg: Reg, block: &Ix, q: &Ix, front: &Ix) -> String {
        let place = self.shared(reg, block, q);
        let x = self.typed(place, DType::F32);
        if self.tile.is_even() {
            return x;
        }
        let by = self.emitter.times(q, ROWS);
        let row = self.emitter.add(front, &by);
        let inside = format!("vec4<u32>({row}) + vec4<u32>(0u, 1u, 2u, 3u) < vec4<u32>({}u)", self.tile.rows);
        self.emitter.bind(format!("select(vec4<f32>(0.0f), {x}, {inside})"))
    }

    fn row_sum(&mut self, item: &TileItem, m: &Ix, round: usize, front: &Ix) {
        let TileOp::RowSum(sum) = item.op else { return };
        let (reg, first, _) = item.whole[0];
        let block = if item.width == 1 { Ix::Known(0) } else { m.clone() };
        let block = self.emitter.add(&block, &Ix::Known(first));
        for q in 0..self.tile.lanes / ROWS {
            let x = self.inside_rows(reg, &block, &Ix::Known(q), front);
            self.emitter.line(&format!("sum{sum}_{round} += dot({x}, vec4<f32>(1.0f));"));
        }
    }

    fn row_outer(
        &mut self,
        item: &TileItem,
        (i, round): (&Ix, usize),
        (each, apart): ([usize; 2], [usize; 2]),
        front: &Ix,
    ) {
        let TileOp::RowOuter(sum) = item.op else { return };
        let first = [self.emitter.over(i, apart[1]), self.emitter.modulo(i, apart[1])];
        let mut blocks = [Vec::new(), Vec::new()];
        for side in 0..2 {
            let (_, from, len) = item.whole[side];
            let first = if len == 1 { Ix::Known(0) } else { first[side].clone() };
            for j in 0..each[side] {
                let mut block = self.emitter.add(&first, &Ix::Known(j * apart[side]));
                if apart[side] * each[side] > len && len > 1 {
                    block = Ix::var(&self.emitter.bind(format!("min({block}, {}u)", len - 1)));
                }
                blocks[side].push(self.emitter.add(&block, &Ix::Known(from)));
            }
        }
        let vectors = self.tile.lanes / ROWS;
        self.emitter.open(&format!("for (var q = 0u; q < {vectors}u; q++)"), vectors);
        let q = Ix::var("q");
        let a: Vec<String> = blocks[0].iter().map(|b| self.inside_rows(item.whole[0].0, b, &q, front)).collect();
        let b: Vec<String> = blocks[1]
            .iter()
            .map(|block| {
                let place = self.shared(item.whole[1].0, block, &q);
                self.typed(place, DType::F32)
            })
            .collect();
        for (j, a) in a.iter().enumerate() {
            for (l, b) in b.iter().enumerate() {
                self.emitter.line(&format!("sum{sum}_{round}_{j}_{l} += dot({a}, {b});"));
            }
        }
        self.emitter.close(vectors);
    }

    /// The variables of sums over rows.
    fn sums_begin(&mut self) {
        let tile = self.tile;
        for section in tile.levels.iter().flatten() {
            for item in &section.items {
                self.each_sum(section, &tile.items[*item], |this, name, _| {
                    this.emitter.line(&format!("var {name} = 0.0f;"));
                });
            }
        }
    }

    /// Calls `each` with the name of each variable of a sum over rows and with its numbers: the round of invocations,
    /// and of outer products the row and column of those that an invocation keeps.
    fn each_sum(&mut self, section: &Section, item: &TileItem, mut each: impl FnMut(&mut Self, &str, [usize; 3])) {
        for round in 0..section.count.div_ceil(GROUP) {
            match (&item.op, section.kind) {
                (TileOp::RowSum(sum), _) => each(self, &format!("sum{sum}_{round}"), [round, 0, 0]),
                (TileOp::RowOuter(sum), SectionKind::Outer { each: [rows, columns], .. }) => {
                    for (j, l) in (0..rows).flat_map(|j| (0..columns).map(move |l| (j, l))) {
                        each(self, &format!("sum{sum}_{round}_{j}_{l}"), [round, j, l]);
                    }
                }
                _ => {}
            }
        }
    }

    /// Writes sums over rows: those of the workgroup to the scratch buffer, or if it is the only one to where they go.
    fn sums_end(&mut self) {
        let (tile, chain) = (self.tile, self.chain);
        let positions = positions(chain);
        for section in tile.levels.iter().flatten() {
            for item in &section.items {
                let item = &tile.items[*item];
                self.each_sum(section, item, |this, name, [round, j, l]| {
                    let (first, count) = (section.first, section.count - (round * GROUP).min(section.count));
                    let i = this.emitter.add(&Ix::var("local"), &Ix::Known(round * GROUP));
                    let i = if first > 0 { Ix::var(&this.emitter.bind(format!("local - {first}u"))) } else { i };
                    let inside = format!("local >= {first}u && local < {}u", first + count.min(GROUP));
                    let (sum, place, inside) = match (&item.op, section.kind) {
                        (TileOp::RowSum(sum), _) => (*sum, i, inside),
                        (TileOp::RowOuter(sum), SectionKind::Outer { apart, .. }) => {
                            let n = [item.whole[0].2, item.whole[1].2];
                            let (k, m) = (this.emitter.over(&i, apart[1]), this.emitter.modulo(&i, apart[1]));
                            let k = this.emitter.add(&k, &Ix::Known(j * apart[0]));
                            let m = this.emitter.add(&m, &Ix::Known(l * apart[1]));
                            let row = this.emitter.times(&k, n[1]);
                            let place = this.emitter.add(&row, &m);
                            (*sum, place, format!("{inside} && {k} < {}u && {m} < {}u", n[0], n[1]))
                        }
                        _ => return,
                    };
                    this.emitter.open(&format!("if ({inside})"), 1);
                    this.sum(positions[sum], sum, &place, name);
                    this.emitter.close(1);
                });
            }
        }
    }

    /// Writes a number of a sum, whose first is at that position among those of the workgroup.
    fn sum(&mut self, first: usize, sum: usize, place: &Ix, name: &str) {
        let word = format!("bitcast<u32>({name})");
        if let (false, (_, Some(to))) = (self.chain.has_end(), self.chain.sums[sum]) {
            let group = self.emitter.times(&self.group.clone(), to.group);
            let flat = self.emitter.add(place, &group);
            let flat = self.emitter.add(&flat, &Ix::Known(to.offset));
            return written(&mut self.emitter, self.memory, to.node, &flat, &word);
        }
        let scratch = self.memory.written.len();
        self.emitter.written.insert(scratch);
        let row = self.emitter.times(&Ix::var("number"), self.tile.numbers());
        let flat = self.emitter.add(&row, place);
        let flat = self.emitter.add(&flat, &Ix::Known(first));
        self.emitter.line(&format!("{}[{flat}] = {word};", buffer(scratch)));
    }
}

/// Writes a word to all places of a value.
pub(super) fn written(emitter: &mut Emitter<'_>, memory: &Memory, node: u32, flat: &Ix, word: &str) {
    for (_, to, row) in memory.writes.iter().filter(|write| write.0 == node) {
        let flat = match row {
            None => flat.clone(),
            Some(level) => {
                emitter.levels = emitter.levels.max(level + 1);
                let step = Ix::var(&emitter.bind(format!("step{level}.x")));
                let len = emitter.graph.nodes[node as usize].len();
                let first = emitter.times(&step, len);
                emitter.add(&first, flat)
            }
        };
        let place = emitter.stored(*to, &flat);
        emitter.line(&format!("{place} = {word};"));
    }
}

/// The period of positions that are `first + i / period * apart + i % period * next`, with `apart` and `next`.
fn regular(at: &[u32]) -> Option<[usize; 3]> {
    let from = |i: usize| (at[i] as usize).checked_sub(at[0] as usize);
    (2..at.len()).filter(|period| at.len().is_multiple_of(*period)).find_map(|period| {
        let (apart, next) = (from(period)?, from(1)?);
        let is_regular = (0..at.len()).all(|i| from(i) == Some(i / period * apart + i % period * next));
        is_regular.then_some([period, apart, next])
    })
}

#[cfg(test)]
mod tests {
    use super::regular;

    #[test]
    fn positions_of_two_distances_need_no_table() {
        assert_eq!(regular(&[5, 7, 9, 25, 27, 29]), Some([3, 20, 2]));
        assert_eq!(regular(&[0, 0, 1, 1]), Some([2, 1, 0]));
        assert_eq!(regular(&[0, 1, 3, 4, 5, 6]), None);
    }
}
