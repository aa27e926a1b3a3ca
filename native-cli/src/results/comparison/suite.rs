//! Statistics of methods on one environment, or of their normalised scores over several.

use super::efficiency::{efficiency, frames};
use super::profile::{ProfilePoint, profile, thresholds};
use super::task::Task;
use crate::statistics::aggregate::Aggregate;
use crate::statistics::bootstrap::{Estimate, estimate};

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
