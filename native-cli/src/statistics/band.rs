//! Runs of several seeds on common steps: their mean and its interval.

use crate::statistics;

/// Several runs as one curve: at each step the mean of the runs that there are.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Band {
    /// Environment steps, or whatever runs are drawn over.
    pub steps: Vec<f64>,
    /// Mean over the runs that cover a step.
    pub mean: Vec<f64>,
    /// The 95 % bootstrap interval of this mean; none where it is that of a single run.
    pub interval: Vec<Option<(f64, f64)>>,
    /// Where the first of several runs ends, if others go on.
    pub first_end: Option<f64>,
}

/// The end of a curve of several runs.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct CurveEnd {
    /// Its step.
    pub steps: f64,
    /// The values there, of the runs that have come so far; at least one.
    pub values: Vec<f64>,
    /// Where the first of several runs ends, if others go on.
    pub first_end: Option<f64>,
}

/// Points per aggregated line: finer than the eye resolves in the plot.
const POINTS: usize = 240;
/// Runs that end within this share of the longest one's end stop together: their iterations do not end at the same
/// step.
const TOGETHER: f64 = 0.02;

/// Where the curve of these runs ends: with the longest one. None if no run has a point.
pub(crate) fn end(runs: &[Vec<(f64, f64)>]) -> Option<CurveEnd> {
    let lasts = || runs.iter().filter_map(|run| Some(run.last()?.0));
    let longest = lasts().max_by(f64::total_cmp)?;
    let steps = lasts().filter(|last| *last >= longest - TOGETHER * longest.abs()).min_by(f64::total_cmp)?;
    let first_end = lasts().min_by(f64::total_cmp).filter(|first| *first < steps);
    Some(CurveEnd { steps, values: runs.iter().filter_map(|run| at(run, steps)).collect(), first_end })
}

/// The number of runs that have a point.
pub(crate) fn measured(runs: &[Vec<(f64, f64)>]) -> usize {
    runs.iter().filter(|run| !run.is_empty()).count()
}

/// The mean of runs over a common grid of steps, by linear interpolation within each run.
///
/// The grid reaches from the first point of any run to the [`end`]. With `log` it is even in the
/// logarithms of its steps, which are above 0 then.
pub(crate) fn aggregate(runs: &[Vec<(f64, f64)>], log: bool) -> Band {
    let from = runs.iter().filter_map(|run| Some(run.first()?.0)).min_by(f64::total_cmp);
    let (Some(from), Some(end)) = (from, end(runs)) else { return Band::default() };
    let mut band = Band { first_end: end.first_end, ..Band::default() };
    let ends = runs.iter().filter_map(|run| Some(run.last()?.0)).filter(|last| *last < end.steps);
    let points = runs.iter().map(Vec::len).max().unwrap_or(1).min(POINTS);
    for steps in grid([from, end.steps], points, log, ends) {
        let values: Vec<f64> = runs.iter().filter_map(|run| at(run, steps)).collect();
        if values.is_empty() {
            continue;
        }
        band.steps.push(steps);
        band.mean.push(statistics::mean(&values));
        band.interval.push(statistics::bootstrap95(&values, statistics::mean));
    }
    band
}

/// Even steps from one to another, and those of `more`, in order.
fn grid([from, to]: [f64; 2], points: usize, log: bool, more: impl Iterator<Item = f64>) -> Vec<f64> {
    let even = |i: usize| {
        let fraction = i as f64 / (points - 1).max(1) as f64;
        match log {
            true => from * (to / from).powf(fraction),
            false => from + (to - from) * fraction,
        }
    };
    let between = (1..points.saturating_sub(1)).map(even).filter(|x| (from..to).contains(x));
    let mut grid: Vec<f64> = between.chain([from, to]).chain(more).collect();
    grid.sort_by(f64::total_cmp);
    grid.dedup();
    grid
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

/// Each point with the mean of the values within half of `width` of its step.
pub(crate) fn smooth(run: &[(f64, f64)], width: f64) -> Vec<(f64, f64)> {
    let (mut from, mut to, mut sum) = (0, 0, 0.0);
    let mean = |(x, _): &(f64, f64)| {
        while to < run.len() && run[to].0 <= x + width / 2.0 {
            sum += run[to].1;
            to += 1;
        }
        while from < to && run[from].0 < x - width / 2.0 {
            sum -= run[from].1;
            from += 1;
        }
        (*x, sum / (to - from).max(1) as f64)
    };
    run.iter().map(mean).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aggregation_interpolates_and_averages() {
        let runs = vec![vec![(0.0, 0.0), (100.0, 100.0)], vec![(0.0, 10.0), (50.0, 10.0), (100.0, 30.0)]];
        let band = aggregate(&runs, false);
        assert_eq!(band.steps, [0.0, 50.0, 100.0]);
        assert_eq!(band.mean, [5.0, 30.0, 65.0]);
        assert_eq!((band.interval[2], band.first_end), (Some((30.0, 100.0)), None));
        assert_eq!(end(&runs), Some(CurveEnd { steps: 100.0, values: vec![100.0, 30.0], first_end: None }));
    }

    #[test]
    fn each_step_is_the_mean_of_the_runs_that_there_are() {
        let long: Vec<(f64, f64)> = (0..=10).map(|i| (f64::from(i), 1.0)).collect();
        let short: Vec<(f64, f64)> = (0..=4).map(|i| (f64::from(i), 4.0)).collect();
        let runs = [long.clone(), long.clone(), short, vec![]];
        let band = aggregate(&runs, false);
        assert_eq!(band.steps.last(), Some(&10.0));
        // Three runs until the first of them ends, two from there on.
        assert_eq!(band.first_end, Some(4.0));
        let here = |steps: f64| band.steps.iter().position(|x| *x == steps).unwrap();
        assert_eq!((band.mean[here(4.0)], band.mean[here(5.0)]), (2.0, 1.0));
        assert_eq!(band.interval[here(5.0)], Some((1.0, 1.0)));
        assert_eq!(end(&runs).unwrap().values, [1.0, 1.0]);
        // Of a single run nothing is known about others.
        let alone = aggregate(&[long[..1].to_vec()], false);
        assert_eq!((alone.mean, alone.interval, alone.first_end), (vec![1.0], vec![None], None));
        assert_eq!(aggregate(&[], false), Band::default());
    }

    #[test]
    fn runs_whose_last_iterations_end_at_nearly_the_same_step_end_together() {
        let run = |last: f64| vec![(0.0, 1.0), (last, last)];
        for (lasts, steps, first_end, count) in
            [([1000.0, 990.0, 1010.0], 990.0, None, 3), ([1000.0, 900.0, 1010.0], 1000.0, Some(900.0), 2)]
        {
            let runs = lasts.map(run);
            let end = end(&runs).unwrap();
            assert_eq!((end.steps, end.first_end, end.values.len()), (steps, first_end, count));
            let band = aggregate(&runs, false);
            assert_eq!((band.steps.last(), band.first_end), (Some(&steps), first_end));
            assert_eq!(band.mean.last(), Some(&statistics::mean(&end.values)), "both end alike");
        }
    }

    #[test]
    fn grids_of_logarithms_end_where_the_others_do() {
        let runs = vec![vec![(10.0, 0.0), (20.0, 1.0), (1000.0, 3.0)], vec![(10.0, 0.0), (200.0, 2.0), (1000.0, 5.0)]];
        let (even, powers) = (aggregate(&runs, false), aggregate(&runs, true));
        assert!((powers.steps[1] - 100.0).abs() < 1e-9, "{:?}", powers.steps);
        assert_eq!((even.mean.last(), even.interval.last()), (powers.mean.last(), powers.interval.last()));
    }

    #[test]
    fn smoothing_takes_the_mean_of_a_window_around_each_point() {
        let run = [(0.0, 1.0), (10.0, 3.0), (20.0, 8.0), (100.0, 5.0)];
        assert_eq!(smooth(&run, 20.0), [(0.0, 2.0), (10.0, 4.0), (20.0, 5.5), (100.0, 5.0)]);
        assert_eq!(smooth(&run, 1.0), run);
    }
}
