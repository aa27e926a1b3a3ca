//! Later transitions of the same episode.

use super::{Batch, ReplayMemory, Stored, Transitions};
use crate::Tensor;

/// Transitions that were drawn, and the way from them to later ones of their episodes.
///
/// Each is stored with its number in its episode: a row is the k-th after another of the same environment if its number is larger by k.
/// So no row leads into another episode, however one ended.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ahead<'a> {
    pub memory: &'a ReplayMemory,
    pub stored: &'a Stored,
    /// Rows that were drawn, u32 `[S, B]`.
    pub index: Tensor,
    /// Their numbers in their episodes, `[S, B, 1]`.
    pub step: Tensor,
}

impl Ahead<'_> {
    /// The rows that are `steps: [S, B, L]` steps after those drawn, u32 `[S, B, L]`, and 1 where these hold newer transitions, as f32.
    #[track_caller]
    fn rows(&self, steps: Tensor) -> (Tensor, Tensor) {
        let all = self.memory.rows;
        let (index, next) = (self.index.unsqueeze(2), self.stored.next.unsqueeze(2));
        // As many rows were added after those drawn. All numbers here are whole and exact in f32.
        let since = next.to_f32() - index.to_f32() - 1.0;
        let since = since.lt(Tensor::constant_f32(0.0)).select(since + all as f64, since);
        let on = steps * self.memory.envs as f64;
        let at = index + on.min(Tensor::constant_f32(all as f64 - 1.0)).to_u32();
        let minus = Tensor::constant_u32(0u32.wrapping_sub(all as u32));
        let at = at.lt(Tensor::constant_u32(all as u32)).select(at, at + minus);
        (at, on.gt(since).not().to_f32())
    }

    /// 1 at each of the steps 1 to `most` after which the episode is still the same and in the memory, as f32 `[S, B, most]`.
    #[track_caller]
    pub fn lasting(&self, most: usize) -> Tensor {
        let steps = (Tensor::iota(&[1, 1, most], 2) + Tensor::constant_u32(1)).to_f32();
        let (rows, newer) = self.rows(steps);
        let (seeds, b) = (self.index.size(0), self.index.size(1));
        let width = self.memory.shape()[1];
        let column = self.stored.rows.slice(2, width - 1, width);
        let number = column.gather(rows.reshape(&[seeds, b * most])).reshape(&[seeds, b, most]);
        number.eq(self.step + steps).to_f32() * newer
    }

    /// The transitions `steps: [S, B, 1]` later.
    #[track_caller]
    pub fn later(&self, steps: Tensor) -> Transitions {
        let (rows, _) = self.rows(steps);
        let rows = self.stored.rows.gather(rows.reshape(&self.index.shape()));
        Transitions::of_rows(rows, self.memory.observations, self.memory.actions)
    }

    /// Transitions of `n` steps, of fewer where the episode ends or the memory does: y = Σ γᵏ rₖ + γⁿ (1 − d) V(sₙ).
    ///
    /// Sutton 1988; Hessel et al. 2017, arXiv:1710.02298.
    #[track_caller]
    pub fn steps(&self, first: &Transitions, n: usize) -> Batch {
        let gamma = self.memory.gamma;
        let lasting = self.lasting(n - 1);
        let (mut alive, mut discount) =
            (Tensor::constant_f32(1.0), Tensor::constant_f32(gamma).broadcast_to(&first.reward.shape()));
        let mut all = *first;
        for k in 1..n {
            alive = alive * lasting.slice(2, k - 1, k);
            let later = self.later(Tensor::constant_f32(k as f64).broadcast_to(&first.reward.shape()));
            let goes_on = alive.gt(Tensor::constant_f32(0.5));
            all = Transitions {
                reward: all.reward + goes_on.select(later.reward * gamma.powi(k as i32), Tensor::constant_f32(0.0)),
                next_obs: goes_on.select(later.next_obs, all.next_obs),
                terminated: goes_on.select(later.terminated, all.terminated),
                ..all
            };
            discount = goes_on.select(Tensor::constant_f32(gamma.powi(k as i32 + 1)), discount);
        }
        Batch { transitions: all, discount, weight: None }
    }
}
