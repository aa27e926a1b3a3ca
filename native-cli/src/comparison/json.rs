//! A comparison as lines of JSON, each an object whose `type` says what it is. `docs/comparing.md` describes them.

use super::Comparison;
use super::csv::{Figure, figures};
use super::references::Reference;
use serde_json::{Value, json};

/// The version of the lines: a change of what is there raises it, and more keys do not.
pub const VERSION: u32 = 1;

/// The text of the file.
#[must_use]
pub fn json_lines(comparison: &Comparison) -> String {
    let first = json!({
        "type": "comparison",
        "version": VERSION,
        "experiments": comparison.methods,
        "environments": comparison.tasks.iter().map(|task| &task.name).collect::<Vec<_>>(),
        "baseline": comparison.baseline.map(|method| &comparison.methods[method]),
        "confidence": 0.95,
        "resamples": comparison.resamples,
    });
    let figures = figures(comparison);
    let lines = std::iter::once(first)
        .chain(environments(comparison))
        .chain(runs(comparison))
        .chain(figures.iter().map(|one| figure(comparison, one)))
        .chain(comparison.notes.iter().map(|note| json!({"type": "note", "text": note.trim_start_matches("note: ")})));
    lines.map(|line| format!("{line}\n")).collect()
}

fn environments(comparison: &Comparison) -> impl Iterator<Item = Value> {
    comparison.tasks.iter().map(|task| {
        json!({
            "type": "environment",
            "environment": task.name,
            "metric": task.metric,
            "steps": task.budget.steps,
            "longest": task.budget.longest,
            "random": task.reference.map(|known| known.random),
            "random_origin": task.reference.map(|_| Reference::RANDOM),
            "reference": task.reference.map(|known| known.published),
            "reference_origin": task.reference.map(|known| known.origin()),
        })
    })
}

fn runs(comparison: &Comparison) -> Vec<Value> {
    let mut lines = Vec::new();
    for task in &comparison.tasks {
        for (method, run) in task.runs.iter().enumerate().flat_map(|(m, runs)| runs.iter().map(move |run| (m, run))) {
            lines.push(json!({
                "type": "run",
                "environment": task.name,
                "experiment": comparison.methods[method],
                "folder": run.folder.display().to_string(),
                "seed": run.seed.as_ref().and_then(toml::Value::as_integer),
                "steps": run.steps,
                "score": run.score,
                "normalised": task.reference.map(|known| known.normalise(run.score)),
            }));
        }
    }
    lines
}

fn figure(comparison: &Comparison, one: &Figure) -> Value {
    let mut line = json!({
        "type": one.kind,
        "scale": one.scale,
        "environments": one.tasks.iter().map(|task| &comparison.tasks[*task].name).collect::<Vec<_>>(),
        "experiment": one.experiment,
        "statistic": one.statistic,
        "runs": one.runs,
        "value": one.value.value,
        "low": one.value.interval.map(|(low, _)| low),
        "high": one.value.interval.map(|(_, high)| high),
    });
    if let Some(object) = line.as_object_mut() {
        if !one.over.is_empty() {
            object.insert("over".to_owned(), json!(one.over));
        }
        if let Some(at) = one.at {
            object.insert("at".to_owned(), json!(at));
        }
    }
    line
}
