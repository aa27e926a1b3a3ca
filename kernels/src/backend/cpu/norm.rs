//! Sums of squares made where what they square is completed, such as the norm of gradients beside the last of these.

use super::elide::writes;
use super::steps::{Lowered, LoweredStep};

impl Lowered {
    /// Let the tile that writes a value last also sum its squares, where a tile of its own would do nothing else on one
    /// thread.
    pub fn join_squares(&mut self, threads: usize) {
        let mut at = 0;
        while at < self.steps.len() {
            let found = match &self.steps[at] {
                LoweredStep::Tile(tile) => tile.only_squares(threads),
                _ => None,
            };
            if let Some(squares) = found
                && let Some(step) = self.steps[..at].iter_mut().rev().find(|step| writes(step, squares.src))
                && let LoweredStep::Tile(tile) = step
            {
                tile.squares.push(squares);
                self.steps.remove(at);
            } else {
                at += 1;
            }
        }
    }
}
