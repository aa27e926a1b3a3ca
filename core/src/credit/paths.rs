//! Whole episodes, side by side and padded.

use super::{ValuedSteps, gae};
use crate::Tensor;
use crate::tensor::CompensatedSum;

/// Episodes of K tasks, N of each, side by side and padded to T steps.
#[derive(Clone, Copy, Debug)]
pub struct Paths {
    /// Observations before the steps, `[T, K, N, O]`.
    pub obs: Tensor,
    /// Observations that the steps led to, before any reset, `[T, K, N, O]`.
    pub next_obs: Tensor,
    /// Actions as they were drawn, `[T, K, N, A]`.
    pub action: Tensor,
    /// Rewards, 0 after the end, `[T, K, N, 1]`.
    pub reward: Tensor,
    /// 1 until the episode's end, u32 `[T, K, N, 1]`.
    pub valid: Tensor,
    /// Values that environments reported, `[T, K, N, I]`; none of programs, and where environments report none.
    pub env_infos: Option<Tensor>,
    /// Values that the actor reported about actions, `[T, K, N, J]`; none of programs, and where it reports none.
    pub agent_infos: Option<Tensor>,
}

impl Paths {
    /// Puts steps into rows, `[T, K, N, D]` → `[K, T · N, D]`.
    #[track_caller]
    pub fn rows(x: Tensor) -> Tensor {
        let shape = x.shape();
        let [t, k, n, d] = shape[..] else {
            return Tensor::poison();
        };
        x.permute(&[1, 0, 2, 3]).reshape(&[k, t * n, d])
    }

    /// The largest of each path's numbers, `[T, K, N, 1]` and none below 0 → `[K, N]`.
    #[track_caller]
    pub fn path_most(&self, x: Tensor) -> Tensor {
        let x = self.valid.select(x, Tensor::constant_f32(0.0));
        x.max_over(&[0, 3])
    }

    /// The weight of each row in the average over a task's valid steps, `[K, T · N, 1]`.
    #[track_caller]
    pub fn weights(&self) -> Tensor {
        let valid = Paths::rows(self.valid.to_f32());
        valid * valid.sum_keep(1).recip()
    }

    /// The undiscounted return of each path, `[K, N]`, rounded once.
    #[track_caller]
    pub fn path_returns(&self) -> Tensor {
        self.path_return_sums().sum
    }

    /// The undiscounted return of each path, `[K, N]`, with what f32 lacks of it.
    #[track_caller]
    pub fn path_return_sums(&self) -> CompensatedSum {
        let shape = self.reward.shape();
        let rows = shape.get(1..3).unwrap_or_default();
        CompensatedSum::of_rows(self.reward).map(|x| x.reshape(rows))
    }

    /// The number of steps of each path, as f32 `[K, N]`.
    #[track_caller]
    pub fn path_lengths(&self) -> Tensor {
        let shape = self.valid.shape();
        self.valid.to_f32().sum_keep(0).reshape(&shape[1..3])
    }

    /// 1 at the last valid step of each path, u32 `[T, K, N, 1]`.
    fn ends(&self) -> Tensor {
        let t = self.valid.size(0);
        if t == 1 {
            return self.valid;
        }
        let next = self.valid.slice(0, 1, t).pad(0, 0, 1);
        self.valid.bit_and(next.not())
    }

    /// Discounted sums of `rewards: [T, K, N, 1]` and generalised advantages over `values`, both to the path's end.
    pub(super) fn advantages(&self, rewards: Tensor, values: Tensor, gamma: f64, gae_lambda: f64) -> Tensor {
        let ends = self.ends();
        let shape = rewards.shape();
        let steps = ValuedSteps {
            rewards,
            values,
            terminated: ends,
            truncated: Tensor::constant_u32(0).broadcast_to(&shape),
            cut_values: Tensor::zeros(&shape),
            last_value: Tensor::zeros(&shape[1..]),
        };
        gae(&steps, gamma, gae_lambda).advantages
    }
}
