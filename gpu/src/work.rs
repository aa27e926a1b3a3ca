//! Counts the serial work of one invocation of a kernel, while the kernel's code is written.

use std::ops::{AddAssign, Index};

/// A kind of work that takes time on a GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cost {
    /// Dispatches, each of which waits for the one before.
    Dispatch,
    /// Barriers between kernels that share a dispatch.
    Barrier,
    /// Levels of chains, with a barrier between each two.
    Level,
    /// Iterations of the loops in a loop over rows that has products, such as a rollout.
    Rollout,
    /// Multiply-adds of such products that are written one after the other, without a loop.
    Straight,
    /// Steps of loops over rows without products, such as advantages.
    Scan,
    /// Iterations of products that read their operands from storage.
    Product,
    /// Iterations of products that share their operands in workgroup memory.
    Tile,
    /// Iterations of sums that a workgroup shares, and of the joins of their slices.
    Sum,
    /// Iterations of other loops, whose time is that of their dispatch.
    Other,
}

impl Cost {
    /// All of them, in the order of [`Work`].
    pub const ALL: [Cost; 10] = [
        Cost::Dispatch,
        Cost::Barrier,
        Cost::Level,
        Cost::Rollout,
        Cost::Straight,
        Cost::Scan,
        Cost::Product,
        Cost::Tile,
        Cost::Sum,
        Cost::Other,
    ];

    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Cost::Dispatch => "dispatches",
            Cost::Barrier => "barriers between kernels",
            Cost::Level => "levels of chains",
            Cost::Rollout => "loops of rollouts",
            Cost::Straight => "straight products of rollouts",
            Cost::Scan => "steps of scans",
            Cost::Product => "loops of products",
            Cost::Tile => "loops of products in tiles",
            Cost::Sum => "loops of sums",
            Cost::Other => "other loops",
        }
    }
}

/// How often there is each [`Cost`]: in what an invocation of a kernel does, or in all dispatches of a program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Work([u64; Cost::ALL.len()]);

impl Work {
    /// This work with more of a cost.
    #[must_use]
    pub fn with(mut self, cost: Cost, more: usize) -> Work {
        self.0[cost as usize] += more as u64;
        self
    }

    /// Repeats this work a number of times.
    #[must_use]
    pub fn times(self, n: usize) -> Work {
        Work(self.0.map(|count| n as u64 * count))
    }

    /// Iterations of all loops.
    pub fn iterations(&self) -> u64 {
        let is_loop = |cost: &&Cost| !matches!(cost, Cost::Dispatch | Cost::Barrier | Cost::Level | Cost::Straight);
        Cost::ALL.iter().filter(is_loop).map(|cost| self[*cost]).sum()
    }
}

impl Index<Cost> for Work {
    type Output = u64;

    fn index(&self, cost: Cost) -> &u64 {
        &self.0[cost as usize]
    }
}

impl AddAssign for Work {
    fn add_assign(&mut self, more: Work) {
        self.0.iter_mut().zip(more.0).for_each(|(count, more)| *count += more);
    }
}
