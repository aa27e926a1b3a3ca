//! Sums over the rows of a chain, which invocations keep until their workgroup has had its last tile.

use quickstudy_kernels::DType;
use quickstudy_kernels::program::chains::Reg;

use super::body::buffer;
use super::chain_code::ChainCode;
use super::index::Ix;
use super::results::{GROUP, written};
use super::sums::positions;
use crate::tile::{ROWS, Section, SectionKind, TileItem, TileOp};

impl ChainCode<'_> {
    /// A vector of a register's block, whose rows beyond the last are 0.
    pub(super) fn inside_rows(&mut self, reg: Reg, block: &Ix, q: &Ix, front: &Ix) -> String {
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

    pub(super) fn row_sum(&mut self, item: &TileItem, m: &Ix, round: usize, front: &Ix) {
        let TileOp::RowSum(sum) = item.op else { return };
        let (reg, first, _) = item.whole[0];
        let block = if item.width == 1 { Ix::Known(0) } else { m.clone() };
        let block = self.emitter.add(&block, &Ix::Known(first));
        for q in 0..self.tile.lanes / ROWS {
            let x = self.inside_rows(reg, &block, &Ix::Known(q), front);
            self.emitter.line(&format!("sum{sum}_{round} += dot({x}, vec4<f32>(1.0f));"));
        }
    }

    pub(super) fn row_outer(
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
        self.emitter.close();
    }

    /// The variables of sums over rows.
    pub(super) fn sums_begin(&mut self) {
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
    pub(super) fn each_sum(
        &mut self,
        section: &Section,
        item: &TileItem,
        mut each: impl FnMut(&mut Self, &str, [usize; 3]),
    ) {
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
    pub(super) fn sums_end(&mut self) {
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
                    this.emitter.close();
                });
            }
        }
    }

    /// Writes a number of a sum, whose first is at that position among those of the workgroup.
    pub(super) fn sum(&mut self, first: usize, sum: usize, place: &Ix, name: &str) {
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
