//! A comparison in numbers: as one table of CSV, and as lines of JSON.

use super::Comparison;
use super::references::Reference;
use super::suite::{Suite, Summary};
use crate::json::compare::{CompareLine, FigureLine};
use crate::json::{VERSION, ends, finite, note_line, text};
use crate::outcome::Stop;
use crate::statistics::bootstrap::Estimate;
use crate::text::quote::csv_cell;

/// A number of a comparison.
#[derive(Clone, Debug, PartialEq)]
struct Figure {
    /// `aggregate`, `improvement`, `profile` or `efficiency`.
    kind: &'static str,
    /// `normalised`, or `raw` for scores as they are.
    scale: &'static str,
    /// The environments.
    tasks: Vec<usize>,
    /// The method.
    experiment: String,
    /// The method that it is compared with; empty without one.
    over: String,
    /// The statistic that the value and the interval are of.
    statistic: &'static str,
    /// The threshold of a profile; of efficiency the steps, or the share of the budget for normalised scores.
    at: Option<f64>,
    /// Runs of the method, added up over environments.
    runs: usize,
    /// The number, with its interval.
    value: Estimate,
}

/// All numbers of a comparison.
fn figures(comparison: &Comparison) -> Vec<Figure> {
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

/// A CSV file with a row for each number.
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

/// Lines of JSON: environments, runs and all numbers.
pub(crate) fn json(comparison: &Comparison) -> Result<String, Stop> {
    let first = CompareLine::Comparison {
        version: VERSION,
        experiments: comparison.methods.clone(),
        environments: comparison.tasks.iter().map(|task| task.name.clone()).collect(),
        baseline: comparison.baseline.map(|method| comparison.methods[method].clone()),
        confidence: 0.95,
        resamples: comparison.resamples,
    };
    let figures = figures(comparison).into_iter().map(|one| figure(comparison, one));
    let lines = std::iter::once(first).chain(environments(comparison)).chain(runs(comparison)).chain(figures);
    let notes = comparison.notes.iter().map(|note| text(&note_line(note)));
    lines.map(|line| text(&line)).chain(notes).collect()
}

fn environments(comparison: &Comparison) -> impl Iterator<Item = CompareLine> {
    comparison.tasks.iter().map(|task| CompareLine::Environment {
        environment: task.name.clone(),
        metric: task.metric.clone(),
        steps: finite(task.budget.steps),
        longest: finite(task.budget.longest),
        random: task.reference.map(|known| known.random),
        random_origin: task.reference.map(|_| Reference::RANDOM.to_owned()),
        reference: task.reference.map(|known| known.published),
        reference_origin: task.reference.map(|known| known.origin()),
    })
}

fn runs(comparison: &Comparison) -> Vec<CompareLine> {
    let mut lines = Vec::new();
    for task in &comparison.tasks {
        for (method, run) in task.runs.iter().enumerate().flat_map(|(m, runs)| runs.iter().map(move |run| (m, run))) {
            lines.push(CompareLine::Run {
                environment: task.name.clone(),
                experiment: comparison.methods[method].clone(),
                folder: run.folder.display().to_string(),
                seed: run.seed.as_ref().and_then(toml::Value::as_integer),
                steps: finite(run.steps),
                score: finite(run.score),
                normalised: task.reference.and_then(|known| finite(known.normalise(run.score))),
            });
        }
    }
    lines
}

fn figure(comparison: &Comparison, one: Figure) -> CompareLine {
    let [low, high] = ends(one.value.interval);
    let figure = FigureLine {
        scale: one.scale.to_owned(),
        environments: one.tasks.iter().map(|task| comparison.tasks[*task].name.clone()).collect(),
        experiment: one.experiment,
        statistic: one.statistic.to_owned(),
        runs: one.runs,
        value: finite(one.value.value),
        low,
        high,
    };
    let at = one.at.and_then(finite);
    match one.kind {
        "profile" => CompareLine::Profile { figure, at },
        "efficiency" => CompareLine::Efficiency { figure, at },
        "improvement" => CompareLine::Improvement { figure, over: one.over },
        _ => CompareLine::Aggregate { figure },
    }
}
