//! Chains of row-local nodes, run tile by tile.
//!
//! A chain, whose nodes all act on the rows of one domain `[groups, rows]`, is compiled to a [`Tile`]: a straight list
//! of instructions on registers, each a lane-major block `[M][lanes]` that stays in the first-level caches. The list is
//! run for one tile of rows after the other; threads share the tiles. Sums over rows are gathered in partial sums, one
//! per slice of rows, whose number and order depend on the number of rows only.

mod chains;
mod form;
mod fuse;
mod instr;
mod layer;
mod link;
mod linked;
mod linker;
mod majors;
mod ops;
mod optimiser;
mod registers;
mod row_layer;
mod rows;
mod run;
mod shares;
#[cfg(test)]
mod tests;

use super::values::ValueId;
use crate::backend::Census;
use crate::tensor::{Binary, DType};

pub use crate::program::chains::{Mem, Opnd, Reg, Table};
pub use form::BUDGET;
pub use instr::{Dense, Instr, Own, TileLoop, Update};
pub use majors::Major;
pub use optimiser::find as find_updates;
pub use shares::Workspace;

/// A sum over rows.
#[derive(Clone, Debug)]
pub struct Terminal {
    /// The value that gets the sum: `[groups, size]`.
    pub dst: ValueId,
    /// Position of the first element in it.
    pub offset: usize,
    /// Distance of groups.
    pub group: usize,
    /// Elements per group.
    pub size: usize,
    /// Partial sums have 16 lanes each (a row sum), or one (an outer product).
    pub lanes: usize,
    /// The lanes of partial sums are `[16][size]`, not `[size][16]`.
    pub turned: bool,
}

/// A sum of squares of rows in memory, such as those of all gradients, that a tile makes once it has written them.
#[derive(Clone, Debug)]
pub struct Squares {
    /// The values that are squared: `len` per group.
    pub src: ValueId,
    /// Position of the first.
    pub offset: usize,
    /// Distance of groups.
    pub group: usize,
    /// Values per group.
    pub len: usize,
    /// Groups.
    pub groups: usize,
    /// The value that gets the sums: `[groups, 1]`.
    pub dst: ValueId,
}

impl Tile {
    /// The sum of squares that is all that this tile computes, if threads would not share it.
    pub fn only_squares(&self, threads: usize) -> Option<Squares> {
        let [Instr::Load { dst: row, src }, square, last] = &self.code[..] else { return None };
        let Instr::Binary { op: Binary::Mul, dtype: DType::F32, dst: square, a, b } = square else { return None };
        let ([sum], Instr::RowSum { terminal: 0, src: summed }) = (&self.terminals[..], last) else { return None };
        let one = Table::Dense { start: 0, len: 1 };
        let all = summed == square && *a == Opnd::Reg(*row, one.clone()) && a == b;
        let plain = src.row == 1 && src.per == 0 && src.table == one && (sum.offset, sum.size) == (0, 1);
        let (groups, len) = (self.groups, self.rows);
        let fits = all && plain && (groups == 1 || sum.group == 1) && self.shares(threads).workers == 1;
        fits.then_some(Squares { src: src.value, offset: src.offset, group: src.group, len, groups, dst: sum.dst })
    }

    /// Numbers of kernels for whole formulas and of wide layers.
    pub fn census(&self) -> Census {
        let mut census = self.census_of(&self.code);
        census.gradient_norms += self.squares.len();
        census
    }

    fn census_of(&self, code: &[Instr]) -> Census {
        let mut census = Census::default();
        for instr in code {
            match instr {
                Instr::Own(Own::Update(_)) => census.optimiser_steps += 1,
                Instr::Own(Own::Dense(product)) if product.strides[3] >= 16 => match self.majors[product.dst] {
                    Major::Rows => census.row_layers += 1,
                    Major::Lanes => census.lane_layers += 1,
                },
                Instr::Loop(l) => {
                    census += self.census_of(&l.code);
                    census.plays_in_tiles += usize::from(l.level == 0 && plays(&l.code));
                }
                _ => {}
            }
        }
        census
    }
}

/// Tells whether instructions step environments.
pub fn plays(code: &[Instr]) -> bool {
    code.iter().any(|instr| match instr {
        Instr::Call { .. } => true,
        Instr::Loop(l) => plays(&l.code),
        _ => false,
    })
}

/// A group of nodes compiled for tiles of rows.
#[derive(Clone, Debug)]
pub struct Tile {
    /// Number of groups whose rows never share a tile; 1 where rows of all groups do.
    pub groups: usize,
    /// Rows per group.
    pub rows: usize,
    /// Rows per tile, a multiple of 16.
    pub lanes: usize,
    /// First block of each register in a thread's scratch, and its number of blocks.
    pub registers: Vec<(usize, usize)>,
    /// How each register lies.
    pub majors: Vec<Major>,
    /// Blocks of scratch.
    pub blocks: usize,
    /// The instructions.
    pub code: Vec<Instr>,
    /// Sums over rows.
    pub terminals: Vec<Terminal>,
    /// Sums of squares of what this tile completes.
    pub squares: Vec<Squares>,
    /// Rough number of operations per row.
    pub work: usize,
    /// Nesting of loops.
    pub depth: usize,
    /// The parts to run: the instructions with chains joined, made at the first run.
    pub linked: std::sync::OnceLock<linked::LinkedTile>,
}
