//! Stratified bootstrap: how far statistics would be from these with other seeds.
//!
//! As in rliable's `library.py`, runs are drawn with replacement within each environment, each method's by themselves,
//! and an interval goes from one percentile of the statistic's values to another.

use super::aggregate::Aggregate;
use crate::statistics::Draws;

/// A statistic, and its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The statistic of the runs that there are.
    pub value: f64,
    /// Percentiles 2.5 and 97.5 of its values for resamples; none where an environment has a single run, which tells
    /// nothing about others.
    pub interval: Option<(f64, f64)>,
}

/// Statistics of methods, each a list of environments with their runs, with intervals from so many resamples.
pub(crate) fn estimate<T: Clone>(
    methods: &[&[Vec<T>]],
    resamples: usize,
    statistics: impl Fn(&[Vec<Vec<T>>]) -> Vec<f64>,
) -> Vec<Estimate> {
    let mut resample: Vec<Vec<Vec<T>>> = methods.iter().map(|environments| environments.to_vec()).collect();
    let values = statistics(&resample);
    let alone = methods.iter().any(|environments| environments.iter().any(|runs| runs.len() < 2));
    if alone || resamples == 0 {
        return values.into_iter().map(|value| Estimate { value, interval: None }).collect();
    }
    let mut draws = Draws::default();
    let mut found: Vec<Vec<f64>> = vec![Vec::with_capacity(resamples); values.len()];
    for _ in 0..resamples {
        for (drawn, runs) in resample.iter_mut().zip(methods).flat_map(|(to, from)| to.iter_mut().zip(*from)) {
            for slot in drawn {
                *slot = runs[draws.below(runs.len())].clone();
            }
        }
        for (all, value) in found.iter_mut().zip(statistics(&resample)) {
            all.push(value);
        }
    }
    let interval = |mut all: Vec<f64>| {
        all.sort_by(f64::total_cmp);
        (percentile(&all, 0.025), percentile(&all, 0.975))
    };
    values.into_iter().zip(found).map(|(value, all)| Estimate { value, interval: Some(interval(all)) }).collect()
}

/// The value at this fraction of sorted ones, on a line between neighbours, as NumPy's `percentile`.
fn percentile(sorted: &[f64], fraction: f64) -> f64 {
    let place = fraction * (sorted.len() - 1) as f64;
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let below = place.floor() as usize;
    let above = (below + 1).min(sorted.len() - 1);
    sorted[below] + (sorted[above] - sorted[below]) * (place - below as f64)
}

/// Resamples of each interval, where none are asked for.
pub(crate) const RESAMPLES: usize = 10_000;

/// Scores of an experiment's runs at a budget.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scores {
    /// The budget.
    pub budget: f64,
    /// The score of each run.
    pub values: Vec<f64>,
}

impl Scores {
    /// A statistic of the scores; none without a score.
    pub fn statistic(&self, of: Aggregate) -> Option<Estimate> {
        let runs = [self.values.clone()];
        let found = || estimate(&[&runs[..]], RESAMPLES, |all| vec![of.of(&all[0])]);
        (!self.values.is_empty()).then(found)?.into_iter().next()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::mean;

    #[test]
    fn intervals_have_the_width_of_theory() {
        let runs: Vec<f64> = (0..100).map(f64::from).collect();
        // The standard error of the mean of 0..=99 is 2.89; that of the mean of two environments is 1/√2 of it.
        let both = [runs.clone(), runs.iter().map(|x| x + 100.0).collect()];
        let of = |all: &[Vec<Vec<f64>>]| vec![mean(&all[0].iter().map(|runs| mean(runs)).collect::<Vec<_>>())];
        let found = estimate(&[&both[..]], 4000, of)[0];
        let (low, high) = found.interval.unwrap();
        assert_eq!(found.value, 99.5);
        assert!((99.5 - low - 4.0).abs() < 0.4 && (high - 99.5 - 4.0).abs() < 0.4, "{low} {high}");
        assert_eq!(estimate(&[&both[..]], 4000, of)[0], found, "always the same");
        // Runs of one environment never stand for those of another: each has its own mean in every resample.
        let flat = [vec![1.0; 3], vec![3.0; 3]];
        assert_eq!(estimate(&[&flat[..]], 100, of)[0].interval, Some((2.0, 2.0)));
    }

    #[test]
    fn a_single_run_on_any_environment_has_no_interval() {
        let of = |all: &[Vec<Vec<f64>>]| vec![all[0][0][0]];
        let (two, one) = ([vec![1.0, 2.0]], [vec![5.0]]);
        assert_eq!(estimate(&[&two[..], &one[..]], 100, of), [Estimate { value: 1.0, interval: None }]);
        assert!(estimate(&[&two[..]], 100, of)[0].interval.is_some());
    }

    #[test]
    fn percentiles_are_those_of_numpy() {
        let sorted = [1.0, 2.0, 4.0, 8.0];
        // np.percentile([1, 2, 4, 8], [0, 2.5, 50, 97.5, 100])
        for (fraction, value) in [(0.0, 1.0), (0.025, 1.075), (0.5, 3.0), (0.975, 7.7), (1.0, 8.0)] {
            assert!((percentile(&sorted, fraction) - value).abs() < 1e-12, "{fraction}");
        }
        assert_eq!(percentile(&[3.0], 0.975), 3.0);
    }
}
