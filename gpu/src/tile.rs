//! Tiles: how a workgroup computes a chain, some rows of it at a time.
//!
//! A value of a row that several invocations need is a register in workgroup memory: for each four rows of the tile a
//! vector of every block, so that neighbours read neighbours. `item` turns the instructions of a chain into items, each
//! of which is computed block by block. `schedule` puts items that need no barrier between them into one level, and
//! within it those that one invocation computes one after the other, in variables, into one section. `pool` lays the
//! registers that outlive their section out in memory. Sums over rows are kept by invocations until the workgroup has
//! had its last tile.

mod item;
mod pool;
mod schedule;
mod size;

use quickstudy_kernels::program::chains::{ChainBudget, ChainProduct, RowChain};

pub(crate) use item::{TileItem, TileOp, composed};
use pool::RegisterPool;
use schedule::{Levels, levels};
pub(crate) use schedule::{Section, SectionKind};
pub(crate) use size::ROWS;

/// Rows of a tile, best first.
const TILES: [usize; 3] = [16, 8, 4];
/// Workgroups of a group of rows at most: the next dispatch adds their sums.
const WORKGROUPS: usize = 128;
/// Numbers of partial sums at most, of all workgroups together.
const PARTIAL_SUMS: usize = 1 << 23;

/// The room of a workgroup for a chain.
pub(crate) const BUDGET: ChainBudget = ChainBudget { widest: 256, largest_sum: 128 * 128, merged: false };

/// A chain as workgroups compute it.
#[derive(Clone, Debug)]
pub(crate) struct Tile {
    /// Groups of rows.
    pub groups: usize,
    /// Rows of a group.
    pub rows: usize,
    /// Rows of a tile: a multiple of [`ROWS`].
    pub lanes: usize,
    /// Workgroups of a group of rows.
    pub workgroups: usize,
    /// Tiles that a workgroup computes one after the other.
    pub turns: usize,
    /// Blocks of each register.
    pub sizes: Vec<usize>,
    /// The items.
    pub items: Vec<TileItem>,
    /// For each register that is loaded from memory, its item.
    pub loads: Vec<Option<usize>>,
    /// The sections of each level. Between levels there are barriers.
    pub levels: Vec<Vec<Section>>,
    /// The first vector of each register that is in workgroup memory.
    pub places: Vec<Option<usize>>,
    /// Vectors of workgroup memory.
    pub vectors: usize,
    /// Numbers of each sum over rows, per group.
    pub sums: Vec<usize>,
}

impl Tile {
    /// The tile of a chain, if so many bytes of workgroup memory are enough and a workgroup can do all that it does.
    pub fn new(chain: &RowChain<ChainProduct>, bytes: usize) -> Option<Tile> {
        let (items, loads) = item::items(chain)?;
        let sums: Vec<usize> = chain.terminals.iter().map(|sum| sum.1).collect();
        let fits = TILES.into_iter().filter(|lanes| *lanes == ROWS || *lanes < 2 * chain.rows);
        for lanes in fits {
            let Levels { levels, of } = levels(&items, &loads, &chain.sizes, lanes)?;
            let RegisterPool { places, vectors } = pool::pool(&items, &loads, &chain.sizes, &of, lanes);
            if 16 * vectors > bytes {
                continue;
            }
            let tiles = chain.rows.div_ceil(lanes);
            let all: usize = sums.iter().sum::<usize>() * chain.groups;
            let most = (PARTIAL_SUMS / all.max(1)).clamp(1, WORKGROUPS);
            let turns = tiles.div_ceil(most);
            return Some(Tile {
                groups: chain.groups,
                rows: chain.rows,
                lanes,
                workgroups: tiles.div_ceil(turns),
                turns,
                sizes: chain.sizes.clone(),
                items,
                loads,
                levels,
                places,
                vectors,
                sums,
            });
        }
        None
    }

    /// Numbers of all sums over rows, per group.
    pub fn numbers(&self) -> usize {
        self.sums.iter().sum()
    }

    /// Tells whether no tile has rows beyond the last.
    pub fn is_even(&self) -> bool {
        self.workgroups * self.turns * self.lanes == self.rows
    }
}
