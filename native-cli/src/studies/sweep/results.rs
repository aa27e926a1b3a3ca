//! Results of a sweep: a table, a picture, a file, and lines of JSON.

use super::score::Score;
use super::trial::Trial;
use super::{Sweep, coordinates};
use crate::json;
use crate::json::sweep::SweepLine;
use crate::pictures::sheet::Sheet;
use crate::results::experiments::show;
use crate::results::score::phrase;
use crate::statistics::{NONE, interval_text};
use crate::text::aligned;
use crate::text::numbers::grouped;
use crate::text::quote::csv_cell;
use toml::Value;

/// The first line of JSON.
pub(crate) fn first_line(sweep: &Sweep) -> SweepLine {
    let setup = &sweep.trials[0].part.plan.setup;
    SweepLine::Sweep {
        version: json::VERSION,
        algorithm: setup.algorithm.name.to_owned(),
        environment: setup.env.spec().name.clone(),
        trials: sweep.trials.len(),
        folder: sweep.out.display().to_string(),
        metric: sweep.metric.clone(),
    }
}

/// The line of JSON of a trial.
pub(crate) fn line(trial: &Trial, score: &Score) -> SweepLine {
    let setting = |(key, value): &(String, Value)| Some((key.clone(), serde_json::to_value(value).ok()?));
    let [low, high] = json::ends(score.interval());
    SweepLine::Trial {
        trial: trial.name.clone(),
        settings: trial.tried.iter().filter_map(setting).collect(),
        score: score.value(),
        low,
        high,
        budget: (!score.at.values.is_empty()).then_some(score.at.budget),
        scores: score.at.values.clone(),
        steps: score.steps,
        failed: score.failed.clone(),
        folders: trial.part.runs.iter().map(|run| run.folder.display().to_string()).collect(),
    }
}

/// Trials in parallel coordinates.
pub(crate) fn picture(sweep: &Sweep, scores: &[Score]) -> Sheet {
    let title = format!("{} · {} trials", sweep.trials[0].part.name(), sweep.trials.len());
    coordinates::draw(&title, &sweep.metric, &sweep.trials, scores, sweep.file.goal)
}

/// Headings: the trial and its settings, then these.
fn head(sweep: &Sweep, behind: &[&str]) -> Vec<String> {
    let keys = sweep.trials[0].tried.iter().map(|(key, _)| key.as_str());
    ["trial"].into_iter().chain(keys).chain(behind.iter().copied()).map(str::to_owned).collect()
}

/// Rows in order of the trials: settings, then scores.
pub(crate) fn csv(sweep: &Sweep, scores: &[Score]) -> String {
    let number = |value: Option<f64>| value.map(|value| value.to_string()).unwrap_or_default();
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let mut rows = vec![head(sweep, &["steps", "seeds", &sweep.metric, "low", "high", "failed"])];
    for (trial, score) in sweep.trials.iter().zip(scores) {
        let interval = score.interval();
        let mut row = vec![trial.name.clone()];
        row.extend(trial.tried.iter().map(|(_, value)| text(value)));
        row.extend([score.steps.to_string(), score.at.values.len().to_string(), number(score.value())]);
        row.extend([number(interval.map(|(low, _)| low)), number(interval.map(|(_, high)| high))]);
        row.push(score.failed.clone().unwrap_or_default());
        rows.push(row);
    }
    rows.iter().map(|row| row.iter().map(|cell| csv_cell(cell)).collect::<Vec<_>>().join(",") + "\n").collect()
}

/// Lines of the table, the best trial first.
pub(crate) fn table(sweep: &Sweep, scores: &[Score], ranked: &[usize]) -> Vec<String> {
    let mut rows = vec![head(sweep, &["steps", &sweep.metric, "95 % interval"])];
    for number in ranked {
        let (trial, score) = (&sweep.trials[*number], &scores[*number]);
        let mut row = vec![trial.name.clone()];
        row.extend(trial.tried.iter().map(|(_, value)| show(value)));
        row.push(grouped(score.steps));
        match &score.failed {
            Some(message) => row.extend(["failed".to_owned(), message.clone()]),
            None => {
                row.push(score.value().map_or_else(|| NONE.to_owned(), |value| format!("{value:.2}")));
                row.push(interval_text(score.interval(), 2));
            }
        }
        rows.push(row);
    }
    let mut lines = aligned(&rows, |_| true);
    lines.extend(budgets(scores, &sweep.metric));
    lines
}

/// The scores in words; with rungs of several budgets one line for each.
fn budgets(scores: &[Score], metric: &str) -> Vec<String> {
    let mut all: Vec<f64> = scores.iter().filter(|one| one.value().is_some()).map(|one| one.at.budget).collect();
    all.sort_by(f64::total_cmp);
    all.dedup();
    let several = all.len() > 1;
    let line = |budget: f64| {
        let count = scores.iter().filter(|one| one.value().is_some() && one.at.budget == budget).count();
        let of = if several { format!(" of {count} trials") } else { String::new() };
        format!("score{of}: {}", phrase(metric, budget))
    };
    all.into_iter().map(line).collect()
}
