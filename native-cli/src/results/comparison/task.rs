//! An environment on which methods are compared: its metric, its budget and its runs.

use super::references::Reference;
use crate::results::score::{Budget, score_at};
use crate::statistics::bootstrap::Scores;
use std::path::PathBuf;
use toml::Value;

/// A run at the common budget.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Measured {
    /// Its folder.
    pub folder: PathBuf,
    /// Its seed, if it is recorded.
    pub seed: Option<Value>,
    /// Steps of its value.
    pub steps: f64,
    /// Its value.
    pub score: f64,
    /// All values until then and after: `(environment steps, value)`.
    pub curve: Vec<(f64, f64)>,
    /// Environment steps of an iteration.
    pub iteration: f64,
}

/// An environment with the runs of all methods.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Task {
    /// Its name, for readers.
    pub name: String,
    /// The column that is compared.
    pub metric: String,
    /// The step budget at which scores are taken.
    pub budget: Budget,
    /// Scores that stand for 0 and 1, if they are known and the metric is a return.
    pub reference: Option<Reference>,
    /// For each method its runs, none if it has none here.
    pub runs: Vec<Vec<Measured>>,
}

impl Task {
    /// The scores of a method's runs; normalised ones where there is a reference.
    pub(crate) fn scores(&self, method: usize, normalised: bool) -> Vec<f64> {
        self.runs[method].iter().map(|run| self.scaled(run.score, normalised)).collect()
    }

    /// The scores of a method's runs as they are, with the budget.
    pub(crate) fn at_budget(&self, method: usize) -> Scores {
        Scores { budget: self.budget.steps, values: self.scores(method, false) }
    }

    /// The scores of a method's runs at even shares of the budget, the last of which is all of it.
    pub(crate) fn curves(&self, method: usize, frames: usize, normalised: bool) -> Vec<Vec<Option<f64>>> {
        let at = |run: &Measured, frame: usize| {
            let steps = self.budget.steps * (frame + 1) as f64 / frames as f64;
            let (_, score) = score_at(&run.curve, run.iteration, steps)?;
            Some(self.scaled(score, normalised))
        };
        self.runs[method].iter().map(|run| (0..frames).map(|frame| at(run, frame)).collect()).collect()
    }

    /// The fewest values that a run has until the budget.
    pub(crate) fn fewest_points(&self) -> usize {
        let until = |run: &Measured| run.curve.iter().filter(|(x, _)| *x <= run.steps).count();
        self.runs.iter().flatten().map(until).min().unwrap_or(0)
    }

    /// The first and the last step of a run's value.
    pub(crate) fn span(&self) -> [f64; 2] {
        let steps = || self.runs.iter().flatten().map(|run| run.steps);
        [steps().fold(f64::INFINITY, f64::min), steps().fold(0.0, f64::max)]
    }

    fn scaled(&self, score: f64, normalised: bool) -> f64 {
        self.reference.filter(|_| normalised).map_or(score, |known| known.normalise(score))
    }
}
