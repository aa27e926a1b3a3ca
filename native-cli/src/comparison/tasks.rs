//! The environments of experiments, with the runs that can be compared there.

use super::budget::Budget;
use super::references::Reference;
use super::task::{Measured, Task};
use crate::curve::short_count;
use crate::experiments::{self, Experiment, Run};
use crate::outcome::Stop;
use toml::Value;

/// Runs without a value that are named one by one.
const NAMED: usize = 3;

/// The environments, and notes on runs that do not count or are longer than others. `places` has the method of each
/// experiment.
///
/// # Errors
/// [`Stop`] with code 2 if no run has a value.
pub fn tasks(
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
        let here = || all.iter().zip(places).filter(|(one, _)| one.env() == env);
        tasks.extend(task(here(), env, methods, (metric.unwrap_or(default), metric.is_none()), notes));
    }
    if tasks.is_empty() {
        let what = metric.map_or_else(|| "a return".to_owned(), |metric| format!("a value of {metric}"));
        return Err(Stop::user(format!("there is nothing to compare yet: no run has {what}"))
            .hint("wait for the first episode or evaluation, or name another --metric"));
    }
    Ok(tasks)
}

/// An environment; none if no run has a value there.
fn task<'a>(
    here: impl Iterator<Item = (&'a Experiment, &'a usize)>,
    env: Option<&Value>,
    methods: usize,
    (metric, default): (&str, bool),
    notes: &mut Vec<String>,
) -> Option<Task> {
    let name = env.map_or_else(|| "environment not recorded".to_owned(), experiments::show);
    let runs: Vec<(&Run, usize)> =
        here.flat_map(|(one, method)| one.runs.iter().map(move |run| (run, *method))).collect();
    let (measured, empty): (Vec<_>, Vec<_>) = runs.into_iter().partition(|(run, _)| !run.curve(metric).is_empty());
    if !empty.is_empty() {
        let named: Vec<String> = empty.iter().take(NAMED).map(|(run, _)| run.folder.display().to_string()).collect();
        let more = if empty.len() > NAMED { format!(" and {} more", empty.len() - NAMED) } else { String::new() };
        let [have, do_not] = if empty.len() == 1 { ["has", "does not"] } else { ["have", "do not"] };
        let named = named.join(", ");
        notes.push(format!("note: {named}{more} {have} no value of {metric} and {do_not} count"));
    }
    let curves: Vec<&[(f64, f64)]> = measured.iter().map(|(run, _)| run.curve(metric)).collect();
    let budget = Budget::of(&curves)?;
    if !budget.is_shared() {
        notes.push(unequal(&name, &measured, metric, budget));
    }
    let mut task = Task {
        reference: Reference::of(&name).filter(|_| default || is_return(metric)),
        name,
        metric: metric.to_owned(),
        budget,
        runs: vec![Vec::new(); methods],
    };
    for (run, method) in measured {
        let curve = run.curve(metric).to_vec();
        // The shortest run has its last value there, and each other one that or an earlier one, if it has one.
        match budget.at(&curve, budget.steps) {
            Some((steps, score)) => task.runs[method].push(Measured {
                folder: run.folder.clone(),
                seed: run.seed.clone(),
                steps,
                score,
                curve,
            }),
            None => notes.push(format!(
                "note: {} has no value of {metric} until {} and does not count",
                run.folder.display(),
                short_count(budget.steps)
            )),
        }
    }
    Some(task)
}

/// True for the metrics of which references are known.
fn is_return(metric: &str) -> bool {
    [crate::run::EVAL_RETURN, crate::run::EPISODE_RETURN].contains(&metric)
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
