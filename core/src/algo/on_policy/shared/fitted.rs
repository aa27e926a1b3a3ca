//! Baselines that are fitted to each rollout and replace a value function.

use super::{Rollout, RolloutValues, StepCredit};
use crate::algo::{Count, Held, StateEntry};
use crate::credit::{Baseline, least_squares_weights};
use crate::learn::by_seed;
use crate::play::Iteration;
use crate::{DType, Tensor};

/// The entry of a fitted baseline's weights.
pub(in crate::algo::on_policy) const WEIGHTS: &str = "baseline_weights";

/// The entry of the least and the largest return that a baseline was fitted to, between which predictions stay.
pub(in crate::algo::on_policy) const RANGE: &str = "baseline_range";

/// A baseline that is fitted to each rollout and predicts the returns of the next one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FittedBaseline {
    /// The features that the baseline is linear in.
    pub baseline: Baseline,
    /// r of [`least_squares`](crate::credit::least_squares).
    pub regularisation: f64,
}

/// The predictions of a fitted baseline, and the features to which it is fitted next.
#[derive(Clone, Copy, Debug)]
pub struct Predictions {
    /// Values by the fit to the previous rollout.
    pub values: RolloutValues,
    /// Features of all that a rollout saw, `[S, T · N, n]`, if the baseline has any.
    features: Option<Tensor>,
    regularisation: f64,
}

impl FittedBaseline {
    /// The entries of a fit, where observations have `observations` numbers.
    pub(super) fn entries(&self, observations: usize) -> Vec<StateEntry> {
        let width = self.baseline.width(observations);
        let fit = [(WEIGHTS, width), (RANGE, 2)].into_iter().filter(|_| width > 0);
        fit.map(|(name, width)| StateEntry::new(name, &[width], DType::F32).statistics()).collect()
    }

    /// Predicts values by the fit to the previous rollout. They stay between the least and the largest return of the
    /// fit, because a fit says nothing about what is far from its data. A baseline without features predicts 0.
    #[track_caller]
    pub fn predict(&self, rollout: &Rollout<'_>, held: &Held) -> Predictions {
        let regularisation = self.regularisation;
        let shape = rollout.reward.shape();
        let [t, s, n, _] = shape[..] else {
            return Predictions { values: RolloutValues::poison(), features: None, regularisation };
        };
        let steps = rollout.numbers(held);
        let fit = held.find(WEIGHTS).map(|weights| (weights, held.get(RANGE)));
        let features = self.baseline.features(rollout.all, steps);
        let values = match (features, fit) {
            (Some(features), Some((weights, range))) => {
                let limit = |i| range.slice(1, i, i + 1).unsqueeze(2);
                features.matmul(weights.unsqueeze(2)).max(limit(0)).min(limit(1))
            }
            _ => Tensor::zeros(&steps.shape()),
        };
        let features = features.map(|all| rollout.only(all.slice(1, 0, t * n)));
        Predictions { values: RolloutValues::split(values, [t, s, n]), features, regularisation }
    }
}

impl Predictions {
    /// Fits the baseline to the value targets of a rollout. Where new weights are not finite, a seed's fit stays as it
    /// is; the result, `[S, 1]`, is 1 there, else 0.
    #[track_caller]
    pub fn fit(&self, rollout: &Rollout<'_>, it: &mut Iteration<'_>, held: &Held, credit: &StepCredit) -> Tensor {
        let seeds = rollout.seen.size(0);
        let Some(features) = self.features else { return Tensor::zeros(&[seeds, 1]) };
        let returns = by_seed(credit.targets);
        let weights = least_squares_weights(features, rollout.only(returns), self.regularisation);
        let none = Tensor::constant_f32(f64::from(f32::MIN));
        let largest = |x: Tensor| rollout.valid().map_or(x, |valid| valid.select(x, none)).max_keep(1);
        let range = Tensor::concat(&[-largest(-returns), largest(returns)], 2).reshape(&[seeds, 2]);
        let weights = weights.reshape(&[seeds, features.size(2)]);
        let broken = weights.non_finite().max_keep(1);
        for (name, after) in [(WEIGHTS, weights), (RANGE, range)] {
            it.update(name, broken.select(held.get(name), after));
        }
        broken.to_f32()
    }
}

impl Rollout<'_> {
    /// The numbers of all steps in their episodes, from 0, f32 `[S, T · N + C · N + N, 1]`, by the state before.
    #[track_caller]
    fn numbers(&self, held: &Held) -> Tensor {
        let shape = self.reward.shape();
        let [t, s, n, _] = shape[..] else { return Tensor::poison() };
        let first = Count::of(held, [s, n]).steps;
        let (zero, one) = (Tensor::constant_u32(0), Tensor::constant_u32(1));
        let numbers = self.ends.step_numbers(first);
        // Time limits cut an environment off at most once in a span.
        let spans = self.values.cut.size(1) / n;
        let cut = self.ends.truncated.select(numbers + one, zero).reshape(&[spans, t / spans, s, n, 1]);
        let cut = by_seed(cut.max_keep(1).reshape(&[spans, s, n, 1]));
        Tensor::concat(&[by_seed(numbers), cut, self.count.steps.reshape(&[s, n, 1])], 1).to_f32()
    }
}
