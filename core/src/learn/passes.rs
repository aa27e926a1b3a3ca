//! Passes over data in minibatches.

use crate::Tensor;
use crate::dist::fold_in;

/// Passes over rows of data in minibatches, each pass in another order.
#[derive(Clone, Copy, Debug)]
pub struct Passes {
    /// How often all rows are visited.
    pub passes: usize,
    /// Parts of a pass, which divide the rows.
    pub minibatches: usize,
    /// Rows of each seed.
    pub rows: usize,
    /// The key of the orders, words `[S, 1]`.
    pub order: [Tensor; 2],
}

impl Passes {
    /// Minibatches in all: the length of the loop over them.
    pub fn steps(&self) -> usize {
        self.passes * self.minibatches
    }

    /// The rows that the loop over minibatches takes: for each of them the number of its pass and of its first row.
    #[track_caller]
    pub fn xs(&self) -> [Tensor; 2] {
        let size = self.rows / self.minibatches;
        let of = |f: &dyn Fn(usize) -> usize| {
            Tensor::literal_u32(&(0..self.steps()).map(|i| f(i) as u32).collect::<Vec<_>>())
        };
        [of(&|i| i / self.minibatches), of(&|i| i % self.minibatches * size)]
    }

    /// Numbers of the rows of a minibatch, u32 `[S, B]`, from its row of [`xs`](Passes::xs).
    #[track_caller]
    pub fn index(&self, x: &[Tensor; 2]) -> Tensor {
        let (seeds, size) = (self.order[0].size(0), self.rows / self.minibatches);
        (Tensor::iota(&[seeds, size], 1) + x[1]).permutation(fold_in(self.order, x[0]), self.rows)
    }
}
