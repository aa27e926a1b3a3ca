//! Aggregates of scores, by the definitions of rliable's `metrics.py` (Agarwal et al. 2021, arXiv:2108.13264).
//!
//! Scores are lists of runs, one for each environment. rliable has as many runs on each; where their numbers differ
//! here, mean and median weigh environments alike, and all others weigh runs alike, as the definitions say.

use crate::statistics::mean;

/// A statistic of scores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aggregate {
    /// Mean over environments of their runs' means: `aggregate_mean`.
    Mean,
    /// Median over environments of their runs' means: `aggregate_median`.
    Median,
    /// Median over all runs.
    RunMedian,
    /// Interquartile mean over all runs: `aggregate_iqm`.
    Iqm,
    /// How far runs fall short of 1 on average, those above it counting as 1: `aggregate_optimality_gap`.
    OptimalityGap,
}

impl Aggregate {
    /// The statistic of these scores; NaN without any.
    pub fn of(self, scores: &[Vec<f64>]) -> f64 {
        let means = || scores.iter().map(|runs| mean(runs)).collect::<Vec<_>>();
        match self {
            Self::Mean => mean(&means()),
            Self::Median => median(&means()),
            Self::RunMedian => median(&scores.concat()),
            Self::Iqm => trimmed_mean(&scores.concat()),
            Self::OptimalityGap => 1.0 - mean(&scores.iter().flatten().map(|score| score.min(1.0)).collect::<Vec<_>>()),
        }
    }

    /// Its name in files.
    pub fn key(self) -> &'static str {
        match self {
            Self::Mean => "mean",
            Self::Median => "median",
            Self::RunMedian => "median_of_runs",
            Self::Iqm => "iqm",
            Self::OptimalityGap => "optimality_gap",
        }
    }

    /// Its name for readers.
    pub fn title(self) -> &'static str {
        match self {
            Self::Mean => "mean",
            Self::Median => "median of means",
            Self::RunMedian => "median of runs",
            Self::Iqm => "IQM",
            Self::OptimalityGap => "optimality gap",
        }
    }
}

fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

/// The middle value, or the mean of both that there are.
fn median(values: &[f64]) -> f64 {
    let sorted = sorted(values);
    let n = sorted.len();
    match (n, n % 2) {
        (0, _) => f64::NAN,
        (_, 1) => sorted[n / 2],
        _ => mean(&sorted[n / 2 - 1..=n / 2]),
    }
}

/// SciPy's `trim_mean` with a quarter cut from each side: a whole number of values, rounded down.
/// [`crate::statistics::iqm`] weighs those at the edges by fractions instead.
fn trimmed_mean(values: &[f64]) -> f64 {
    let cut = values.len() / 4;
    mean(&sorted(values)[cut..values.len() - cut])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aggregates_of_a_few_scores_by_hand() {
        let scores = [vec![0.0, 1.0, 2.0, 9.0], vec![0.5, 0.5], vec![-1.0]];
        // Means of the environments are 3, 0.5 and -1.
        assert!((Aggregate::Mean.of(&scores) - 2.5 / 3.0).abs() < 1e-15);
        assert_eq!(Aggregate::Median.of(&scores), 0.5);
        assert_eq!(Aggregate::RunMedian.of(&scores), 0.5);
        // Of -1, 0, 0.5, 0.5, 1, 2, 9 one is cut at each end.
        assert_eq!(Aggregate::Iqm.of(&scores), 0.8);
        // -1, 0, 0.5, 0.5, 1, 1, 1 have a mean of 3/7.
        assert!((Aggregate::OptimalityGap.of(&scores) - 4.0 / 7.0).abs() < 1e-15);
        assert_eq!(Aggregate::RunMedian.of(&scores[1..]), 0.5);
        for aggregate in [Aggregate::Mean, Aggregate::Median, Aggregate::RunMedian, Aggregate::Iqm] {
            assert!(aggregate.of(&[]).is_nan());
            assert_eq!(aggregate.of(&[vec![7.0]]), 7.0);
        }
    }
}
