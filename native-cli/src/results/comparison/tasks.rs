//! The environments of experiments, with the runs that can be compared there.

use super::references::Reference;
use super::task::{Measured, Task};
use crate::curve::LARGEST;
use crate::outcome::Stop;
use crate::results::experiments::{self, Experiment, Run};
use crate::results::score::{Budget, score_at};
use crate::text::numbers::short_count;
use toml::Value;

/// Runs without a value that are named one by one.
const NAMED: usize = 3;

/// The environments, and notes on runs that do not count or are longer than others. `places` has the method of each
/// experiment.
pub(crate) fn tasks(
    all: &[Experiment],
    places: &[usize],
    methods: usize,
    metric: Option<&str>,
    notes: &mut Vec<String>,
) -> Result<Vec<Task>, Stop> {
    let mut tasks = Vec::new();
    for env in experiments::environments(all) {
        let (default, note) = experiments::returns(all, env, ["compared", "compares"]);
        notes.extend(note.filter(|_| metric.is_none()));
        let here: Vec<(&Experiment, usize)> =
            all.iter().zip(places.iter().copied()).filter(|(one, _)| one.env() == env).collect();
        let metric_here = metric.unwrap_or(default);
        here.iter().flat_map(|(one, _)| &one.runs).try_for_each(|run| check_sizes(run, metric_here))?;
        notes.extend(without_value(here.iter().flat_map(|(one, _)| &one.runs), metric_here));
        let task = task(&here, env, (metric_here, metric.is_none()), notes);
        // Methods that are not here have no runs.
        tasks.extend(task.map(|mut task| {
            task.runs.resize(methods, Vec::new());
            task
        }));
    }
    if tasks.is_empty() {
        let what = metric.map_or_else(|| "a return".to_owned(), |metric| format!("a value of {metric}"));
        return Err(Stop::user(format!("there is nothing to compare yet: no run has {what}"))
            .hint("wait for the first episode or evaluation, or name another --metric"));
    }
    Ok(tasks)
}

/// Refuses values whose differences, ratios or squares may be no numbers.
fn check_sizes(run: &Run, metric: &str) -> Result<(), Stop> {
    match run.curve(metric).iter().find(|(_, value)| value.abs() > LARGEST) {
        Some((at, value)) => Err(Stop::user(format!(
            "{} has {metric} = {value:e} at {}: nothing beyond {LARGEST:e} is compared",
            run.folder.display(),
            short_count(*at)
        ))
        .hint("leave that run out, or name another --metric")),
        None => Ok(()),
    }
}

/// A note on runs that have no value of `metric` and do not count, if there are some.
pub(crate) fn without_value<'a>(runs: impl Iterator<Item = &'a Run>, metric: &str) -> Option<String> {
    let empty: Vec<&Run> = runs.filter(|run| run.curve(metric).is_empty()).collect();
    let named: Vec<String> = empty.iter().take(NAMED).map(|run| run.folder.display().to_string()).collect();
    let more = if empty.len() > NAMED { format!(" and {} more", empty.len() - NAMED) } else { String::new() };
    let [have, do_not] = if empty.len() == 1 { ["has", "does not"] } else { ["have", "do not"] };
    let note = format!("note: {}{more} {have} no value of {metric} and {do_not} count", named.join(", "));
    (!empty.is_empty()).then_some(note)
}

/// An environment, `here` its experiments with the numbers of their methods; none if no run has a value there.
/// `metric` comes with whether it is the one that is compared by default.
pub(crate) fn task(
    here: &[(&Experiment, usize)],
    env: Option<&Value>,
    (metric, default): (&str, bool),
    notes: &mut Vec<String>,
) -> Option<Task> {
    let name = experiments::env_name(env);
    let runs = here.iter().flat_map(|(one, method)| one.runs.iter().map(move |run| (run, *method)));
    let measured: Vec<(&Run, usize)> = runs.filter(|(run, _)| !run.curve(metric).is_empty()).collect();
    let curves: Vec<&[(f64, f64)]> = measured.iter().map(|(run, _)| run.curve(metric)).collect();
    let budget = Budget::of(&curves)?;
    let mut task = Task {
        reference: Reference::of(&name).filter(|_| default || is_return(metric)),
        name,
        metric: metric.to_owned(),
        budget,
        runs: vec![Vec::new(); here.iter().map(|(_, method)| method + 1).max().unwrap_or(0)],
    };
    let mut unequal = None;
    for (run, method) in &measured {
        let curve = run.curve(metric).to_vec();
        let score = score_at(&curve, run.iteration, budget.steps);
        // A run goes on behind its score.
        if score.is_none_or(|(steps, _)| curve.last().is_some_and(|(end, _)| *end > steps)) {
            unequal = unequal.or_else(|| Some(self::unequal(&task.name, &measured, metric, budget)));
        }
        match score {
            Some((steps, score)) => task.runs[*method].push(Measured {
                folder: run.folder.clone(),
                seed: run.seed.clone(),
                steps,
                score,
                curve,
                iteration: run.iteration,
            }),
            None => notes.push(format!(
                "note: {} has no value of {metric} until {} and does not count",
                run.folder.display(),
                short_count(budget.steps)
            )),
        }
    }
    notes.extend(unequal);
    Some(task)
}

/// True for the metrics of which references are known.
fn is_return(metric: &str) -> bool {
    [crate::metrics::EVAL_RETURN, crate::metrics::EPISODE_RETURN].contains(&metric)
}

/// Tells that runs differ in length, and which one is the shortest.
fn unequal(name: &str, measured: &[(&Run, usize)], metric: &str, budget: Budget) -> String {
    let ends = |run: &Run| run.curve(metric).last().map_or(f64::INFINITY, |(x, _)| *x);
    let shortest = measured.iter().map(|(run, _)| run).min_by(|a, b| ends(a).total_cmp(&ends(b)));
    let folder = shortest.map_or_else(String::new, |run| run.folder.display().to_string());
    let [steps, longest] = [budget.steps, budget.longest].map(short_count);
    format!(
        "note: runs on {name} end at {steps} to {longest} steps and are compared at {steps}, which all reached; \
         {folder} ends first"
    )
}
