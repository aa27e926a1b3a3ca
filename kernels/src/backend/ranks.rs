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

    /// Gives the words of all ranks, one rank after the other, in `all`, which is R times as long as `words`.
    ///
    /// # Errors
    /// If a rank is gone.
    fn gather(&self, words: &[u32], all: &mut [u32]) -> Result<()>;

    /// Gives each rank its part of the words: they are R parts of equal lengths, of which part r goes to rank r. Gives
    /// the parts that all ranks have for this one, one rank after the other, in `got`, which is as long as `words`.
    ///
    /// # Errors
    /// If a rank is gone.
    fn exchange(&self, words: &[u32], got: &mut [u32]) -> Result<()>;
}

/// Up to so many numbers, every rank sums all of them: one message is faster than two.
const FEW: usize = 1 << 10;

/// The most numbers of a message, where each rank sums a part: more would leave the caches before they are summed.
const MESSAGE: usize = 1 << 15;

/// Sums numbers over ranks, each with those of the other ranks at the same place, in a fixed tree: the sums of ranks
/// 0 and 1, of 2 and 3, …, are summed in turn. The numbers are given and returned as bits; `spare` is room that is used
/// again, as new memory takes longer than the message.
///
/// # Errors
/// If a rank is gone.
pub fn sum(ranks: &dyn Ranks, numbers: &mut Vec<u32>, spare: &mut Vec<u32>) -> Result<()> {
    let (count, len) = (ranks.count(), numbers.len());
    if len <= FEW {
        spare.resize(len * count, 0);
        ranks.gather(numbers, spare)?;
        numbers.copy_from_slice(summed(spare, count));
        return Ok(());
    }
    // Each rank sums a part for all of them.
    numbers.resize(len.next_multiple_of(count), 0);
    for numbers in numbers.chunks_mut(MESSAGE * count) {
        spare.resize(numbers.len(), 0);
        ranks.exchange(numbers, spare)?;
        ranks.gather(summed(spare, count), numbers)?;
    }
    numbers.truncate(len);
    Ok(())
}

/// Sums the parts of `count` ranks, which stand one after the other, in the tree; the sum takes the first one's place.
fn summed(parts: &mut [u32], count: usize) -> &[u32] {
    let part = parts.len() / count;
    let numbers: &mut [f32] = bytemuck::cast_slice_mut(parts);
    let mut apart = 1;
    while apart < count {
        for first in (0..count - apart).step_by(2 * apart) {
            let (sums, more) = numbers.split_at_mut((first + apart) * part);
            let sums = &mut sums[first * part..][..part];
            sums.iter_mut().zip(&more[..part]).for_each(|(sum, more)| *sum += *more);
        }
        apart *= 2;
    }
    &parts[..part]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives what each of `count` ranks gets from `f`.
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
            for len in [1, 7, FEW, FEW + 1, 5000, 2 * MESSAGE * count + 5] {
                let of = |rank: usize, i: usize| ((rank * 31 + i * 7) % 97) as f32 * 0.1 + 1e-3 / (rank + 1) as f32;
                let sums = each(count, |ranks| {
                    let own: Vec<f32> = (0..len).map(|i| of(ranks.rank(), i)).collect();
                    let mut numbers: Vec<u32> = own.iter().map(|x| x.to_bits()).collect();
                    sum(ranks, &mut numbers, &mut Vec::new()).unwrap();
                    numbers.into_iter().map(f32::from_bits).collect::<Vec<f32>>()
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
            let [mut gathered, mut exchanged] = [vec![0; 6], vec![0; 6]];
            ranks.gather(&own[..2], &mut gathered).unwrap();
            ranks.exchange(&own, &mut exchanged).unwrap();
            (gathered, exchanged)
        });
        for (rank, (gathered, exchanged)) in got.into_iter().enumerate() {
            let first = 2 * rank as u32;
            assert_eq!(gathered, [0, 1, 100, 101, 200, 201]);
            assert_eq!(exchanged, [0, 100, 200].map(|of| [of + first, of + first + 1]).as_flattened());
        }
    }
}
