//! How the tiles of a group are shared by threads, and the memory in which these work.

use super::super::buffer::Words;
use super::super::simd::aligned::AlignedVec;
use super::super::simd::slice_len;
use super::Tile;

/// Operations below which a second thread costs more than it saves.
const WORTH_A_THREAD: usize = 1 << 18;

/// Memory in which the tiles of a schedule work, one after the other. What it holds between two of them is of no value.
#[derive(Debug, Default)]
pub struct Workspace {
    /// The scratch of each thread.
    pub(super) threads: Vec<Desk>,
    /// Partial sums of all.
    pub(super) partials: Words,
}

impl Workspace {
    /// Memory of each of some threads for products that no tile computes.
    pub fn scratch(&mut self, threads: usize) -> impl Iterator<Item = &mut Vec<f32>> {
        self.threads.resize_with(self.threads.len().max(threads), Desk::default);
        self.threads[..threads].iter_mut().map(|desk| &mut desk.spare)
    }
}

/// A thread's part of a workspace.
#[derive(Debug, Default)]
pub(super) struct Desk {
    pub(super) scratch: Words,
    pub(super) spare: Vec<f32>,
    pub(super) values: Vec<f32>,
    pub(super) packed: AlignedVec,
}

/// How the tiles of a group are shared by threads, and the words that this takes.
#[derive(Clone, Copy, Debug)]
pub struct Shares {
    /// Rows of a task.
    pub(super) slice: usize,
    /// Tasks of a group.
    pub(super) slices: usize,
    /// Tasks.
    pub tasks: usize,
    /// Threads.
    pub workers: usize,
    /// Scratch of a thread.
    pub scratch: usize,
    /// Partial sums of a task.
    pub partials: usize,
}

impl Tile {
    /// Sizes of the partial sums of one slice: first word of each terminal, and all of them.
    pub(super) fn partial_sizes(&self) -> (Vec<usize>, usize) {
        let mut at = 0;
        let starts = self
            .terminals
            .iter()
            .map(|t| {
                let start = at;
                at += (t.size * t.lanes).next_multiple_of(16);
                start
            })
            .collect();
        (starts, at)
    }

    /// How tiles are shared by threads.
    pub fn shares(&self, threads: usize) -> Shares {
        let slice = if self.terminals.is_empty() { self.chunk(threads) } else { slice_len(self.rows) };
        let slices = self.rows.div_ceil(slice);
        let tasks = self.groups * slices;
        let work = self.work.saturating_mul(self.rows).saturating_mul(self.groups);
        let workers = if work < WORTH_A_THREAD { 1 } else { threads.min(tasks).max(1) };
        Shares { slice, slices, tasks, workers, scratch: self.blocks * self.lanes, partials: self.partial_sizes().1 }
    }

    /// Rows that one thread takes at a time where nothing is summed.
    fn chunk(&self, threads: usize) -> usize {
        let tiles = self.rows.div_ceil(self.lanes);
        let parts = (threads.max(1) * 2).div_ceil(self.groups);
        (tiles.div_ceil(parts) * self.lanes).max(self.lanes)
    }
}
