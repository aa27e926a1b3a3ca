//! Transitions: steps with the observations before and after them.

use crate::Tensor;

/// Transitions of B steps of S stacked seeds.
#[derive(Clone, Copy, Debug)]
pub struct Transitions {
    /// Observations before the steps, `[S, B, O]`.
    pub obs: Tensor,
    /// Actions in the form that learners need, `[S, B, A]`.
    pub action: Tensor,
    /// Observations after the steps, before any reset, `[S, B, O]`.
    pub next_obs: Tensor,
    /// Rewards, `[S, B, 1]`.
    pub reward: Tensor,
    /// 1 where the step led to a final state, whose value is 0, as f32 `[S, B, 1]`. A time limit is no final state.
    pub terminated: Tensor,
}

impl Transitions {
    /// W, the numbers of a transition, from O and A.
    #[must_use]
    pub fn width(observations: usize, actions: usize) -> usize {
        2 * observations + actions + 2
    }

    /// Puts each transition into one row, `[S, B, W]`.
    #[track_caller]
    #[must_use]
    pub fn rows(&self) -> Tensor {
        Tensor::concat(&[self.obs, self.action, self.next_obs, self.reward, self.terminated], 2)
    }

    /// Splits rows that [`rows`](Transitions::rows) made, from O and A.
    #[track_caller]
    #[must_use]
    pub fn of_rows(rows: Tensor, observations: usize, actions: usize) -> Transitions {
        let (o, a) = (observations, actions);
        let part = |first: usize, width: usize| rows.slice(2, first, first + width);
        Transitions {
            obs: part(0, o),
            action: part(o, a),
            next_obs: part(o + a, o),
            reward: part(2 * o + a, 1),
            terminated: part(2 * o + a + 1, 1),
        }
    }
}
