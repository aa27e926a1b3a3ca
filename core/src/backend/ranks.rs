//! Processes that train together, each with a device of its own.
//!
//! Every process ("rank", as in MPI) runs the same program on rows of its own, and all of them meet where a trace
//! [joins](crate::Context::sum_of_ranks) what they have: gradients, returns, statistics. Sums are made in a fixed tree,
//! so that each rank has the same bits, and the same again in another run.

mod threads;

pub use threads::ThreadRanks;

use std::fmt::Debug;

use crate::Result;

/// The processes that train together, as one of them sees them.
///
/// All of them make the same calls in the same order, with lists of the same lengths. A call returns once all have made
/// it.
pub trait Ranks: Debug {
    /// The number of this rank, from 0.
    fn rank(&self) -> usize;

    /// R, the number of ranks.
    fn count(&self) -> usize;

    /// Gives the words of all ranks, one rank after the other.
    ///
    /// # Errors
    /// If a rank is gone.
    fn gather(&self, words: &[u32]) -> Result<Vec<u32>>;

    /// Gives each rank its part of the words: they are R parts of equal lengths, of which part r goes to rank r. Gives
    /// the parts that all ranks have for this one, one rank after the other.
    ///
    /// # Errors
    /// If a rank is gone.
    fn exchange(&self, words: &[u32]) -> Result<Vec<u32>>;
}

/// Up to so many numbers, every rank sums all of them: one message is faster than two.
const FEW: usize = 1 << 10;

/// Sums numbers over ranks, each with those of the other ranks at the same place, in a fixed tree: the sums of ranks
/// 0 and 1, of 2 and 3, …, are summed in turn.
///
/// # Errors
/// If a rank is gone.
pub fn sum(ranks: &dyn Ranks, numbers: &[f32]) -> Result<Vec<f32>> {
    let count = ranks.count();
    let words: &[u32] = bytemuck::cast_slice(numbers);
    if numbers.len() <= FEW {
        return Ok(summed(bytemuck::cast_slice(&ranks.gather(words)?), count));
    }
    // Each rank sums a part for all of them.
    let part = numbers.len().div_ceil(count);
    let mut padded = words.to_vec();
    padded.resize(part * count, 0);
    let own = summed(bytemuck::cast_slice(&ranks.exchange(&padded)?), count);
    let mut all: Vec<f32> = bytemuck::cast_slice(&ranks.gather(bytemuck::cast_slice(&own))?).to_vec();
    all.truncate(numbers.len());
    Ok(all)
}

/// Sums the parts of `count` ranks, which stand one after the other, in the tree.
fn summed(parts: &[f32], count: usize) -> Vec<f32> {
    let mut parts: Vec<Vec<f32>> = parts.chunks((parts.len() / count).max(1)).map(<[f32]>::to_vec).collect();
    while parts.len() > 1 {
        for pair in parts.chunks_mut(2) {
            if let [first, second] = pair {
                first.iter_mut().zip(second).for_each(|(sum, more)| *sum += *more);
            }
        }
        parts = parts.into_iter().step_by(2).collect();
    }
    parts.pop().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What each of `count` ranks gets from `f`.
    fn each<T: Send>(count: usize, f: impl Fn(&ThreadRanks) -> T + Sync) -> Vec<T> {
        std::thread::scope(|scope| {
            let team = ThreadRanks::team(count).into_iter();
            let threads: Vec<_> = team
                .map(|ranks| {
                    scope.spawn({
                        let f = &f;
                        move || f(&ranks)
                    })
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        })
    }

    #[test]
    fn all_ranks_have_the_sums_of_the_tree() {
        for count in 1..=9 {
            for len in [1, 7, FEW, FEW + 1, 5000] {
                let of = |rank: usize, i: usize| ((rank * 31 + i * 7) % 97) as f32 * 0.1 + 1e-3 / (rank + 1) as f32;
                let sums = each(count, |ranks| {
                    let own: Vec<f32> = (0..len).map(|i| of(ranks.rank(), i)).collect();
                    sum(ranks, &own).unwrap()
                });
                fn tree(all: &[f32]) -> f32 {
                    match all {
                        [one] => *one,
                        _ => {
                            // The largest power of two below the length is the first half of a tree of pairs.
                            let half = all.len().next_power_of_two() / 2;
                            tree(&all[..half]) + tree(&all[half..])
                        }
                    }
                }
                let want: Vec<f32> =
                    (0..len).map(|i| tree(&(0..count).map(|rank| of(rank, i)).collect::<Vec<_>>())).collect();
                assert!(sums.iter().all(|got| *got == want), "{count} ranks, {len} numbers");
            }
        }
    }

    #[test]
    fn parts_come_in_the_order_of_ranks() {
        let got = each(3, |ranks| {
            let own: Vec<u32> = (0..6).map(|i| (100 * ranks.rank() + i) as u32).collect();
            (ranks.gather(&own[..2]).unwrap(), ranks.exchange(&own).unwrap())
        });
        for (rank, (gathered, exchanged)) in got.into_iter().enumerate() {
            let first = 2 * rank as u32;
            assert_eq!(gathered, [0, 1, 100, 101, 200, 201]);
            assert_eq!(exchanged, [0, 100, 200].map(|of| [of + first, of + first + 1]).as_flattened());
        }
    }
}
