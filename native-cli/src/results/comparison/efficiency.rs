//! Sample efficiency: an aggregate after each share of the budget.

use crate::statistics::aggregate::Aggregate;
use crate::statistics::bootstrap::{Estimate, estimate};

/// Frames of a curve at most.
const FRAMES: usize = 40;

/// How many even shares of the budget curves have: as many as the fewest points of a run, up to a limit.
pub(crate) fn frames(points: impl Iterator<Item = usize>) -> usize {
    points.min().unwrap_or(0).clamp(1, FRAMES)
}

/// The interquartile mean at each frame, with its interval. `curves` has for each environment its runs, and for each of
/// these its scores at all frames. A frame at which a run has none yet is left out.
///
/// A resample takes whole runs, as rliable's does of scores by frames.
pub(crate) fn efficiency(curves: &[Vec<Vec<Option<f64>>>], resamples: usize) -> Vec<(usize, Estimate)> {
    let runs = || curves.iter().flatten();
    let count = runs().map(Vec::len).min().unwrap_or(0);
    let complete: Vec<usize> = (0..count).filter(|frame| runs().all(|run| run[*frame].is_some())).collect();
    let borrowed: Vec<Vec<&[Option<f64>]>> =
        curves.iter().map(|runs| runs.iter().map(Vec::as_slice).collect()).collect();
    let estimates = estimate(&[&borrowed[..]], resamples, |all| {
        let at = |frame: &usize| {
            let scores: Vec<f64> = all[0].iter().flatten().filter_map(|run| run[*frame]).collect();
            Aggregate::Iqm.of(&[scores])
        };
        complete.iter().map(at).collect()
    });
    complete.iter().copied().zip(estimates).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_those_that_all_runs_have() {
        let run = |first: Option<f64>, last: f64| vec![first, Some(1.0), Some(last)];
        let curves = [vec![run(None, 2.0), run(Some(0.0), 4.0)], vec![run(Some(9.0), 3.0), run(Some(9.0), 3.0)]];
        let found = efficiency(&curves, 100);
        assert_eq!(found.iter().map(|(frame, _)| *frame).collect::<Vec<_>>(), [1, 2]);
        assert_eq!((found[0].1.value, found[0].1.interval), (1.0, Some((1.0, 1.0))));
        // Of 2, 3, 3, 4 one is cut at each end.
        assert_eq!(found[1].1.value, 3.0);
        let (low, high) = found[1].1.interval.unwrap();
        assert!((2.0..3.0).contains(&low) && high > 3.0, "{low} {high}");
        assert!(efficiency(&[], 100).is_empty());
        assert_eq!((frames([30, 10].into_iter()), frames([400, 90].into_iter()), frames([].into_iter())), (10, 40, 1));
    }
}
