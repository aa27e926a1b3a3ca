//! A comparison as headings, lines and tables, which text, Markdown and LaTeX show alike.

use super::Comparison;
use super::references::Reference;
use super::suite::{Suite, Summary};
use super::task::Task;
use crate::results::score::phrase;
use crate::statistics::aggregate::Aggregate;
use crate::statistics::bootstrap::Estimate;
use crate::statistics::interval_text;
use crate::text::numbers::{plural, short_count};

/// Headings, lines and tables.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Document {
    /// Its parts, in order.
    pub sections: Vec<Section>,
}

/// A heading with what stands below it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Section {
    /// The heading.
    pub title: String,
    /// Lines below it.
    pub lines: Vec<String>,
    /// Headings of the columns of its table; none without one.
    pub head: Vec<&'static str>,
    /// Rows of the table. A cell that repeats the one above it in the first column is empty.
    pub rows: Vec<Vec<String>>,
}

/// Columns of tables of statistics.
const HEAD: [&str; 5] = ["statistic", "experiment", "seeds", "value", "95 % interval of it"];
/// Shares of a curve that tables show.
const SHOWN: [f64; 3] = [0.25, 0.5, 0.75];

impl Document {
    /// A comparison as a document; its notes come last.
    pub(crate) fn of(comparison: &Comparison) -> Self {
        let mut sections = vec![environments(comparison)];
        sections.extend(comparison.suites.iter().map(|suite| statistics(comparison, suite)));
        sections.extend(Some(improvements(comparison)).filter(|section| !section.rows.is_empty()));
        if !comparison.notes.is_empty() {
            let lines = comparison.notes.iter().map(|note| note.trim_start_matches("note: ").to_owned()).collect();
            sections.push(Section { title: "Notes".to_owned(), lines, ..Section::default() });
        }
        Self { sections }
    }
}

fn environments(comparison: &Comparison) -> Section {
    let runs: usize = comparison.tasks.iter().flat_map(|task| &task.runs).map(Vec::len).sum();
    let (methods, tasks) = (comparison.methods.len(), comparison.tasks.len());
    let mut lines = Vec::new();
    for task in &comparison.tasks {
        lines.push(what_of(task));
        if let Some(known) = task.reference {
            lines.push(format!("{}: 0 is {} ({})", task.name, known.random, Reference::RANDOM));
            lines.push(format!("{}: 1 is {} ({})", task.name, known.published, known.origin()));
        }
    }
    lines.push(format!(
        "Intervals are percentiles of {} resamples of runs within each environment.",
        comparison.resamples
    ));
    Section {
        title: format!(
            "{} of {} on {}",
            plural(runs, "run"),
            plural(methods, "experiment"),
            plural(tasks, "environment")
        ),
        lines,
        ..Section::default()
    }
}

fn what_of(task: &Task) -> String {
    let (score, [from, to]) = (phrase(&task.metric, task.budget.steps), task.span().map(short_count));
    let measured = if from == to { String::new() } else { format!(", measured after {from} to {to}") };
    format!("{}: {score}{measured}", task.name)
}

/// The heading of a suite.
pub(crate) fn title(comparison: &Comparison, suite: &Suite) -> String {
    match (suite.normalised, suite.tasks.first()) {
        (false, Some(task)) => what_of(&comparison.tasks[*task]),
        _ => format!("Normalised scores over {}", comparison.names(&suite.tasks)),
    }
}

fn statistics(comparison: &Comparison, suite: &Suite) -> Section {
    let digits = if suite.normalised { 3 } else { 2 };
    let mut rows = Vec::new();
    let mut add = |name: &str, of: &dyn Fn(&Summary) -> Option<Estimate>, digits: usize| {
        let mut name = name.to_owned();
        for result in &suite.results {
            let Some(estimate) = of(result) else { continue };
            let label = comparison.methods[result.method].clone();
            let [value, interval] = cells(estimate, digits);
            rows.push(vec![std::mem::take(&mut name), label, result.seeds(), value, interval]);
        }
    };
    let all = [Aggregate::Iqm, Aggregate::Mean, Aggregate::Median, Aggregate::RunMedian, Aggregate::OptimalityGap];
    for aggregate in all {
        let of = |result: &Summary| Some(result.aggregates.iter().find(|(one, _)| *one == aggregate)?.1);
        add(aggregate.title(), &of, if aggregate == Aggregate::OptimalityGap { 3 } else { digits });
    }
    let taus: Vec<f64> = suite.results.first().map_or_else(Vec::new, |one| one.profile.iter().map(|p| p.tau).collect());
    for share in SHOWN.into_iter().filter(|_| !taus.is_empty()) {
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let place = (share * (taus.len() - 1) as f64) as usize;
        let name = format!("runs above {:.digits$}", taus[place]);
        add(&name, &|result| result.profile.get(place).map(|point| point.runs), 3);
    }
    let steps = suite.tasks.first().map_or(0.0, |task| comparison.tasks[*task].budget.steps);
    for share in shares(suite) {
        let name = match suite.normalised {
            true => format!("IQM after {:.0} %", 100.0 * share),
            false => format!("IQM after {}", short_count((share * steps).round())),
        };
        add(&name, &|result| result.efficiency.iter().find(|(at, _)| *at == share).map(|(_, found)| *found), digits);
    }
    Section { title: title(comparison, suite), lines: Vec::new(), head: HEAD.to_vec(), rows }
}

/// The shares of the budget that a table shows: frames that are nearest to these, each once, before the last one.
fn shares(suite: &Suite) -> Vec<f64> {
    // Frames are even and the same of all, but some have no first ones.
    let all = suite.results.iter().map(|result| result.efficiency.iter().map(|(share, _)| *share).collect::<Vec<_>>());
    let all = all.max_by_key(Vec::len).unwrap_or_default();
    let away = |wanted: f64| move |a: &&f64, b: &&f64| (**a - wanted).abs().total_cmp(&(**b - wanted).abs());
    let mut found: Vec<f64> = SHOWN.iter().filter_map(|wanted| all.iter().min_by(away(*wanted)).copied()).collect();
    found.dedup();
    found.retain(|share| *share < 1.0);
    found
}

fn improvements(comparison: &Comparison) -> Section {
    let rows = comparison.improvements.iter().map(|one| {
        let [value, interval] = cells(one.probability, 3);
        let [method, over] = [one.method, one.over].map(|method| comparison.methods[method].clone());
        vec![method, over, comparison.names(&one.tasks), value, interval]
    });
    Section {
        title: "Probability of improvement".to_owned(),
        lines: vec![
            "How likely a run of the experiment has a higher score than one of the other; ties count half.".to_owned(),
        ],
        head: vec!["experiment", "over", "on", "probability", "95 % interval of it"],
        rows: rows.collect(),
    }
}

fn cells(estimate: Estimate, digits: usize) -> [String; 2] {
    [format!("{:.digits$}", estimate.value), interval_text(estimate.interval, digits)]
}
