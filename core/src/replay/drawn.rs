//! Batches that are drawn from a memory.

use super::{Ahead, Batch, ReplayMemory, Stored, Transitions};
use crate::Tensor;
use crate::dist::RowNoise;

/// A batch, and its rows in the memory.
#[derive(Clone, Copy, Debug)]
pub struct Drawn {
    /// The batch.
    pub batch: Batch,
    /// The batch's rows in the memory, u32 `[S, B]`.
    pub index: Tensor,
}

impl ReplayMemory {
    /// Draws a batch of transitions, evenly among all that are held or by priority; one may be drawn
    /// more than once. `key` is words `[S, 1]`; `correction` is β of
    /// [`Priorities`](super::Priorities), `[]` or `[S, 1]`, where these are used.
    #[track_caller]
    #[must_use]
    pub fn sample(&self, stored: &Stored, key: [Tensor; 2], batch: usize, correction: Option<Tensor>) -> Drawn {
        let (seeds, noise) = (stored.filled.size(0), RowNoise::new(key, batch));
        let filled = stored.filled.to_f32().unsqueeze(2);
        let (index, weight) = match (&stored.priorities, self.tree(), correction) {
            (Some(priorities), Some(tree), Some(beta)) => {
                let (index, weight) = priorities.draw(tree, filled, noise.uniform(), beta);
                (index, Some(weight))
            }
            _ => ((noise.uniform() * filled).to_u32().reshape(&[seeds, batch]), None),
        };
        let rows = stored.rows.gather(index);
        let transitions = Transitions::of_rows(rows, self.observations, self.actions);
        let width = self.shape()[1];
        // It is read only if batches need later transitions.
        let ahead = Ahead { memory: self, stored, index, step: rows.slice(2, width - 1, width) };
        let batch = match (&self.hindsight, self.n_step) {
            (Some(hindsight), _) => {
                Batch { weight, ..Batch::of(hindsight.relabel(&ahead, &transitions, noise), self.gamma) }
            }
            (None, 1) => Batch { weight, ..Batch::of(transitions, self.gamma) },
            (None, steps) => Batch { weight, ..ahead.steps(&transitions, steps) },
        };
        Drawn { batch, index }
    }

    /// Updates priorities after learning from a batch: the errors, `[S, B, 1]`, become the priorities of its rows.
    #[track_caller]
    #[must_use]
    pub fn learned(&self, stored: Stored, drawn: &Drawn, errors: Tensor) -> Stored {
        match (stored.priorities.clone(), self.tree(), self.prioritised) {
            (Some(priorities), Some(tree), Some(alpha)) => {
                Stored { priorities: Some(priorities.changed(tree, drawn.index, errors, alpha)), ..stored }
            }
            _ => stored,
        }
    }
}
