//! Chains: a workgroup computes the rows of one tile after the other, in workgroup memory and in variables, and keeps
//! sums over rows until its last tile (`chain_sums`). Where several workgroups share the rows, a second dispatch adds
//! their sums (`sums`).

use std::collections::HashMap;

use quickstudy_kernels::Result;
use quickstudy_kernels::tensor::Graph;

use super::body::Body;
use super::chain_code::{BlockAt, ChainCode};
use super::chain_item::STRETCH;
use super::emit::Emitter;
use super::index::Ix;
use super::memory::Memory;
use super::results::GROUP;
use crate::plan::PlannedChain;
use crate::tile::{ROWS, Section, SectionKind, Tile, TileOp};
use crate::work::{Cost, Work};

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

/// Counts the work of an invocation in all of its tiles.
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

impl ChainCode<'_> {
    fn turns(&mut self, head: &str, n: usize) {
        // The emitter's blocks take closures that have the emitter alone.
        self.emitter.open(head, n);
        self.tile();
        self.emitter.line("workgroupBarrier();");
        self.emitter.close();
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
                self.emitter.close();
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
        self.emitter.close();
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
}
