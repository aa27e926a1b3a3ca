//! From a chain to a tile: what is joined, how registers lie, and how many rows the caches hold.

use super::registers::assign;
use super::{Instr, Major, Own, Terminal, Tile};
use crate::program::chains::{ChainBudget, RowChain};

/// The room of a tile: longer rows and larger sums fit into no cache.
pub const BUDGET: ChainBudget = ChainBudget { widest: 4096, largest_sum: 4096, merged: true };

/// Results of a product that are computed before what follows is done with them: 12 KiB, a fraction of a first-level
/// cache.
const PART: usize = 24 * 128;

impl Tile {
    /// A tile that does what a chain says, with rows that so many threads share.
    #[inline(never)]
    pub fn new(chain: RowChain<Own>, threads: usize) -> Tile {
        let RowChain { groups, rows, mut sizes, code, terminals, work, depth } = chain;
        // A tile for each thread, if they share rows and not groups.
        let share = if groups == 1 { rows.div_ceil(threads) } else { rows }.next_multiple_of(16);
        let mut code = super::fuse::fuse(code, &mut sizes, PART / share.min(128));
        let majors = super::majors::choose(&mut code, &mut sizes);
        let sum = |(dst, size)| Terminal { dst, offset: 0, group: size, size, lanes: 1, turned: false };
        let mut terminals: Vec<Terminal> = terminals.into_iter().map(sum).collect();
        for instr in &code {
            if let Instr::RowSum { terminal, src } = instr {
                (terminals[*terminal].lanes, terminals[*terminal].turned) = (16, majors[*src] == Major::Rows);
            }
        }
        let (registers, blocks) = assign(&code, &sizes);
        let widest = registers.iter().map(|r| r.1).max().unwrap_or(1);
        let cap = match widest {
            0..=1 => 1024,
            2..=4 => 256,
            _ => 128,
        };
        // At most this much scratch: the second-level cache is shared with the data.
        let room = ((1 << 16) / blocks.max(1) / 16 * 16).max(16);
        // Single values have no products whose tiles had better be wide: the first-level cache is what counts.
        let room = if widest == 1 { ((1 << 13) / blocks.max(1) / 16 * 16).clamp(128, 1024) } else { room };
        let lanes = share.min(cap).min(room.max(if widest > 16 { 128 } else { 16 }));
        Tile {
            groups,
            rows,
            lanes,
            registers,
            majors,
            blocks,
            code,
            terminals,
            squares: Vec::new(),
            work,
            depth,
            linked: std::sync::OnceLock::new(),
        }
    }
}
