//! Runs compared: environments × methods, by the statistics of Agarwal et al. 2021 (arXiv:2108.13264).
//!
//! A method is an algorithm with its settings; the scores of its runs on all environments are what statistics are of.

pub(crate) mod document;
pub(crate) mod figures;
pub(crate) mod forest;
pub(crate) mod format;
pub(crate) mod latex;
pub(crate) mod markdown;
pub(crate) mod picture;
pub(crate) mod references;
pub(crate) mod suite;
pub(crate) mod task;
pub(crate) mod tasks;
pub(crate) mod text;

use crate::outcome::Stop;
use crate::results::experiments::{self, Experiment};
use crate::statistics::bootstrap::{Estimate, estimate};
use crate::statistics::mean;
use suite::Suite;
use task::Task;

/// Statistics of methods on environments.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Comparison {
    /// Labels of the methods.
    pub methods: Vec<String>,
    /// For each experiment the number of its method, which is that of its colour.
    pub places: Vec<usize>,
    /// The environments, with all runs that count.
    pub tasks: Vec<Task>,
    /// Statistics: normalised ones over environments, if there are some, then those of each environment.
    pub suites: Vec<Suite>,
    /// How likely methods are better than others.
    pub improvements: Vec<Improvement>,
    /// The method that all others are compared with, if one is named.
    pub baseline: Option<usize>,
    /// Resamples of each interval.
    pub resamples: usize,
    /// Remarks, a line each.
    pub notes: Vec<String>,
}

/// How likely a run of a method is better than one of another.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Improvement {
    /// The method that may be better.
    pub method: usize,
    /// The method that it is compared with.
    pub over: usize,
    /// The environments that both have runs on.
    pub tasks: Vec<usize>,
    /// The probability, averaged over these.
    pub probability: Estimate,
}

impl Comparison {
    /// Compares experiments that were grouped `by` these keys; without `metric`, their returns. `notes` come first.
    pub(crate) fn new(
        all: &[Experiment],
        by: &[String],
        metric: Option<&str>,
        baseline: Option<&str>,
        resamples: usize,
        mut notes: Vec<String>,
    ) -> Result<Self, Stop> {
        let (labels, hidden) = experiments::labels(all, by);
        if !hidden.is_empty() {
            notes.push(format!("note: some experiments differ in {} too; --by KEY says so", hidden.join(", ")));
        }
        let (methods, places) = methods(all, &labels);
        let baseline = baseline.map(|label| find(&methods, label)).transpose()?;
        let tasks = tasks::tasks(all, &places, methods.len(), metric, &mut notes)?;
        let suites = suite::suites(&tasks, &methods, resamples, &mut notes);
        let pairs = (0..methods.len()).flat_map(|x| (0..methods.len()).map(move |y| (x, y)));
        let wanted = pairs.filter(|(x, y)| baseline.map_or(x < y, |baseline| *y == baseline && x != y));
        let mut improvements = Vec::new();
        for (x, y) in wanted {
            match improvement(&tasks, x, y, resamples) {
                Some(found) => improvements.push(found),
                None if baseline.is_some() => {
                    notes.push(format!("note: {} and {} share no environment", methods[x], methods[y]));
                }
                None => {}
            }
        }
        Ok(Self { methods, places, tasks, suites, improvements, baseline, resamples, notes })
    }

    /// The names of environments, with commas between them.
    pub(crate) fn names(&self, tasks: &[usize]) -> String {
        tasks.iter().map(|task| self.tasks[*task].name.as_str()).collect::<Vec<_>>().join(", ")
    }
}

/// The methods, and for each experiment which one it is: those of the same label, on whatever environments.
pub(crate) fn methods(all: &[Experiment], labels: &[String]) -> (Vec<String>, Vec<usize>) {
    let mut methods: Vec<String> = Vec::new();
    let mut places = Vec::new();
    for (i, (one, label)) in all.iter().zip(labels).enumerate() {
        let alike = all[..i].iter().zip(labels).filter(|(other, known)| other.env() == one.env() && *known == label);
        let name = match alike.count() {
            0 => label.clone(),
            before => format!("{label} ({})", before + 1),
        };
        let known = methods.iter().position(|known| *known == name);
        places.push(known.unwrap_or_else(|| {
            methods.push(name);
            methods.len() - 1
        }));
    }
    (methods, places)
}

/// The method of this label.
fn find(methods: &[String], label: &str) -> Result<usize, Stop> {
    methods.iter().position(|known| known == label).ok_or_else(|| {
        Stop::user(format!("--baseline {label}: no experiment is called that"))
            .hint(format!("experiments are: {}", methods.join("; ")))
    })
}

/// How likely `x` is better than `y`; none without an environment that both have runs on.
fn improvement(tasks: &[Task], x: usize, y: usize, resamples: usize) -> Option<Improvement> {
    let both = |task: &usize| !tasks[*task].runs[x].is_empty() && !tasks[*task].runs[y].is_empty();
    let shared: Vec<usize> = (0..tasks.len()).filter(both).collect();
    let scores = |method: usize| shared.iter().map(|task| tasks[*task].scores(method, false)).collect::<Vec<_>>();
    let (mine, others) = (scores(x), scores(y));
    let found = estimate(&[&mine, &others], resamples, |all| vec![probability(&all[0], &all[1])]);
    let probability = found.into_iter().next().filter(|_| !shared.is_empty())?;
    Some(Improvement { method: x, over: y, tasks: shared, probability })
}

/// The probability that a run of `x` has a higher score than one of `y`, averaged over environments: the statistic U of
/// Mann and Whitney over the number of pairs, ties counting half, as rliable's `probability_of_improvement`.
pub(crate) fn probability(x: &[Vec<f64>], y: &[Vec<f64>]) -> f64 {
    let chances: Vec<f64> = x.iter().zip(y).map(|(x, y)| chance(x, y)).collect();
    mean(&chances)
}

/// The share of pairs in which the first is higher.
fn chance(x: &[f64], y: &[f64]) -> f64 {
    let mut sorted = y.to_vec();
    sorted.sort_by(f64::total_cmp);
    let doubled =
        |score: &f64| sorted.partition_point(|other| other < score) + sorted.partition_point(|other| other <= score);
    x.iter().map(doubled).sum::<usize>() as f64 / (2 * x.len() * y.len()) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ties_count_half_and_environments_alike() {
        assert_eq!(chance(&[3.0, 4.0], &[1.0, 2.0]), 1.0);
        // Of six pairs, 2 > 1 twice, 2 = 2 twice.
        assert_eq!(chance(&[2.0, 2.0], &[1.0, 2.0, 3.0]), 0.5);
        assert_eq!(chance(&[500.0; 4], &[500.0; 7]), 0.5);
        let (x, y) = (vec![vec![1.0, 5.0], vec![9.0]], vec![vec![2.0, 3.0], vec![4.0, 5.0]]);
        assert_eq!(probability(&x, &y), 0.75);
        assert_eq!(probability(&y, &x), 0.25);
    }
}
