//! Statistics of methods on one environment, or of their normalised scores over several.

use super::task::Task;
use crate::statistics::aggregate::Aggregate;
use crate::statistics::bootstrap::{Estimate, estimate};
use crate::statistics::mean;

/// Environments, and the statistics of methods that have runs on all of them.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Suite {
    /// The environments.
    pub tasks: Vec<usize>,
    /// Scores are normalised; otherwise they are those of one environment.
    pub normalised: bool,
    /// The methods with their statistics.
    pub results: Vec<Summary>,
}

/// Statistics of a method.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Summary {
    /// The method.
    pub method: usize,
    /// Its runs on each environment.
    pub runs: Vec<usize>,
    /// Aggregates of its scores.
    pub aggregates: Vec<(Aggregate, Estimate)>,
    /// Its performance profile.
    pub profile: Vec<ProfilePoint>,
    /// After each share of the budget, the interquartile mean.
    pub efficiency: Vec<(f64, Estimate)>,
}

impl Summary {
    /// Its runs as text: a number, or one for each environment.
    pub(crate) fn seeds(&self) -> String {
        match self.runs.iter().all(|runs| *runs == self.runs[0]) {
            true => self.runs.first().copied().unwrap_or(0).to_string(),
            false => self.runs.iter().map(usize::to_string).collect::<Vec<_>>().join("+"),
        }
    }
}

/// The suite of normalised scores, if any environment has references, and one of each environment; notes say who is
/// left out.
pub(crate) fn suites(tasks: &[Task], methods: &[String], resamples: usize, notes: &mut Vec<String>) -> Vec<Suite> {
    let (known, unknown): (Vec<usize>, Vec<usize>) = (0..tasks.len()).partition(|i| tasks[*i].reference.is_some());
    let names = |of: &[usize]| of.iter().map(|i| tasks[*i].name.as_str()).collect::<Vec<_>>().join(", ");
    if !unknown.is_empty() {
        let what = if known.is_empty() { "there are no normalised scores" } else { "left out of normalised scores" };
        notes.push(format!("note: no random and reference scores are known of {}: {what}", names(&unknown)));
    }
    let mut found = Vec::new();
    if !known.is_empty() {
        let suite = suite(tasks, known, true, methods.len(), resamples);
        for (method, label) in methods.iter().enumerate() {
            let missing: Vec<usize> =
                suite.tasks.iter().copied().filter(|task| tasks[*task].runs[method].is_empty()).collect();
            if !missing.is_empty() && missing.len() < suite.tasks.len() {
                notes.push(format!(
                    "note: {label} has no runs on {} and is left out of scores normalised over all environments",
                    names(&missing)
                ));
            }
        }
        found.extend(Some(suite).filter(|suite| !suite.results.is_empty()));
    }
    found.extend((0..tasks.len()).map(|task| suite(tasks, vec![task], false, methods.len(), resamples)));
    let single = |suite: &Suite| suite.results.iter().any(|result| result.runs.contains(&1));
    if found.iter().any(single) {
        notes.push(
            "note: – stands where there is no interval, as a single seed on an environment tells nothing about others"
                .to_owned(),
        );
    }
    if found.iter().flat_map(|suite| &suite.results).any(|result| result.seeds().contains('+')) {
        notes.push(
            "note: where environments have different numbers of seeds, mean and median weigh environments alike, and \
             IQM, optimality gap and profiles weigh runs alike"
                .to_owned(),
        );
    }
    found
}

fn suite(tasks: &[Task], of: Vec<usize>, normalised: bool, methods: usize, resamples: usize) -> Suite {
    let all: Vec<&Task> = of.iter().map(|task| &tasks[*task]).collect();
    let present: Vec<usize> = (0..methods).filter(|m| all.iter().all(|task| !task.runs[*m].is_empty())).collect();
    let scores =
        |method: usize, normalised: bool| all.iter().map(|task| task.scores(method, normalised)).collect::<Vec<_>>();
    let flat: Vec<f64> = present.iter().flat_map(|method| scores(*method, normalised).concat()).collect();
    let taus = thresholds(&flat, normalised);
    let frames = frames(all.iter().map(|task| task.fewest_points()));
    let summary = |method: &usize| {
        let own = scores(*method, normalised);
        let mut aggregates = match normalised {
            true => aggregates(&own, &[Aggregate::Iqm, Aggregate::Mean, Aggregate::Median], resamples),
            false => aggregates(&own, &[Aggregate::Iqm, Aggregate::Mean, Aggregate::RunMedian], resamples),
        };
        if all.iter().all(|task| task.reference.is_some()) {
            aggregates.extend(self::aggregates(&scores(*method, true), &[Aggregate::OptimalityGap], resamples));
        }
        let curves: Vec<_> = all.iter().map(|task| task.curves(*method, frames, normalised)).collect();
        let share = |frame: usize| (frame + 1) as f64 / frames as f64;
        let efficiency = efficiency(&curves, resamples).into_iter().map(|(frame, found)| (share(frame), found));
        Summary {
            method: *method,
            runs: own.iter().map(Vec::len).collect(),
            aggregates,
            profile: profile(&own, &taus, resamples),
            efficiency: efficiency.collect(),
        }
    };
    Suite { results: present.iter().map(summary).collect(), tasks: of, normalised }
}

fn aggregates(scores: &[Vec<f64>], of: &[Aggregate], resamples: usize) -> Vec<(Aggregate, Estimate)> {
    let found = estimate(&[scores], resamples, |all| of.iter().map(|one| one.of(&all[0])).collect());
    of.iter().copied().zip(found).collect()
}

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
