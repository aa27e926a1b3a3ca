//! Later transitions of the same episode.

use super::{Batch, ReplayMemory, Stored, Transitions};
use crate::Tensor;
use crate::tensor::scan_tree;

/// Transitions that were drawn, with access to later ones of their episodes.
///
/// Each transition is stored with its number in its episode: a row of the same environment is k steps later if its
/// number is larger by k. So no row leads into another episode, in whatever way one ended.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ahead<'a> {
    pub memory: &'a ReplayMemory,
    pub stored: &'a Stored,
    /// Rows that were drawn, u32 `[S, B]`.
    pub index: Tensor,
    /// The numbers of these rows in their episodes, `[S, B, 1]`.
    pub step: Tensor,
}

impl Ahead<'_> {
    /// The rows `steps: [S, B, L]` after those that were drawn, u32 `[S, B, L]`, and 1
    /// where these hold newer transitions, as f32.
    #[track_caller]
    fn rows(&self, steps: Tensor) -> (Tensor, Tensor) {
        let all = self.memory.rows;
        let (index, next) = (self.index.unsqueeze(2), self.stored.next.unsqueeze(2));
        // The number of rows that were added after those drawn. All numbers here are whole and exact in f32.
        let since = next.to_f32() - index.to_f32() - 1.0;
        let since = since.lt(Tensor::constant_f32(0.0)).select(since + all as f64, since);
        let on = steps * self.memory.envs as f64;
        let at = index + on.min(Tensor::constant_f32(all as f64 - 1.0)).to_u32();
        let minus = Tensor::constant_u32(0u32.wrapping_sub(all as u32));
        let at = at.lt(Tensor::constant_u32(all as u32)).select(at, at + minus);
        (at, on.gt(since).not().to_f32())
    }

    /// 1 for each number of steps from 1 to `most` after which the episode still goes on and
    /// is in the memory, as f32 `[S, B, most]`.
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

    /// The transitions that are `steps: [S, B, 1]` later.
    #[track_caller]
    pub fn later(&self, steps: Tensor) -> Transitions {
        let (rows, _) = self.rows(steps);
        let rows = self.stored.rows.gather(rows.reshape(&self.index.shape()));
        Transitions::of_rows(rows, self.memory.observations, self.memory.actions)
    }

    /// Joins `n` steps to transitions, or fewer where the episode or the memory ends: y = Σ γᵏ rₖ + γⁿ (1 − d) V(sₙ).
    ///
    /// Sutton 1988; Hessel et al. 2017, arXiv:1710.02298.
    #[track_caller]
    pub fn steps(&self, first: &Transitions, n: usize) -> Batch {
        let (gamma, shape, width) = (self.memory.gamma, first.reward.shape(), self.memory.shape()[1]);
        let powers = |more: usize| {
            let of = |k: usize| gamma.powi((k + more) as i32);
            Tensor::literal_f32(&(1..n).map(of).collect::<Vec<_>>())
        };
        let full = |x: f64| Tensor::constant_f32(x).broadcast_to(&shape);
        // 1 as long as the episode goes on and is in the memory.
        let init = [full(1.0), full(gamma), first.reward, first.next_obs, first.terminated];
        let xs = [powers(0), powers(1)];
        let (last, _) =
            scan_tree(n - 1, &init, &xs, |t, [alive, discount, reward, next_obs, terminated], [now, then]| {
                let steps = (t + Tensor::constant_u32(1)).to_f32().broadcast_to(&shape);
                let (at, newer) = self.rows(steps);
                let rows = self.stored.rows.gather(at.reshape(&self.index.shape()));
                let later = Transitions::of_rows(rows, self.memory.observations, self.memory.actions);
                let number = rows.slice(2, width - 1, width);
                let alive = alive * (number.eq(self.step + steps).to_f32() * newer);
                let goes_on = alive.gt(Tensor::constant_f32(0.5));
                let next = [
                    alive,
                    goes_on.select(then.broadcast_to(&shape), discount),
                    reward + goes_on.select(later.reward * now, Tensor::constant_f32(0.0)),
                    goes_on.select(later.next_obs, next_obs),
                    goes_on.select(later.terminated, terminated),
                ];
                (next, ())
            });
        let [_, discount, reward, next_obs, terminated] = last;
        Batch { transitions: Transitions { reward, next_obs, terminated, ..*first }, discount, weight: None }
    }
}
