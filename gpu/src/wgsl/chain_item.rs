//! Items of chains: what an invocation computes of a block, for four rows.

use quickstudy_kernels::DType;
use quickstudy_kernels::program::chains::{ChainProduct, Mem, Opnd, Reg, Table, ValueId};

use super::chain_code::{BlockAt, ChainCode};
use super::index::Ix;
use super::memory::Leaf;
use super::results::written;
use super::scalar::{binary_of_rows, number, rows_of, unary_of_rows, vector};
use crate::tile::{ROWS, TileItem, TileOp, composed};

/// Terms of a product in one turn of its loop.
pub(super) const STRETCH: usize = 16;

impl ChainCode<'_> {
    /// Position of block `m` by a table.
    pub(super) fn position(&mut self, table: &Table, m: &Ix) -> Ix {
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
    pub(super) fn word(&mut self, value: ValueId, flat: &Ix) -> String {
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
    pub(super) fn base(&mut self, mem: &Mem, table: &Table, m: &Ix) -> Ix {
        let at = self.position(table, m);
        let group = self.emitter.times(&self.group.clone(), mem.group);
        let at = self.emitter.add(&at, &group);
        self.emitter.add(&at, &Ix::Known(mem.offset))
    }

    /// Position in memory of a row, from that in row 0.
    pub(super) fn in_row(&mut self, base: &Ix, mem: &Mem, row: &Ix) -> Ix {
        let row = self.emitter.times(row, mem.row);
        self.emitter.add(base, &row)
    }

    /// Words of four rows in memory.
    pub(super) fn words(&mut self, mem: &Mem, table: &Table, at: &BlockAt) -> String {
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
    pub(super) fn shared(&mut self, reg: Reg, block: &Ix, q: &Ix) -> String {
        let by = self.emitter.times(q, self.tile.sizes[reg]);
        let at = self.emitter.add(block, &by);
        let at = self.emitter.add(&at, &Ix::Known(self.tile.places[reg].unwrap_or(usize::MAX)));
        format!("{}[{at}]", self.rows)
    }

    pub(super) fn typed(&mut self, words: String, dtype: DType) -> String {
        match dtype {
            DType::F32 => self.emitter.bind(format!("bitcast<vec4<f32>>({words})")),
            DType::U32 => words,
        }
    }

    /// Four rows of an operand.
    pub(super) fn operand(&mut self, item: &TileItem, operand: &Opnd, at: &BlockAt, dtype: DType) -> String {
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

    pub(super) fn item(&mut self, item: &TileItem, at: &BlockAt) {
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
    pub(super) fn keep(&mut self, item: &TileItem, k: usize, (name, dtype): (String, DType), at: &BlockAt) {
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

    pub(super) fn threefry(&mut self, item: &TileItem, at: &BlockAt) {
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

    pub(super) fn store(&mut self, mem: &Mem, words: &str, at: &BlockAt) {
        let node = self.chain.values[mem.value];
        let base = self.base(mem, &mem.table, &at.m);
        for c in 0..ROWS {
            let row = self.emitter.add(&at.first, &Ix::Known(c));
            let flat = self.in_row(&base, mem, &row);
            let head = if self.tile.is_even() { String::new() } else { format!("if ({row} < {}u)", self.tile.rows) };
            self.emitter.open(&head, 1);
            written(&mut self.emitter, self.memory, node, &flat, &format!("{words}[{c}]"));
            self.emitter.close();
        }
    }

    /// The sum of a register's blocks `[outer][n][inner]` over `n`, or the largest of them, and its type.
    pub(super) fn reduced(
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
    pub(super) fn stretch(&mut self, n: usize, mut term: impl FnMut(&mut Self, &Ix)) {
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
            self.emitter.close();
        }
        for k in whole * STRETCH..n {
            term(self, &Ix::Known(k));
            self.emitter.term();
        }
    }

    /// Words of table rows that an index chooses.
    pub(super) fn gathered(&mut self, item: &TileItem, (mem, n, inner): (&Mem, usize, usize), at: &BlockAt) -> String {
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
    pub(super) fn product(&mut self, item: &TileItem, product: &ChainProduct, at: &BlockAt) -> String {
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
