//! How well trials do: their scores at a budget, in the mean over seeds.

use super::trial::Trial;
use crate::folder::has_rows;
use crate::metrics::{ENV_STEPS, EPISODE_RETURN, EVAL_RETURN, Table};
use crate::outcome::Stop;
use crate::results::score::{Budget, expect_columns, iteration, points, score_at};
use crate::settings::register;
use crate::statistics::aggregate::Aggregate;
use crate::statistics::bootstrap::Scores;
use crate::statistics::mean;
use crate::terminal::output::say;
use std::path::Path;

/// The better scores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Goal {
    /// Larger ones.
    #[default]
    Max,
    /// Smaller ones.
    Min,
}

/// How well a trial does.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Score {
    /// The score of each seed and their budget; none where a seed has none.
    pub at: Scores,
    /// Environment steps that each seed has made, at least.
    pub steps: u64,
    /// The message of its failure, if it failed.
    pub failed: Option<String>,
}

impl Score {
    /// The mean over seeds; none where a seed has no value.
    pub(crate) fn value(&self) -> Option<f64> {
        Some(mean(&self.at.values)).filter(|value| value.is_finite())
    }

    /// A 95 % bootstrap interval of the mean; none for a single seed.
    pub(crate) fn interval(&self) -> Option<(f64, f64)> {
        self.at.statistic(Aggregate::Mean)?.interval
    }
}

/// Takes the scores of the `alive` trials at the most steps that all of their runs reached. With `rung` that is at most
/// so many, and rows end with the first one that has come so far: what a run does later changes nothing. A trial that
/// failed ends where it failed, and is no bound for the others.
pub(super) fn take(
    metric: &str,
    trials: &[Trial],
    alive: &[usize],
    rung: Option<u64>,
    scores: &mut [Score],
) -> Result<(), Stop> {
    let mut found = Vec::with_capacity(alive.len());
    for number in alive {
        let folders = trials[*number].part.runs.iter().map(|run| &run.folder);
        let there = folders.filter(|folder| has_rows(folder));
        found.push(there.map(|folder| read(metric, folder, rung)).collect::<Result<Vec<_>, _>>()?);
    }
    let bounds = alive.iter().zip(&found).filter(|(number, _)| scores[**number].failed.is_none());
    let curves = bounds.flat_map(|(_, runs)| runs).map(|run| &run.curve[..]).filter(|curve| !curve.is_empty());
    let budget = Budget::of(&curves.collect::<Vec<_>>()).map_or(0.0, |budget| budget.steps);
    let budget = rung.map_or(budget, |rung| budget.min(rung as f64));
    for (number, runs) in alive.iter().zip(found) {
        let score = &mut scores[*number];
        let values = runs.iter().filter_map(|run| score_at(&run.curve, run.iteration, budget));
        score.at = Scores { budget, values: values.map(|(_, value)| value).collect() };
        if score.at.values.len() < trials[*number].part.runs.len() {
            score.at.values.clear();
        }
        score.steps = runs.iter().map(|run| run.steps).min().unwrap_or(0);
    }
    Ok(())
}

/// The values of a run from which its score is taken.
#[derive(Debug, Default)]
struct MeasuredRun {
    steps: u64,
    curve: Vec<(f64, f64)>,
    iteration: f64,
}

/// The metric of scores: the one that is asked for, otherwise returns, of evaluations where all trials have some.
pub(super) fn metric(asked: Option<String>, trials: &[Trial]) -> Result<String, Stop> {
    if let Some(metric) = asked.as_ref().filter(|metric| !metric.contains('/')) {
        let near = quickstudy_core::closest(metric, register::metrics().map(|(name, _)| name));
        let hint = near.map_or_else(|| format!("such as {EVAL_RETURN}"), |near| format!("did you mean `{near}`?"));
        return Err(Stop::user(format!("there is no metric `{metric}`")).hint(hint));
    }
    let evaluated = trials.iter().map(|trial| &trial.part.plan).all(|plan| plan.run.eval_every(&plan.setup) > 0);
    let default = if evaluated { EVAL_RETURN } else { EPISODE_RETURN };
    Ok(asked.unwrap_or_else(|| default.to_owned()))
}

/// The values of a run, and the environment steps of its last row.
fn read(metric: &str, folder: &Path, rung: Option<u64>) -> Result<MeasuredRun, Stop> {
    let table = Table::read(folder)?;
    table.notes.iter().for_each(|note| say(note));
    expect_columns(&table, folder, [metric])?;
    let steps = table.column(ENV_STEPS).unwrap_or_default();
    let end = rung.and_then(|rung| steps.iter().copied().find(|made| *made >= rung as f64));
    let mut curve = points(&table, ENV_STEPS, metric);
    curve.retain(|(made, _)| end.is_none_or(|end| *made <= end));
    Ok(MeasuredRun { steps: steps.last().copied().unwrap_or(0.0) as u64, curve, iteration: iteration(&table) })
}
