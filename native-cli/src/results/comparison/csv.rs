//! A comparison as one table of numbers, a row for each.

use super::Comparison;
use super::suite::{Suite, Summary};
use crate::statistics::bootstrap::Estimate;
use crate::text::quote::csv_cell;

/// A number of a comparison.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Figure {
    /// `aggregate`, `improvement`, `profile` or `efficiency`.
    pub kind: &'static str,
    /// `normalised`, or `raw` for scores as they are.
    pub scale: &'static str,
    /// The environments.
    pub tasks: Vec<usize>,
    /// The method.
    pub experiment: String,
    /// The method that it is compared with; empty without one.
    pub over: String,
    /// The statistic that the value and the interval are of.
    pub statistic: &'static str,
    /// The threshold of a profile; of efficiency the steps, or the share of the budget for normalised scores.
    pub at: Option<f64>,
    /// Runs of the method, added up over environments.
    pub runs: usize,
    /// The number, with its interval.
    pub value: Estimate,
}

/// All numbers of a comparison.
pub(crate) fn figures(comparison: &Comparison) -> Vec<Figure> {
    let mut all = Vec::new();
    for suite in &comparison.suites {
        all.extend(suite.results.iter().flat_map(|result| of_method(comparison, suite, result)));
    }
    let runs = |tasks: &[usize], method: usize| tasks.iter().map(|t| comparison.tasks[*t].runs[method].len()).sum();
    all.extend(comparison.improvements.iter().map(|one| Figure {
        kind: "improvement",
        scale: "raw",
        tasks: one.tasks.clone(),
        experiment: comparison.methods[one.method].clone(),
        over: comparison.methods[one.over].clone(),
        statistic: "probability",
        at: None,
        runs: runs(&one.tasks, one.method),
        value: one.probability,
    }));
    all
}

fn of_method(comparison: &Comparison, suite: &Suite, result: &Summary) -> Vec<Figure> {
    let figure = |kind, statistic, at, value| Figure {
        kind,
        // Optimality gaps are of normalised scores wherever they stand.
        scale: if suite.normalised || statistic == "optimality_gap" { "normalised" } else { "raw" },
        tasks: suite.tasks.clone(),
        experiment: comparison.methods[result.method].clone(),
        over: String::new(),
        statistic,
        at,
        runs: result.runs.iter().sum(),
        value,
    };
    let steps = match suite.normalised {
        true => 1.0,
        false => suite.tasks.first().map_or(1.0, |task| comparison.tasks[*task].budget.steps),
    };
    let aggregates = result.aggregates.iter().map(|(of, found)| figure("aggregate", of.key(), None, *found));
    let profile = result.profile.iter().flat_map(|point| {
        let means = Estimate { value: point.means, interval: None };
        [("runs_above", point.runs), ("means_above", means)]
            .map(|(name, found)| figure("profile", name, Some(point.tau), found))
    });
    let curve = result.efficiency.iter().map(|(share, found)| figure("efficiency", "iqm", Some(share * steps), *found));
    aggregates.chain(profile).chain(curve).collect()
}

/// The text of a CSV file.
pub(crate) fn csv(comparison: &Comparison) -> String {
    let mut out = "kind,scale,environments,experiment,over,statistic,at,runs,value,low,high\n".to_owned();
    for one in figures(comparison) {
        let number = |value: Option<f64>| value.map_or_else(String::new, |value| value.to_string());
        let [low, high] = [one.value.interval.map(|(low, _)| low), one.value.interval.map(|(_, high)| high)];
        let cells = [
            one.kind.to_owned(),
            one.scale.to_owned(),
            csv_cell(&comparison.names(&one.tasks)),
            csv_cell(&one.experiment),
            csv_cell(&one.over),
            one.statistic.to_owned(),
            number(one.at),
            one.runs.to_string(),
            number(Some(one.value.value)),
            number(low),
            number(high),
        ];
        out += &(cells.join(",") + "\n");
    }
    out
}
