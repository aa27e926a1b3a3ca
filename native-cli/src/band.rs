//! Runs of several seeds on common steps: their mean and its interval.

use crate::stats;

/// Several runs brought onto common steps.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Band {
    /// Environment steps.
    pub steps: Vec<f64>,
    /// Mean over runs.
    pub mean: Vec<f64>,
    /// Lower end of the interval.
    pub low: Vec<f64>,
    /// Upper end of the interval.
    pub high: Vec<f64>,
}

/// Points per aggregated line: finer than the eye resolves in the plot.
const POINTS: usize = 240;

/// Averages runs over a common grid of steps, by linear interpolation within each run.
///
/// The grid spans the steps that at least half of the runs cover, so that one run that was stopped early does not cut
/// the others short.
#[must_use]
pub fn aggregate(runs: &[Vec<(f64, f64)>]) -> Band {
    let runs: Vec<&Vec<(f64, f64)>> = runs.iter().filter(|run| !run.is_empty()).collect();
    let mut firsts: Vec<f64> = runs.iter().map(|run| run[0].0).collect();
    let mut lasts: Vec<f64> = runs.iter().map(|run| run[run.len() - 1].0).collect();
    firsts.sort_by(f64::total_cmp);
    lasts.sort_by(f64::total_cmp);
    let half = runs.len().div_ceil(2);
    let mut band = Band::default();
    if runs.is_empty() {
        return band;
    }
    let (from, to) = (firsts[half - 1], lasts[runs.len() - half]);
    let longest = runs.iter().map(|run| run.len()).max().unwrap_or(1);
    let points = if to > from { longest.min(POINTS) } else { 1 };
    for i in 0..points {
        let fraction = i as f64 / (points - 1).max(1) as f64;
        let steps = from + (to - from) * fraction;
        let values: Vec<f64> = runs.iter().filter_map(|run| at(run, steps)).collect();
        if values.len() < half {
            continue;
        }
        let (low, high) = stats::bootstrap95(&values, stats::mean);
        band.steps.push(steps);
        band.mean.push(stats::mean(&values));
        band.low.push(low);
        band.high.push(high);
    }
    band
}

/// The value of a run at `steps`, or `None` outside of it.
fn at(run: &[(f64, f64)], steps: f64) -> Option<f64> {
    let after = run.partition_point(|(x, _)| *x < steps);
    let (x1, y1) = *run.get(after)?;
    if x1 == steps || after == 0 {
        return (x1 == steps).then_some(y1);
    }
    let (x0, y0) = run[after - 1];
    Some(y0 + (y1 - y0) * (steps - x0) / (x1 - x0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aggregation_interpolates_and_averages() {
        let runs = vec![vec![(0.0, 0.0), (100.0, 100.0)], vec![(0.0, 10.0), (50.0, 10.0), (100.0, 30.0)]];
        let band = aggregate(&runs);
        assert_eq!(band.steps, [0.0, 50.0, 100.0]);
        assert_eq!(band.mean, [5.0, 30.0, 65.0]);
        assert_eq!((band.low[2], band.high[2]), (30.0, 100.0));
    }

    #[test]
    fn a_run_that_stopped_early_does_not_cut_the_others() {
        let long: Vec<(f64, f64)> = (0..=10).map(|i| (f64::from(i), 1.0)).collect();
        let band = aggregate(&[long.clone(), long.clone(), long[..3].to_vec(), vec![]]);
        assert_eq!(band.steps.last(), Some(&10.0));
        assert_eq!(aggregate(&[]), Band::default());
        assert_eq!(aggregate(&[vec![(5.0, 2.0)]]).mean, [2.0]);
    }
}
