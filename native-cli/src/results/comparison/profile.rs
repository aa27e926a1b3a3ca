//! Performance profiles: which share of runs comes above a score, for all scores.

use crate::statistics::bootstrap::{Estimate, estimate};
use crate::statistics::mean;

/// Thresholds of a profile.
const POINTS: usize = 81;

/// A point of a profile.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ProfilePoint {
    /// The threshold τ.
    pub tau: f64,
    /// The share of runs with a score above τ: rliable's `run_score_deviation`, with its interval.
    pub runs: Estimate,
    /// The share of environments whose mean score is above τ: `mean_score_deviation`.
    pub means: f64,
}

/// Even thresholds from the lowest to the highest of all scores, or around one score; normalised ones begin at 0 and
/// reach 1 at least.
pub(crate) fn thresholds(scores: &[f64], normalised: bool) -> Vec<f64> {
    let ends = if normalised { [0.0, 1.0] } else { [f64::INFINITY, f64::NEG_INFINITY] };
    let low = if normalised { 0.0 } else { scores.iter().copied().fold(ends[0], f64::min) };
    let high = scores.iter().copied().fold(ends[1], f64::max);
    if !(low.is_finite() && high.is_finite()) {
        return Vec::new();
    }
    let room = if low < high { 0.0 } else { (0.1 * low.abs()).max(1.0) };
    let (low, high) = (low - room, high + room);
    (0..POINTS).map(|i| low + (high - low) * i as f64 / (POINTS - 1) as f64).collect()
}

/// The profile of these scores, a list of runs for each environment, at these thresholds.
pub(crate) fn profile(scores: &[Vec<f64>], taus: &[f64], resamples: usize) -> Vec<ProfilePoint> {
    let shares = estimate(&[scores], resamples, |all| above(&all[0].concat(), taus));
    let means = above(&scores.iter().map(|runs| mean(runs)).collect::<Vec<_>>(), taus);
    let points = taus.iter().zip(shares).zip(means);
    points.map(|((tau, runs), means)| ProfilePoint { tau: *tau, runs, means }).collect()
}

/// For each threshold the share of values above it.
fn above(values: &[f64], taus: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let share = |tau: &f64| (sorted.len() - sorted.partition_point(|value| value <= tau)) as f64 / sorted.len() as f64;
    taus.iter().map(share).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn profiles_count_what_is_strictly_above() {
        let points = profile(&[vec![0.0, 0.5, 1.0, 1.0], vec![0.5, 0.5]], &[0.0, 0.5, 0.55, 1.0], 200);
        let runs: Vec<f64> = points.iter().map(|point| point.runs.value).collect();
        assert_eq!(runs, [5.0 / 6.0, 2.0 / 6.0, 2.0 / 6.0, 0.0]);
        // Means are 0.625 and 0.5.
        assert_eq!(points.iter().map(|point| point.means).collect::<Vec<_>>(), [1.0, 0.5, 0.5, 0.0]);
        let (low, high) = points[0].runs.interval.unwrap();
        assert!(low < 5.0 / 6.0 && high <= 1.0 && low > 0.3, "{low} {high}");
    }

    #[test]
    fn thresholds_cover_all_scores() {
        let taus = thresholds(&[-200.0, -40.0], false);
        assert_eq!((taus.len(), taus[0], taus[80]), (81, -200.0, -40.0));
        assert_eq!(thresholds(&[0.3, -0.2], true)[80], 1.0);
        assert_eq!(thresholds(&[1.25], true)[80], 1.25);
        let around = thresholds(&[50.0, 50.0], false);
        assert_eq!((around[0], around[80]), (45.0, 55.0));
        assert!(thresholds(&[], false).is_empty());
    }
}
