//! How well trials do: the last value of a metric, in the mean over seeds.

use super::trial::Trial;
use crate::metrics::{ENV_STEPS, Table};
use crate::outcome::Stop;
use crate::run_folder::file;
use crate::stats::{bootstrap95, mean};
use std::path::Path;

/// The metric of scores.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scorer {
    /// Its column in the metrics.
    pub metric: String,
}

/// How well a trial does.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Score {
    /// The value of each seed that has one.
    pub seeds: Vec<f64>,
    /// Environment steps that each seed has made, at least.
    pub steps: u64,
    /// The message of its failure, if it failed.
    pub failed: Option<String>,
}

impl Score {
    /// The mean over seeds; none where a seed has no value.
    #[must_use]
    pub fn value(&self) -> Option<f64> {
        Some(mean(&self.seeds)).filter(|value| value.is_finite())
    }

    /// A 95 % bootstrap interval of the mean; none for a single seed.
    #[must_use]
    pub fn interval(&self) -> Option<(f64, f64)> {
        bootstrap95(&self.seeds, mean)
    }

    /// Takes the scores of a trial's runs, where they had come to `rung` environment steps if that is given.
    ///
    /// # Errors
    /// [`Stop`] with code 2 if the metrics of a run cannot be read or lack the metric.
    pub(super) fn take(&mut self, scorer: &Scorer, trial: &Trial, rung: Option<u64>) -> Result<(), Stop> {
        let folders = trial.part.runs.iter().map(|run| &run.folder).filter(|folder| folder.join(file::CSV).exists());
        let found = folders.map(|folder| scorer.read(folder, rung)).collect::<Result<Vec<_>, _>>()?;
        self.seeds = found.iter().filter_map(|(_, value)| *value).collect();
        if self.seeds.len() < trial.part.runs.len() {
            self.seeds.clear();
        }
        self.steps = found.iter().map(|(steps, _)| *steps).min().unwrap_or(0);
        Ok(())
    }
}

impl Scorer {
    /// The environment steps of the last row, and the last value. With `rung`, rows end with the first one that has
    /// come so far: what a run does later changes nothing.
    fn read(&self, folder: &Path, rung: Option<u64>) -> Result<(u64, Option<f64>), Stop> {
        let table = Table::read(&folder.join(file::CSV))?;
        if table.columns.is_empty() {
            return Ok((0, None));
        }
        let Some(values) = table.column(&self.metric) else {
            let near = quickstudy_core::closest(&self.metric, table.columns.iter().map(String::as_str));
            let hint = near.map_or_else(
                || format!("it has: {}", table.columns.join(", ")),
                |near| format!("did you mean `{near}`?"),
            );
            return Err(Stop::user(format!("{} has no metric `{}`", folder.display(), self.metric)).hint(hint));
        };
        let steps = table.column(ENV_STEPS).unwrap_or_default();
        let end = rung.and_then(|rung| steps.iter().position(|made| *made >= rung as f64));
        let rows = end.map_or(steps.len(), |last| last + 1);
        let value = values[..rows].iter().rev().copied().find(|value| value.is_finite());
        Ok((steps.last().copied().unwrap_or(0.0) as u64, value))
    }
}
