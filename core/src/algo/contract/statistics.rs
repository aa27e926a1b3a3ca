//! Running means and variances that a state holds: of observations, of rewards, of advantages.

use super::{First, Held, Numbers, StateEntry};
use crate::credit::Moments;
use crate::play::Iteration;
use crate::policy::Normalised;
use crate::tensor::{Named, Tree as _};
use crate::{DType, Tensor};

/// Merges steps `[T, S, N, D]` into running moments, those of all ranks where several train together: all of them, or
/// those where `valid`, u32 `[T, S, N, 1]`, is not 0.
#[track_caller]
pub fn merge_steps(it: &mut Iteration<'_>, moments: Moments, steps: Tensor, valid: Option<Tensor>) -> Moments {
    let own = Moments::of_steps(steps, valid);
    if it.ranks() == 1 {
        return moments.merge_moments(own.mean, own.var, own.count);
    }
    let all = it.of_ranks(&own.flat());
    (0..it.ranks()).fold(moments, |before, rank| {
        let of_rank: Vec<Tensor> = all.iter().map(|x| x.slice(0, rank, rank + 1).reshape(&x.shape()[1..])).collect();
        let Moments { mean, var, count } = own.with(&of_rank);
        before.merge_moments(mean, var, count)
    })
}

/// A running mean and variance in a state, by the names of its three entries.
#[derive(Clone, Copy, Debug)]
pub struct Statistics {
    mean: &'static str,
    variance: &'static str,
    count: &'static str,
}

impl Statistics {
    /// The statistics of observations, by which policies see them standardised.
    pub const OBSERVATIONS: Statistics =
        Statistics { mean: Normalised::MEAN, variance: Normalised::VARIANCE, count: "obs_count" };
    /// The statistics of discounted returns; rewards are divided by their deviation.
    pub const REWARDS: Statistics = Statistics { mean: "reward_mean", variance: "reward_var", count: "reward_count" };
    /// The statistics of advantages.
    pub const ADVANTAGES: Statistics =
        Statistics { mean: "advantage_mean", variance: "advantage_var", count: "advantage_count" };

    /// Gives the entries of statistics of D numbers: mean and variance, `[D]` each, and count, `[1]`.
    #[must_use]
    pub fn entries(self, d: usize) -> [StateEntry; 3] {
        let of = |name, d| StateEntry::new(name, &[d], DType::F32);
        let variance = of(self.variance, d).from(First::Value(1.0)).holding(Numbers::NOT_NEGATIVE);
        [of(self.mean, d), variance, of(self.count, 1).holding(Numbers::COUNT)].map(StateEntry::statistics)
    }

    /// Finds the statistics in a state, if it has them.
    #[must_use]
    pub fn find(self, held: &Held) -> Option<Moments> {
        let [mean, var, count] = [self.mean, self.variance, self.count].map(|name| held.find(name));
        Some(Moments { mean: mean?, var: var?, count: count? })
    }

    /// Writes the statistics to the state.
    pub fn keep(self, it: &mut Iteration<'_>, moments: &Moments) {
        it.update(self.mean, moments.mean);
        it.update(self.variance, moments.var);
        it.update(self.count, moments.count);
    }

    /// Names the entries that make up a policy; `normalises` says whether it standardises observations.
    #[must_use]
    pub fn policy_entries(normalises: bool) -> Vec<&'static str> {
        let Statistics { mean, variance, .. } = Statistics::OBSERVATIONS;
        if normalises { vec!["theta", mean, variance] } else { vec!["theta"] }
    }

    /// Finds the values by which the policy of a state standardises observations, or none if it does not. The state of
    /// a policy alone has no count.
    #[must_use]
    pub fn acting(held: &Held) -> Named {
        let Statistics { mean, variance, .. } = Statistics::OBSERVATIONS;
        [mean, variance].into_iter().filter_map(|name| Some((name, held.find(name)?))).collect()
    }
}
