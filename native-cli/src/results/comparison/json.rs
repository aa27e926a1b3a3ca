//! A comparison as lines of JSON.

use super::Comparison;
use super::csv::{Figure, figures};
use super::references::Reference;
use crate::json::compare::{CompareLine, FigureLine};
use crate::json::{VERSION, finite, note_line, text};
use crate::outcome::Stop;

/// The text of the file.
pub(crate) fn json_lines(comparison: &Comparison) -> Result<String, Stop> {
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
    let figure = FigureLine {
        scale: one.scale.to_owned(),
        environments: one.tasks.iter().map(|task| comparison.tasks[*task].name.clone()).collect(),
        experiment: one.experiment,
        statistic: one.statistic.to_owned(),
        runs: one.runs,
        value: finite(one.value.value),
        low: one.value.interval.and_then(|(low, _)| finite(low)),
        high: one.value.interval.and_then(|(_, high)| finite(high)),
    };
    let at = one.at.and_then(finite);
    match one.kind {
        "profile" => CompareLine::Profile { figure, at },
        "efficiency" => CompareLine::Efficiency { figure, at },
        "improvement" => CompareLine::Improvement { figure, over: one.over },
        _ => CompareLine::Aggregate { figure },
    }
}
