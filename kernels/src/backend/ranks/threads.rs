//! Ranks that are threads of one process.

use std::sync::{Arc, Barrier, Mutex, PoisonError};

use super::Ranks;
use crate::Result;

/// One of the ranks that are threads of one process: each trains in a session of its own, on a device of its own.
///
/// A rank that panics leaves the others waiting.
#[derive(Debug)]
pub struct ThreadRanks {
    rank: usize,
    table: Arc<MeetingPlace>,
}

/// The place where all ranks lay their words.
#[derive(Debug)]
struct MeetingPlace {
    words: Vec<Mutex<Vec<u32>>>,
    barrier: Barrier,
}

impl ThreadRanks {
    /// Makes `count` ranks, in order; each goes to its thread.
    #[must_use]
    pub fn team(count: usize) -> Vec<ThreadRanks> {
        let words = (0..count).map(|_| Mutex::default()).collect();
        let table = Arc::new(MeetingPlace { words, barrier: Barrier::new(count) });
        (0..count).map(|rank| ThreadRanks { rank, table: table.clone() }).collect()
    }

    /// Lays words on the table, and takes from those of each rank what `part` gives.
    fn meet(&self, words: &[u32], got: &mut [u32], part: impl Fn(&[u32]) -> &[u32]) {
        let MeetingPlace { words: all, barrier } = &*self.table;
        let of = |rank: usize| all[rank].lock().unwrap_or_else(PoisonError::into_inner);
        words.clone_into(&mut of(self.rank));
        barrier.wait();
        for (rank, got) in got.chunks_mut(got.len().div_ceil(all.len()).max(1)).enumerate() {
            got.copy_from_slice(part(&of(rank)));
        }
        // Nobody lays new words before all have taken these.
        barrier.wait();
    }
}

impl Ranks for ThreadRanks {
    fn rank(&self) -> usize {
        self.rank
    }

    fn count(&self) -> usize {
        self.table.words.len()
    }

    fn gather(&self, words: &[u32], all: &mut [u32]) -> Result<()> {
        self.meet(words, all, |of_rank| of_rank);
        Ok(())
    }

    fn exchange(&self, words: &[u32], got: &mut [u32]) -> Result<()> {
        let part = words.len() / self.count();
        self.meet(words, got, |of_rank| &of_rank[self.rank * part..(self.rank + 1) * part]);
        Ok(())
    }
}
