//! Workgroup memory: registers that are not alive at the same time share it.

use quickstudy_kernels::program::chains::{Opnd, Reg};

use super::item::TileItem;
use super::schedule::Section;
use super::stride;

/// Where registers are in workgroup memory.
pub(super) struct Pool {
    /// The first vector of each register that is there.
    pub places: Vec<Option<usize>>,
    /// Vectors in all.
    pub vectors: usize,
}

/// The levels at which a register is written and read, and its section, if all is in one.
#[derive(Clone, Copy)]
struct Life {
    first: usize,
    last: usize,
    /// Read by others than those that have it in a variable.
    is_kept: bool,
}

/// Lays out the registers of a chain's items, which are in these levels.
pub(super) fn pool(
    items: &[TileItem],
    loads: &[Option<usize>],
    sizes: &[usize],
    (levels, of): (&[Vec<Section>], &[Option<[usize; 2]>]),
    lanes: usize,
) -> Pool {
    let mut lives: Vec<Option<Life>> = vec![None; sizes.len()];
    let mut written_in: Vec<Option<[usize; 2]>> = vec![None; sizes.len()];
    for (i, item) in items.iter().enumerate() {
        let Some(at) = of[i] else { continue };
        for (reg, _) in &item.dst {
            let life = lives[*reg].get_or_insert(Life { first: at[0], last: at[0], is_kept: false });
            (life.first, life.last) = (life.first.min(at[0]), life.last.max(at[0]));
            written_in[*reg] = Some(at);
        }
        let mut read = |reg: Reg, own: bool| {
            if let Some(life) = &mut lives[reg] {
                life.last = life.last.max(at[0]);
                life.is_kept |= !own || written_in[reg] != Some(at);
            }
        };
        item.whole.iter().for_each(|(reg, ..)| read(*reg, false));
        for operand in &item.src {
            if let Opnd::Reg(reg, _) = operand
                && loads[*reg].is_none()
            {
                read(*reg, item.is_own(operand, sizes));
            }
        }
    }
    let mut order: Vec<Reg> = (0..sizes.len()).filter(|reg| lives[*reg].is_some_and(|life| life.is_kept)).collect();
    let life = |reg: Reg| lives[reg].unwrap_or(Life { first: 0, last: levels.len(), is_kept: true });
    order.sort_by_key(|reg| (life(*reg).first, std::cmp::Reverse(sizes[*reg]), *reg));
    let (mut places, mut vectors) = (vec![None; sizes.len()], 0);
    let mut placed: Vec<(Reg, usize, usize)> = Vec::new();
    for reg in order {
        let (this, len) = (life(reg), sizes[reg] * stride(lanes));
        let mut taken: Vec<(usize, usize)> = placed
            .iter()
            .filter(|(other, ..)| life(*other).first <= this.last && this.first <= life(*other).last)
            .map(|(_, first, len)| (*first, first + len))
            .collect();
        taken.sort_unstable();
        let first = taken.into_iter().fold(0, |at, (first, end)| if at + len <= first { at } else { at.max(end) });
        places[reg] = Some(first);
        vectors = vectors.max(first + len);
        placed.push((reg, first, len));
    }
    Pool { places, vectors }
}
