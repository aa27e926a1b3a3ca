//! Experience: the results of a play.

use crate::Tensor;
use crate::credit::Paths;
use crate::tensor::{CompensatedSum, Named, scan_tree};

/// Environments with running episodes: N in each of K groups.
#[derive(Clone, Debug)]
pub struct Running {
    /// States of the environments, `[K, N, F]`.
    pub state: Tensor,
    /// Steps of the running episodes, u32 `[K, N]`.
    pub steps: Tensor,
    /// Observations, `[K, N, O]`.
    pub obs: Tensor,
    /// The policy's memory, `[K, N, ·]` each.
    pub memory: Named,
    /// The task of each environment, `[K, N, D]`, if a new one is drawn for each episode; none if tasks are given or
    /// there is a single one.
    pub task: Option<Tensor>,
}

crate::tree!(Running: state, steps, obs, memory, task);

/// One step of all environments, `[K, N, …]`, or T steps, `[T, K, N, …]`. A program computes only the fields that it
/// reads.
#[derive(Clone, Debug)]
pub struct Steps {
    /// Environment states acted in, `[…, F]`; zeros for environments of the host.
    pub state: Tensor,
    /// Observations acted on, before normalisation, `[…, O]`.
    pub obs: Tensor,
    /// Observations that the steps led to, before any reset, `[…, O]`.
    pub next_obs: Tensor,
    /// Actions as the policy drew them, `[…, A]`.
    pub action: Tensor,
    /// Actions as environments got them, `[…, A]`.
    pub played: Tensor,
    /// Rewards, `[…, 1]`; 0 in steps that are not valid.
    pub reward: Tensor,
    /// 1 where the step led to a final state, u32 `[…, 1]`.
    pub terminated: Tensor,
    /// 1 where a time limit cut the episode off after the step, u32 `[…, 1]`.
    pub truncated: Tensor,
    /// 1 until the last episode that counts has ended, u32 `[…, 1]`.
    pub valid: Tensor,
    /// Number of the episode, from 0, u32 `[…, 1]`.
    pub episode: Tensor,
    /// The first output that was not finite: 0 for none, 1 for the observation, 2 for the policy, `[…, 1]`.
    pub lost: Tensor,
    /// The policy's [extras](crate::policy::Act::extras), `[…, ·]` each.
    pub extras: Named,
}

crate::tree!(Steps: state, obs, next_obs, action, played, reward, terminated, truncated, valid, episode, lost, extras);

impl Steps {
    /// The ends of episodes among these steps.
    #[must_use]
    pub fn ends(&self) -> Ends {
        Ends { terminated: self.terminated, truncated: self.truncated }
    }

    /// The steps of whole episodes, in the form that learners read.
    pub fn paths(&self) -> Paths {
        let Steps { obs, next_obs, action, reward, valid, .. } = *self;
        Paths { obs, next_obs, action, reward, valid, env_infos: None, agent_infos: None }
    }

    /// The steps of whole episodes, with observations as the network saw them.
    pub fn paths_seen(&self) -> Paths {
        Paths { obs: self.extras.get("seen"), ..self.paths() }
    }
}

/// The ends of episodes: 1 where a step led to one, u32 `[…, 1]`.
#[derive(Clone, Copy, Debug)]
pub struct Ends {
    /// 1 where the step led to a final state.
    pub terminated: Tensor,
    /// 1 where a time limit cut the episode off after the step.
    pub truncated: Tensor,
}

crate::tree!(Ends: terminated, truncated);

impl Ends {
    /// 1 where an episode ended in either way.
    #[track_caller]
    #[must_use]
    pub fn ended(&self) -> Tensor {
        self.terminated.bit_or(self.truncated)
    }

    /// The ends of steps that are `valid`; other steps have none.
    #[track_caller]
    #[must_use]
    pub fn of_valid(&self, valid: Tensor) -> Ends {
        Ends { terminated: valid.bit_and(self.terminated), truncated: valid.bit_and(self.truncated) }
    }

    /// The numbers of steps in their episodes, u32 `[T, S, N, 1]`, from the number of the first step, u32 `[S, N, 1]`.
    #[track_caller]
    #[must_use]
    pub fn step_numbers(&self, first: Tensor) -> Tensor {
        let (zero, one) = (Tensor::constant_u32(0), Tensor::constant_u32(1));
        let (_, numbers) = scan_tree(self.terminated.size(0), &first, self, |_, step: Tensor, now: Ends| {
            (now.ended().select(zero, step + one), step)
        });
        numbers.unwrap_or(Tensor::poison())
    }
}

/// The steps of a play, and the environments after it.
#[derive(Clone, Debug)]
pub struct Experience {
    /// The steps, `[T, K, N, …]`.
    pub steps: Steps,
    /// The last observation that a time limit cut off in each of C equal spans of time, `[C, K, N, O]`; only in plays
    /// that continue running episodes.
    pub cut_obs: Option<Tensor>,
    /// The episodes that the next play continues.
    pub next: Running,
}

/// Sums over one episode of each environment, `[K, N]` each.
#[derive(Clone, Copy, Debug)]
pub struct Totals {
    /// Sums of rewards.
    pub returns: CompensatedSum,
    /// Numbers of steps, u32.
    pub lengths: Tensor,
    /// 1 where the episode ended in a final state, u32.
    pub terminated: Tensor,
    /// The largest [`Steps::lost`] of the episode.
    pub lost: Tensor,
}

crate::tree!(Totals: returns, lengths, terminated, lost);

impl Totals {
    /// The sums before the first step of these rows.
    #[must_use]
    pub fn none(rows: &[usize]) -> Totals {
        let count = Tensor::constant_u32(0).broadcast_to(rows);
        let returns = CompensatedSum::zeros(rows);
        Totals { returns, lengths: count, terminated: count, lost: Tensor::zeros(rows) }
    }

    /// Adds a step of each environment, `[K, N, …]`, to the sums.
    #[track_caller]
    #[must_use]
    pub fn add(&self, step: &Steps) -> Totals {
        let flat = |x: Tensor| x.reshape(&self.lengths.shape());
        Totals {
            returns: self.returns.plus(flat(step.reward)),
            lengths: self.lengths + Tensor::constant_u32(1),
            terminated: flat(step.terminated),
            lost: self.lost.max(flat(step.lost)),
        }
    }
}

impl Steps {
    /// The steps of a trace that has failed.
    pub(super) fn poison() -> Steps {
        let x = Tensor::poison();
        Steps {
            state: x,
            obs: x,
            next_obs: x,
            action: x,
            played: x,
            reward: x,
            terminated: x,
            truncated: x,
            valid: x,
            episode: x,
            lost: x,
            extras: Named::new(),
        }
    }
}
