//! Workgroup memory: registers that are not alive at the same time share it.

use quickstudy_kernels::program::chains::{Opnd, Reg};

use super::item::TileItem;
use super::size::ROWS;

/// Where registers are in workgroup memory.
pub(super) struct RegisterPool {
    /// The first vector of each register that is there.
    pub places: Vec<Option<usize>>,
    /// Vectors in all.
    pub vectors: usize,
}

/// A register from its first level to its last one.
#[derive(Clone, Copy)]
struct Life {
    first: usize,
    last: usize,
    /// Invocations read it that have not computed it.
    is_kept: bool,
    /// The section that computes it.
    written_in: [usize; 2],
    /// The item that computes it, if it is the only one and computes block by block in order.
    writer: Option<usize>,
    /// The last item that reads it, and its section, if at the last level only this section reads it, each block for
    /// the block of the same number.
    reader: Option<(usize, [usize; 2])>,
}

impl Life {
    fn read(&mut self, item: usize, at: [usize; 2], is_own: bool) {
        let same_section = self.reader.is_some_and(|reader| reader.1 == at);
        self.reader = match at[0] > self.last || same_section {
            true => is_own.then_some((item, at)),
            false => None,
        };
        self.last = self.last.max(at[0]);
        self.is_kept |= !is_own || self.written_in != at;
    }

    /// Tells whether both are alive at some level.
    fn meets(&self, other: &Life) -> bool {
        self.first <= other.last && other.first <= self.last
    }

    /// Tells whether this register may be written where the other one is: each invocation reads a block of the other
    /// one for the last time before it writes the same block.
    fn replaces(&self, other: &Life) -> bool {
        let (Some(writer), Some((reader, section))) = (self.writer, other.reader) else { return false };
        self.first == other.last && section == self.written_in && reader <= writer
    }
}

/// Lays out the registers of a chain's items, which are in these levels and sections.
pub(super) fn pool(
    items: &[TileItem],
    loads: &[Option<usize>],
    sizes: &[usize],
    of: &[Option<[usize; 2]>],
    lanes: usize,
) -> RegisterPool {
    let lives = lives(items, loads, sizes, of);
    let kept = |reg: Reg| lives[reg].filter(|life| life.is_kept).map(|life| (reg, life));
    let mut order: Vec<(Reg, Life)> = (0..sizes.len()).filter_map(kept).collect();
    order.sort_by_key(|(reg, life)| (life.first, std::cmp::Reverse(sizes[*reg]), *reg));
    let (mut places, mut vectors) = (vec![None; sizes.len()], 0);
    let mut placed: Vec<(Reg, Life, [usize; 2])> = Vec::new();
    for (reg, life) in order {
        let len = sizes[reg] * lanes / ROWS;
        let in_the_way = |but: Option<Reg>| -> Vec<[usize; 2]> {
            let others = placed.iter().filter(|(other, its, _)| life.meets(its) && but != Some(*other));
            let mut taken: Vec<[usize; 2]> = others.map(|(.., at)| *at).collect();
            taken.sort_unstable();
            taken
        };
        let replaced = placed.iter().find(|(other, its, [first, end])| {
            let is_free = |taken: &[usize; 2]| taken[1] <= *first || *end <= taken[0];
            sizes[*other] == sizes[reg] && life.replaces(its) && in_the_way(Some(*other)).iter().all(is_free)
        });
        let first = match replaced {
            Some((.., [first, _])) => *first,
            None => in_the_way(None)
                .into_iter()
                .fold(0, |at, [first, end]| if at + len <= first { at } else { at.max(end) }),
        };
        places[reg] = Some(first);
        vectors = vectors.max(first + len);
        placed.push((reg, life, [first, first + len]));
    }
    RegisterPool { places, vectors }
}

/// The life of each register that items compute.
fn lives(items: &[TileItem], loads: &[Option<usize>], sizes: &[usize], of: &[Option<[usize; 2]>]) -> Vec<Option<Life>> {
    let mut lives: Vec<Option<Life>> = vec![None; sizes.len()];
    for (i, item) in items.iter().enumerate() {
        let Some(at) = of[i] else { continue };
        // What it reads may be where it writes.
        let mut read = |reg: Reg, is_own: bool| {
            if let Some(life) = &mut lives[reg] {
                life.read(i, at, is_own);
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
        for (reg, _) in &item.dst {
            let writer = item.writes_own(*reg, sizes).then_some(i);
            let new = Life { first: at[0], last: at[0], is_kept: false, written_in: at, writer, reader: None };
            match &mut lives[*reg] {
                None => lives[*reg] = Some(new),
                Some(life) => {
                    (life.first, life.last) = (life.first.min(at[0]), life.last.max(at[0]));
                    // Computed by several.
                    (life.writer, life.reader, life.is_kept) = (None, None, true);
                }
            }
        }
    }
    lives
}

#[cfg(test)]
mod tests {
    use quickstudy_kernels::DType;
    use quickstudy_kernels::program::chains::Table;
    use quickstudy_kernels::tensor::Unary;

    use super::super::item::TileOp;
    use super::*;

    /// An item that computes a register from another one of four blocks, block by block or from all of them.
    fn item(dst: Reg, src: Reg, own: bool) -> TileItem {
        let all = Table::Dense { start: 0, len: 4 };
        let (op, operand) = (TileOp::Unary(Unary::Neg, DType::F32), Opnd::Reg(src, all.clone()));
        let (src, whole) = if own { (vec![operand], Vec::new()) } else { (Vec::new(), vec![(src, 0, 4)]) };
        TileItem { op, width: 4, src, whole, dst: vec![(dst, all)] }
    }

    #[test]
    fn a_register_replaces_one_that_is_read_for_the_last_time_by_the_same_invocations() {
        let places = |own: bool| {
            // 0 is computed, 1 from all of it, 2 from 1, and 3 from all of 2.
            let items = [item(0, 9, false), item(1, 0, false), item(2, 1, own), item(3, 2, false), item(4, 3, false)];
            let of = [Some([0, 0]), Some([1, 0]), Some([2, 0]), Some([3, 0]), Some([4, 0])];
            pool(&items, &[None; 10], &[4; 10], &of, 4).places
        };
        assert_eq!(places(true)[..4], [Some(0), Some(4), Some(4), Some(0)]);
        assert_eq!(places(false)[..4], [Some(0), Some(4), Some(0), Some(4)]);
    }
}
