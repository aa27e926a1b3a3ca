//! Passes over data in minibatches.

use crate::Tensor;
use crate::dist::fold_in;
use crate::tensor::scan_tree;

/// How a pass over rows is split into parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Split {
    /// A number of parts of equal size, which divides that of the rows.
    Count(usize),
    /// Parts of this many rows, the last of which has what is left: 40 rows in parts of 32 are 32 and 8.
    Size(usize),
}

impl Split {
    /// The number of parts of `rows` rows.
    #[must_use]
    pub fn count(self, rows: usize) -> usize {
        match self {
            Split::Count(count) => count,
            Split::Size(size) => rows.div_ceil(size.max(1)).max(1),
        }
    }

    /// The most rows of a part of `rows` rows.
    #[must_use]
    pub fn size(self, rows: usize) -> usize {
        match self {
            Split::Count(count) => rows / count.max(1),
            Split::Size(size) => size.min(rows),
        }
    }
}

/// The divisor of `all` that is nearest to `wanted`: how many parts of equal size there can be.
pub(crate) fn nearest_divisor(all: usize, wanted: usize) -> usize {
    (1..=all).filter(|d| all.is_multiple_of(*d)).min_by_key(|d| d.abs_diff(wanted)).unwrap_or(1)
}

/// Passes over rows of data in minibatches, each pass in another order.
#[derive(Clone, Copy, Debug)]
pub struct Passes {
    /// The number of passes over all rows.
    pub passes: usize,
    /// The minibatches of a pass.
    pub split: Split,
    /// Rows of each seed.
    pub rows: usize,
    /// The key of the orders, as words `[S, 1]`.
    pub order: [Tensor; 2],
    /// The rows of all passes in the order of minibatches, u32 `[S, passes · rows, 1]`, if
    /// [`dealt`](Passes::dealt) has dealt them.
    pub dealt: Option<Tensor>,
}

impl Passes {
    /// Passes over rows of which only some are valid: `valid`, u32 `[S, rows, 1]`, is not 0 there. Each pass
    /// deals the valid rows to a number of minibatches in turn, so that their numbers of valid rows differ by at
    /// most one; the other rows fill the rest. Minibatches of a size are filled with valid rows one after the other, so
    /// that one of them has what is left, and those behind it have none. Orders are drawn among `most` rows, at least
    /// as many as there are: the same valid rows are dealt in the same way, however many others follow.
    #[must_use]
    #[track_caller]
    pub fn dealt(self, valid: Tensor, most: usize) -> Passes {
        let Passes { passes, rows, order, .. } = self;
        let seeds = order[0].size(0);
        let (m, size) = (self.minibatches() as f64, self.size() as f64);
        let counts = valid.reshape(&[seeds, rows]).ne(Tensor::constant_u32(0));
        let counted = running_sum(counts.to_f32());
        let all = counted.slice(1, rows - 1, rows);
        let ((), all) = scan_tree(passes, &(), &(), |pass, (), ()| {
            let row = Tensor::iota(&[seeds, rows], 1);
            // Valid rows are dealt in the order of these numbers: a mark at each, and the count of marks up to it.
            let drawn = row.permutation(fold_in(order, pass), most);
            let mark = counts.select(drawn, Tensor::constant_u32(u32::MAX));
            let marks = Tensor::zeros(&[seeds, most, 1]).store(mark, Tensor::full(&[seeds, rows, 1], 1.0));
            let dealt = running_sum(marks.reshape(&[seeds, most])).unsqueeze(2).gather(drawn).reshape(&[seeds, rows]);
            // The place in the deal, from 0: valid rows come first. Numbers of rows are whole and exact in f32.
            let place = counts.select(dealt - 1.0, all + row.to_f32() - counted);
            let in_turn = || {
                let round = (place * (1.0 / m)).floor();
                let over = place - round * m;
                let none = Tensor::constant_f32(0.0);
                let round = round + over.lt(Tensor::constant_f32(m)).not().to_f32() - over.lt(none).to_f32();
                (place - round * m) * size + round
            };
            let to = if let Split::Count(_) = self.split { in_turn() } else { place };
            let empty = Tensor::constant_u32(0).broadcast_to(&[seeds, rows, 1]);
            ((), empty.store(to.to_u32(), row.unsqueeze(2)))
        });
        let dealt = all.map(|all| all.permute(&[1, 0, 2, 3]).reshape(&[seeds, passes * rows, 1]));
        Passes { dealt, ..self }
    }

    /// The number of minibatches in a pass.
    pub fn minibatches(&self) -> usize {
        self.split.count(self.rows)
    }

    /// The rows of a minibatch, and of the last one with its padding.
    fn size(&self) -> usize {
        self.split.size(self.rows)
    }

    /// The number of minibatches in all passes, which is the length of the loop over them.
    pub fn steps(&self) -> usize {
        self.passes * self.minibatches()
    }

    /// The loop's inputs for each minibatch: the number of its pass, and of its first row.
    #[track_caller]
    pub fn xs(&self) -> [Tensor; 2] {
        let of = |f: &dyn Fn(usize) -> usize| {
            Tensor::literal_u32(&(0..self.steps()).map(|i| f(i) as u32).collect::<Vec<_>>())
        };
        let (minibatches, size) = (self.minibatches(), self.size());
        [of(&|i| i / minibatches), of(&|i| i % minibatches * size)]
    }

    /// The inputs of a loop over the minibatches of one pass, of number `pass`, u32 `[]`, as [`xs`](Passes::xs).
    #[track_caller]
    pub fn of_pass(&self, pass: Tensor) -> [Tensor; 2] {
        let (minibatches, size) = (self.minibatches(), self.size());
        let firsts: Vec<u32> = (0..minibatches).map(|i| (i * size) as u32).collect();
        [pass.broadcast_to(&[minibatches]), Tensor::literal_u32(&firsts)]
    }

    /// The numbers of a minibatch's rows, u32 `[S, B]`, from its element of [`xs`](Passes::xs). The last minibatch of a
    /// pass may be padded by a row that does [not count](Passes::counted).
    #[track_caller]
    pub fn index(&self, x: &[Tensor; 2]) -> Tensor {
        let (seeds, size) = (self.order[0].size(0), self.size());
        let word = |x: usize| Tensor::constant_u32(u32::try_from(x).unwrap_or(u32::MAX));
        let all = Tensor::iota(&[seeds, size], 1);
        // The rows of earlier passes are before those of this one, if they have been dealt.
        let before = self.dealt.map(|_| x[0] * word(self.rows));
        let at = match self.counted(x) {
            None => all + before.map_or(x[1], |before| before + x[1]),
            Some(counted) => {
                let at = counted.reshape(&[seeds, size]).select(all + x[1], word(self.rows.saturating_sub(1)));
                before.map_or(at, |before| at + before)
            }
        };
        match self.dealt {
            Some(dealt) => dealt.gather(at).reshape(&[seeds, size]),
            None => at.permutation(fold_in(self.order, x[0]), self.rows),
        }
    }

    /// 1 for rows of a minibatch that count, 0 for its padding, u32 `[S, B, 1]`; none if no minibatch is padded.
    #[track_caller]
    pub fn counted(&self, x: &[Tensor; 2]) -> Option<Tensor> {
        let (seeds, size) = (self.order[0].size(0), self.size());
        let padded = !self.rows.is_multiple_of(size.max(1));
        let rows = u32::try_from(self.rows).unwrap_or(u32::MAX);
        padded.then(|| (Tensor::iota(&[seeds, size, 1], 1) + x[1]).lt(Tensor::constant_u32(rows)))
    }
}

/// Numbers that a running sum adds up by themselves.
const BLOCK: usize = 64;

/// Sums each row's numbers up to and with each of them, `[S, N]` → `[S, N]`. Whole numbers stay exact up to 2^24; of
/// others, the order of additions is not that of the row.
#[track_caller]
pub(crate) fn running_sum(x: Tensor) -> Tensor {
    let (seeds, n) = (x.size(0), x.size(1));
    if n <= BLOCK {
        return std::iter::successors(Some(1), |by| Some(by * 2)).take_while(|by| *by < n).fold(x, |sum, by| {
            let before = Tensor::concat(&[Tensor::zeros(&[seeds, by]), sum.slice(1, 0, n - by)], 1);
            sum + before
        });
    }
    let blocks = n.div_ceil(BLOCK);
    let x = if blocks * BLOCK == n { x } else { x.pad(1, 0, blocks * BLOCK - n) };
    let within = running_sum(x.reshape(&[seeds * blocks, BLOCK]));
    let of_blocks = within.slice(1, BLOCK - 1, BLOCK).reshape(&[seeds, blocks]);
    let before = running_sum(of_blocks) - of_blocks;
    let all = within.reshape(&[seeds, blocks, BLOCK]) + before.unsqueeze(2);
    all.reshape(&[seeds, blocks * BLOCK]).slice(1, 0, n)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::State;
    use crate::{Device, Program};

    /// However many rows follow, the valid ones are dealt in the same way.
    #[test]
    fn rows_are_dealt_alike_with_others_behind_them() {
        let (minibatches, most, valid) = (4, 4000, |row: usize| u32::from(!row.is_multiple_of(3) && row < 90));
        let device = Device::cpu(1);
        let dealt = |rows: usize| {
            let mut program = Program::new(&device, |cx| {
                let order = [1, 2].map(|word| Tensor::literal_u32(&[word]).reshape(&[1, 1]));
                let valid: Vec<u32> = (0..rows).map(valid).collect();
                let all = Passes { passes: 2, split: Split::Count(minibatches), rows, order, dealt: None };
                let all = all.dealt(Tensor::literal_u32(&valid).reshape(&[1, rows, 1]), most);
                let ((), index) = scan_tree(all.steps(), &(), &all.xs(), |_, (), x| ((), all.index(&x)));
                cx.output("rows", index.unwrap());
            })
            .unwrap();
            let out = program.run(&State::new(), &[], &[]).unwrap();
            let got = pollster::block_on(device.read_u32(out.get("rows").unwrap())).unwrap();
            // The sixty valid rows come first in their minibatches.
            got.chunks(rows / minibatches).map(|part| part[..15].to_vec()).collect::<Vec<_>>()
        };
        let few = dealt(92);
        assert_eq!(few.len(), 8);
        assert!(few.iter().flatten().all(|row| valid(*row as usize) == 1), "{few:?}");
        assert!(few[..4] != few[4..], "each pass has its own order");
        assert_eq!(few, dealt(1000));
        assert_eq!(few, dealt(most));
    }

    /// In each pass, every row comes once, and minibatches have equal numbers of valid rows, to one.
    #[test]
    fn rows_that_count_are_dealt_evenly_and_anew_in_each_pass() {
        for (rows, minibatches, counts) in [(24, 4, 11), (24, 4, 24), (30, 5, 3), (700, 7, 333), (6, 1, 2)] {
            let (seeds, passes) = (2, 3);
            // The second seed has one valid row more, if there is one.
            let valid: Vec<u32> =
                (0..seeds * rows).map(|i| u32::from((i % rows * 7) % rows.max(8) < counts + i / rows)).collect();
            let device = Device::cpu(1);
            let mut program = Program::new(&device, |cx| {
                let order = [1, 2].map(|word| Tensor::literal_u32(&[word, word + 5]).reshape(&[seeds, 1]));
                let all = Passes { passes, split: Split::Count(minibatches), rows, order, dealt: None };
                let all = all.dealt(Tensor::literal_u32(&valid).reshape(&[seeds, rows, 1]), 3 * rows);
                let ((), index) = scan_tree(all.steps(), &(), &all.xs(), |_, (), x| ((), all.index(&x)));
                cx.output("rows", index.unwrap());
            })
            .unwrap();
            let out = program.run(&State::new(), &[], &[]).unwrap();
            let got = pollster::block_on(device.read_u32(out.get("rows").unwrap())).unwrap();
            let size = rows / minibatches;
            let of = |pass: usize, part: usize, seed: usize| {
                &got[((pass * minibatches + part) * seeds + seed) * size..][..size]
            };
            let mut orders: Vec<Vec<u32>> = Vec::new();
            for (pass, seed) in (0..passes).flat_map(|pass| (0..seeds).map(move |seed| (pass, seed))) {
                let parts: Vec<&[u32]> = (0..minibatches).map(|part| of(pass, part, seed)).collect();
                let mut all = parts.concat();
                orders.push(all.iter().copied().filter(|row| valid[seed * rows + *row as usize] > 0).collect());
                all.sort_unstable();
                assert!(all.iter().copied().eq(0..rows as u32), "{all:?}");
                let count = |part: &&[u32]| part.iter().filter(|row| valid[seed * rows + **row as usize] > 0).count();
                let each: Vec<usize> = parts.iter().map(count).collect();
                assert_eq!(each.iter().sum::<usize>(), valid[seed * rows..][..rows].iter().sum::<u32>() as usize);
                assert!(each.iter().max().unwrap() - each.iter().min().unwrap() <= 1, "{each:?}");
            }
            orders.sort_unstable();
            orders.dedup();
            assert!(counts < 8 || orders.len() == passes * seeds, "orders differ");
        }
    }

    /// In each pass 40 rows in minibatches of 32 are 32 and 8, of which every row comes once, and the padding does not
    /// count. Of 19 valid rows, minibatches of 8 have 8, 8 and 3, and the others none.
    #[test]
    fn minibatches_of_a_size_have_so_many_rows_and_the_last_what_is_left() {
        for (rows, size, valid, counts) in [
            (40, 32, 40, vec![32, 8]),
            (40, 20, 40, vec![20, 20]),
            (7, 2, 7, vec![2, 2, 2, 1]),
            (5, 9, 5, vec![5]),
            (36, 8, 19, vec![8, 8, 3, 0, 0]),
        ] {
            let (seeds, passes, device) = (2, 3, Device::cpu(1));
            // The valid rows are not the first ones.
            let is_valid: Vec<u32> = (0..rows).map(|i| u32::from(i >= rows - valid)).collect();
            let mut program = Program::new(&device, |cx| {
                let order = [1, 2].map(|word| Tensor::literal_u32(&[word, word + 5]).reshape(&[seeds, 1]));
                let all = Passes { passes, split: Split::Size(size), rows, order, dealt: None };
                let mask = Tensor::literal_u32(&[is_valid.clone(), is_valid.clone()].concat());
                let all = if valid < rows { all.dealt(mask.reshape(&[seeds, rows, 1]), 2 * rows) } else { all };
                let ((), x) = scan_tree(all.steps(), &(), &all.xs(), |_, (), x| {
                    let one = Tensor::constant_u32(1).broadcast_to(&[seeds, size.min(rows), 1]);
                    let counted = all.counted(&x).unwrap_or(one).reshape(&[seeds, size.min(rows)]);
                    ((), [all.index(&x), counted])
                });
                let [index, counted] = x.unwrap();
                cx.output("rows", index);
                cx.output("counted", counted);
            })
            .unwrap();
            let out = program.run(&State::new(), &[], &[]).unwrap();
            let [index, counted] =
                ["rows", "counted"].map(|name| pollster::block_on(device.read_u32(out.get(name).unwrap())).unwrap());
            let size = size.min(rows);
            assert_eq!(index.len(), passes * counts.len() * seeds * size);
            for (pass, seed) in (0..passes).flat_map(|pass| (0..seeds).map(move |seed| (pass, seed))) {
                let mut all = Vec::new();
                for (part, count) in counts.iter().enumerate() {
                    let from = ((pass * counts.len() + part) * seeds + seed) * size;
                    let own = (from..from + size).filter(|at| counted[*at] == 1).map(|at| index[at]);
                    let own: Vec<u32> = own.collect();
                    let of_valid = own.iter().filter(|row| is_valid[**row as usize] == 1).count();
                    assert_eq!(of_valid, *count, "{rows} rows in parts of {size}, part {part}");
                    all.extend(own);
                }
                all.sort_unstable();
                assert!(all.iter().copied().eq(0..rows as u32), "{rows} rows in parts of {size}: {all:?}");
            }
        }
    }
}
