//! Hindsight: goals that were reached take the place of goals that were sought.

use super::Transitions;
use super::ahead::Ahead;
use crate::Tensor;
use crate::dist::RowNoise;
use crate::env::Goal;
use crate::rng::stream;

/// The stream that decides which transitions are relabelled.
const WHICH: u32 = stream("hindsight");
/// The stream that decides which later step gives the goal.
const LATER: u32 = stream("later");

/// Relabels some transitions as if their goal had been one that their episode reached later.
///
/// Andrychowicz et al. 2017, arXiv:1707.01495, the strategy "future": the share k / (k + 1) of the transitions is
/// relabelled, each by an even draw among the steps from its own to the last one that the memory has of its episode.
#[derive(Clone, Debug, PartialEq)]
pub struct Hindsight {
    /// The share of the transitions that are relabelled.
    pub share: f64,
    /// The places of goals in observations.
    pub goal: Goal,
    /// The most steps of an episode.
    pub horizon: usize,
}

impl Hindsight {
    #[track_caller]
    pub(super) fn relabel(&self, ahead: &Ahead<'_>, drawn: &Transitions, noise: RowNoise) -> Transitions {
        let Goal { achieved, desired, tolerance } = &self.goal;
        let none = Tensor::constant_f32(0.0);
        // Steps after this one in the same episode; the first one that does not belong to it ends them.
        let most = (self.horizon - 1).max(1);
        let ended = ahead.lasting(most).lt(Tensor::constant_f32(0.5));
        let place = (Tensor::iota(&[1, 1, most], 2)).to_f32();
        let left = -(ended.select(-place, Tensor::constant_f32(-(most as f64))).max_keep(2));
        let steps = (noise.apart(LATER).uniform() * (left + 1.0)).floor().min(left);
        let reached = ahead.later(steps).next_obs.slice(2, achieved.start, achieved.end);
        let which = noise.apart(WHICH).uniform().lt(Tensor::constant_f32(self.share));
        let replaced = |obs: Tensor| {
            let mut parts = Vec::with_capacity(3);
            if desired.start > 0 {
                parts.push(obs.slice(2, 0, desired.start));
            }
            parts.push(which.select(reached, obs.slice(2, desired.start, desired.end)));
            if desired.end < obs.size(2) {
                parts.push(obs.slice(2, desired.end, obs.size(2)));
            }
            Tensor::concat(&parts, 2)
        };
        let there = drawn.next_obs.slice(2, achieved.start, achieved.end);
        let distance = (there - reached).square().sum_keep(2).sqrt();
        let is_there = distance.gt(Tensor::constant_f32(*tolerance)).not();
        let reward = is_there.select(none, Tensor::constant_f32(-1.0));
        Transitions {
            obs: replaced(drawn.obs),
            next_obs: replaced(drawn.next_obs),
            reward: which.select(reward, drawn.reward),
            terminated: which.select(is_there.to_f32(), drawn.terminated),
            action: drawn.action,
        }
    }
}
