//! The score of a run at a budget of environment steps: one definition, which all verbs show.
//!
//! The score is the evaluation nearest to the budget if that is no further from it than an iteration or half the
//! distance between evaluations; otherwise it lies on the line between the two evaluations around the budget. The
//! budget of runs that are compared is the most that all of them reached.

use crate::metrics::{ENV_STEPS, Table};
use crate::outcome::Stop;
use crate::text::numbers::short_count;
use std::path::Path;

/// The most steps that all of some runs reached.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Budget {
    /// Where the run ends that ends first, by its last value.
    pub steps: f64,
    /// Where the run ends that ends last.
    pub longest: f64,
}

impl Budget {
    /// The budget of these curves, `(environment steps, value)`; none if one of them is empty.
    pub(crate) fn of(curves: &[&[(f64, f64)]]) -> Option<Self> {
        let ends = curves.iter().map(|curve| Some(curve.last()?.0)).collect::<Option<Vec<_>>>()?;
        let steps = ends.iter().copied().min_by(f64::total_cmp)?;
        let longest = ends.iter().copied().max_by(f64::total_cmp)?;
        Some(Self { steps, longest })
    }
}

/// The score of a run after `steps`, and the steps of its value: `curve` has its values, `(environment steps, value)`,
/// and `iteration` is the length of its iterations. None before its first value.
pub(crate) fn score_at(curve: &[(f64, f64)], iteration: f64, steps: f64) -> Option<(f64, f64)> {
    let away = |point: &(f64, f64)| (point.0 - steps).abs();
    let nearest = curve.iter().min_by(|a, b| away(a).total_cmp(&away(b)))?;
    if away(nearest) <= iteration.max(interval(curve) / 2.0) {
        return Some(*nearest);
    }
    let after = curve.partition_point(|(x, _)| *x < steps);
    let ((x0, y0), (x1, y1)) = (*curve.get(after.checked_sub(1)?)?, *curve.get(after)?);
    Some((steps, y0 + (y1 - y0) * (steps - x0) / (x1 - x0)))
}

/// The usual distance between values, the first one's from the start among them: the median of all.
fn interval(curve: &[(f64, f64)]) -> f64 {
    let before = std::iter::once(0.0).chain(curve.iter().map(|(x, _)| *x));
    let mut gaps: Vec<f64> = before.zip(curve).map(|(before, (x, _))| x - before).collect();
    gaps.sort_by(f64::total_cmp);
    gaps.get(gaps.len().saturating_sub(1) / 2).copied().unwrap_or(0.0)
}

/// The finite points of a column over another one, such as environment steps.
pub(crate) fn points(table: &Table, over: &str, column: &str) -> Vec<(f64, f64)> {
    let (Some(xs), Some(values)) = (table.column(over), table.column(column)) else {
        return Vec::new();
    };
    xs.into_iter().zip(values).filter(|(x, y)| x.is_finite() && y.is_finite()).collect()
}

/// Checks that the metrics of a run have these columns; those of one that has just begun may have none at all.
pub(crate) fn expect_columns<'a>(
    table: &Table,
    folder: &Path,
    names: impl IntoIterator<Item = &'a str>,
) -> Result<(), Stop> {
    let mut names = names.into_iter().filter(|_| !table.columns.is_empty());
    let Some(missing) = names.find(|name| table.column(name).is_none()) else { return Ok(()) };
    let near = quickstudy_core::closest(missing, table.columns.iter().map(String::as_str));
    let all = || format!("it has: {}", table.columns.join(", "));
    let hint = near.map_or_else(all, |near| format!("did you mean `{near}`?"));
    Err(Stop::user(format!("{} has no metric `{missing}`", folder.display())).hint(hint))
}

/// The environment steps of an iteration: the shortest distance between rows, which some runs leave out.
pub(crate) fn iteration(table: &Table) -> f64 {
    let steps = table.column(ENV_STEPS).unwrap_or_default();
    let before = std::iter::once(0.0).chain(steps.iter().copied());
    let gaps = before.zip(&steps).map(|(before, steps)| steps - before).filter(|gap| *gap > 0.0);
    gaps.min_by(f64::total_cmp).unwrap_or(0.0)
}

/// A score in words: its metric and its budget.
pub(crate) fn phrase(metric: &str, budget: f64) -> String {
    format!("{metric} at a budget of {} steps", short_count(budget))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn even(interval: u32, count: u32) -> Vec<(f64, f64)> {
        (1..=count).map(|i| (f64::from(i * interval), f64::from(i))).collect()
    }

    #[test]
    fn the_nearest_evaluation_counts_also_behind_the_budget() {
        // 14,336 of 14,000 steps, which is further than 2 %.
        let ppo = even(2048, 7);
        assert_eq!(score_at(&ppo, 1024.0, 14_000.0), Some((14_336.0, 7.0)));
        // A single one, behind and before the budget of others.
        assert_eq!(score_at(&ppo[..1], 2048.0, 2000.0), Some((2048.0, 1.0)));
        assert_eq!(score_at(&even(1000, 10), 1.0, 6144.0), Some((6000.0, 6.0)));
        assert_eq!(score_at(&even(1000, 10), 1.0, 400.0), None, "nothing is known so early");
        assert_eq!(score_at(&[], 1.0, 400.0), None);
    }

    #[test]
    fn further_away_the_score_is_between_the_evaluations_around() {
        let mut rare = even(1000, 10);
        rare.drain(3..7);
        // 3 at 3000 and 8 at 8000: what is known of 5000 is 5.
        assert_eq!(score_at(&rare, 1.0, 5000.0), Some((5000.0, 5.0)));
        assert_eq!(score_at(&rare, 1.0, 3400.0), Some((3000.0, 3.0)));
        // An iteration of 2000 steps ends nowhere nearer.
        assert_eq!(score_at(&rare, 2000.0, 5000.0), Some((3000.0, 3.0)));
    }

    #[test]
    fn a_budget_is_where_the_first_run_ends() {
        let (long, short) = (even(100, 10), [(150.0, 1.0), (395.0, 7.0)]);
        assert_eq!(Budget::of(&[&long, &short]), Some(Budget { steps: 395.0, longest: 1000.0 }));
        assert_eq!(Budget::of(&[&long, &[]]), None);
    }

    #[test]
    fn an_iteration_is_the_shortest_distance_between_rows() {
        let rows = [4096.0, 6144.0, 10240.0].map(|steps| vec![steps]).to_vec();
        let table = Table { columns: vec![ENV_STEPS.into()], rows, ..Table::default() };
        assert_eq!((iteration(&table), iteration(&Table::default())), (2048.0, 0.0));
    }
}
