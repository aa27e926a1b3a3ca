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
    table: Arc<Table>,
}

/// The place where all ranks lay their words.
#[derive(Debug)]
struct Table {
    words: Vec<Mutex<Vec<u32>>>,
    barrier: Barrier,
}

impl ThreadRanks {
    /// Makes `count` ranks, in order; each goes to its thread.
    #[must_use]
    pub fn team(count: usize) -> Vec<ThreadRanks> {
        let words = (0..count).map(|_| Mutex::default()).collect();
        let table = Arc::new(Table { words, barrier: Barrier::new(count) });
        (0..count).map(|rank| ThreadRanks { rank, table: table.clone() }).collect()
    }

    /// Lays words on the table, and takes from those of each rank what `part` gives.
    fn meet(&self, words: &[u32], part: impl Fn(&[u32]) -> &[u32]) -> Vec<u32> {
        let Table { words: all, barrier } = &*self.table;
        let of = |rank: usize| all[rank].lock().unwrap_or_else(PoisonError::into_inner);
        words.clone_into(&mut of(self.rank));
        barrier.wait();
        let got = (0..all.len()).flat_map(|rank| part(&of(rank)).to_vec()).collect();
        // Nobody lays new words before all have taken these.
        barrier.wait();
        got
    }
}

impl Ranks for ThreadRanks {
    fn rank(&self) -> usize {
        self.rank
    }

    fn count(&self) -> usize {
        self.table.words.len()
    }

    fn gather(&self, words: &[u32]) -> Result<Vec<u32>> {
        Ok(self.meet(words, |all| all))
    }

    fn exchange(&self, words: &[u32]) -> Result<Vec<u32>> {
        let part = words.len() / self.count();
        Ok(self.meet(words, |all| &all[self.rank * part..(self.rank + 1) * part]))
    }
}
