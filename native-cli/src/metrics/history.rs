//! The course of a run in bounded memory: points of its learning curve, its best evaluation, its seconds.
//!
//! It is a function of the rows of the metrics alone. `curve.csv` in the run folder keeps it, so that a resume reads
//! only the rows that came after; without that file, all rows are read once, one at a time.

mod due;

use crate::folder::file;
use crate::metrics::rows::{RowFormat, Rows, TAIL, TextRow, open};
use crate::metrics::{EPISODE_RETURN, EVAL_RETURN, SECONDS, number};
use std::fmt::Write as _;
use std::io;
use std::path::Path;

pub(crate) use due::{Due, Gaps, in_words};

/// Points per doubling of the steps, or rows of the metrics where `log_every` is 0.
pub(crate) const PER_DOUBLING: u64 = 1000;

/// The largest power of two, as its exponent, with at least [`PER_DOUBLING`] of it in `steps`.
fn coarseness(steps: u64) -> u32 {
    (steps / PER_DOUBLING).checked_ilog2().unwrap_or(0)
}

/// The largest power of two, as its exponent, of which a multiple lies in `before + 1 ..= steps`.
fn level(before: u64, steps: u64) -> u32 {
    (before ^ steps).checked_ilog2().unwrap_or(0)
}

/// Tells whether the iteration from `before` to `steps` leaves a row in the metrics.
///
/// `every` is the number of environment steps between rows; with 0, each of the first thousand iterations
/// leaves a row, and later ones leave [`PER_DOUBLING`] rows each time that the steps double. It depends on the
/// steps alone: a resumed run has the same rows.
pub(crate) fn is_due(before: u64, steps: u64, every: u64) -> bool {
    match before.checked_div(every) {
        Some(rows) => before == 0 || rows != steps / every,
        None => level(before, steps) >= coarseness(steps),
    }
}

/// Points over steps, of which the more are left out the longer the run is: at most twice [`PER_DOUBLING`] stay.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Points {
    /// Steps, value and level.
    kept: Vec<(u64, f64, u32)>,
    /// The newest one.
    last: Option<(u64, f64)>,
}

impl Points {
    pub(crate) fn push(&mut self, steps: u64, value: f64) {
        let before = self.last.map_or(0, |(steps, _)| steps);
        let coarse = coarseness(steps);
        if coarse > coarseness(before) {
            self.kept.retain(|(_, _, level)| *level >= coarse);
        }
        let level = level(before, steps);
        if level >= coarse {
            self.kept.push((steps, value, level));
        }
        self.last = Some((steps, value));
    }

    #[allow(clippy::cast_precision_loss)] // exact below 2^53 steps
    pub(crate) fn curve(&self) -> Vec<(f64, f64)> {
        let newest = self.last.filter(|(steps, _)| self.kept.last().is_none_or(|(kept, ..)| kept < steps));
        let kept = self.kept.iter().map(|(steps, value, _)| (*steps, *value));
        kept.chain(newest).map(|(steps, value)| (steps as f64, value)).collect()
    }
}

/// The column of iterations.
pub(crate) const ITERATIONS: &str = "time/iterations";

/// The course of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct History {
    /// Environment steps of the last row.
    steps: u64,
    seconds: f64,
    best: f32,
    returns: Points,
    evaluations: Points,
}

impl Default for History {
    fn default() -> Self {
        Self {
            steps: 0,
            seconds: 0.0,
            best: f32::NEG_INFINITY,
            returns: Points::default(),
            evaluations: Points::default(),
        }
    }
}

impl History {
    /// Adds a row of the metrics.
    #[allow(clippy::cast_possible_truncation)] // evaluations are compared as the f32 that they came from
    pub fn push(&mut self, row: &TextRow) {
        self.steps = row.steps;
        let value = |name: &str| Some(row.value(name)).filter(|value| value.is_finite());
        if let Some(seconds) = value(SECONDS) {
            self.seconds = seconds;
        }
        if let Some(ret) = value(EPISODE_RETURN) {
            self.returns.push(row.steps, ret);
        }
        if let Some(ret) = value(EVAL_RETURN) {
            self.evaluations.push(row.steps, ret);
            self.best = self.best.max(ret as f32);
        }
    }

    /// Environment steps of the last row.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// Mean returns of training episodes over environment steps.
    pub fn returns(&self) -> Vec<(f64, f64)> {
        self.returns.curve()
    }

    /// Mean returns of evaluations over environment steps.
    pub fn evaluations(&self) -> Vec<(f64, f64)> {
        self.evaluations.curve()
    }

    /// The best mean return of an evaluation; minus infinity before the first.
    pub fn best(&self) -> f32 {
        self.best
    }

    /// The mean return of the last evaluation.
    pub fn last_evaluation(&self) -> Option<f64> {
        self.evaluations.last.map(|(_, value)| value)
    }

    /// The last mean return of training episodes.
    pub fn last_return(&self) -> Option<f64> {
        self.returns.last.map(|(_, value)| value)
    }

    /// Seconds of training until the last row.
    pub fn seconds(&self) -> f64 {
        self.seconds
    }

    /// The text of `curve.csv`.
    pub fn to_csv(&self) -> String {
        let mut text = String::from("what,env_steps,value,level\n");
        for (what, points) in [("return", &self.returns), ("evaluation", &self.evaluations)] {
            for (steps, value, level) in &points.kept {
                let _ = writeln!(text, "{what},{steps},{},{level}", number(*value));
            }
            if let Some((steps, value)) = points.last {
                let _ = writeln!(text, "last {what},{steps},{},", number(value));
            }
        }
        if self.best.is_finite() {
            let _ = writeln!(text, "best evaluation,,{},", number(f64::from(self.best)));
        }
        // The last line: without it the file is not whole.
        let _ = writeln!(text, "seconds,{},{},", self.steps, number(self.seconds));
        text
    }

    /// Reads `curve.csv`; `None` if it is damaged.
    pub fn from_csv(text: &str) -> Option<Self> {
        let mut history = Self::default();
        let mut whole = false;
        for line in text.strip_suffix('\n')?.split('\n').skip(1) {
            let cells: Vec<&str> = line.split(',').collect();
            let &[what, steps, value, level] = cells.as_slice() else { return None };
            let value = value.parse::<f64>().ok().filter(|value| value.is_finite() && !whole)?;
            let (points, what) = match what.strip_suffix("evaluation") {
                Some(what) => (&mut history.evaluations, what),
                None => (&mut history.returns, what.trim_end_matches("return")),
            };
            match (what, what.is_empty()) {
                (_, true) if points.kept.len() <= 2 * PER_DOUBLING as usize => {
                    points.kept.push((steps.parse().ok()?, value, level.parse().ok()?));
                }
                ("last ", _) => points.last = Some((steps.parse().ok()?, value)),
                #[allow(clippy::cast_possible_truncation)]
                ("best ", _) => history.best = value as f32,
                ("seconds", _) => (history.steps, history.seconds, whole) = (steps.parse().ok()?, value, true),
                _ => return None,
            }
        }
        let ordered = |points: &Points| points.kept.is_sorted_by(|a, b| a.0 < b.0);
        (whole && ordered(&history.returns) && ordered(&history.evaluations)).then_some(history)
    }

    /// The history of the run in `folder` up to `env_steps`, where the metrics were cut: that of `curve.csv` and the
    /// rows since, or all rows if that file is missing, damaged or newer.
    pub fn load(folder: &Path, env_steps: u64) -> io::Result<Self> {
        if let Some(mut history) = Self::kept(folder)?.filter(|history| history.steps <= env_steps) {
            let rows = Rows::tail(&folder.join(file::JSONL), RowFormat::Json, TAIL)?;
            let from = rows.from;
            if history.add(rows)? || from == 0 {
                return Ok(history);
            }
        }
        let mut history = Self::default();
        history.add(Rows::open(&folder.join(file::JSONL), RowFormat::Json, 0)?)?;
        Ok(history)
    }

    /// The history that `curve.csv` keeps, if that is there and whole.
    fn kept(folder: &Path) -> io::Result<Option<Self>> {
        let Some(reader) = open(&folder.join(file::HISTORY), 0)? else { return Ok(None) };
        Ok(io::read_to_string(io::Read::take(reader, 1 << 20)).ok().and_then(|text| Self::from_csv(&text)))
    }

    /// Adds rows that are newer. True if an older row was there too, so that none is left out in between.
    fn add(&mut self, rows: Rows<'_>) -> io::Result<bool> {
        let (mut gapless, since) = (false, self.steps);
        for row in rows {
            let row = row?;
            gapless |= row.steps <= since;
            if row.steps > self.steps {
                self.push(&row);
            }
        }
        Ok(gapless)
    }
}

#[cfg(test)]
mod tests;
