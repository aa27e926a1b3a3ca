//! The rows that the metrics of a run should have, by which it is told that some are lost.

use super::{History, ITERATIONS, Points, coarseness, is_due};
use crate::files::reading::read_own_text;
use crate::folder::file;
use crate::metrics::rows::TextRow;
use crate::settings::config;
use std::io;
use std::path::Path;

/// Environment steps at which there should be rows: points of `curve.csv` were rows once; for what is newer than that
/// file, [`is_due`] tells with the `log_every` of the configuration.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Due {
    points: Vec<u64>,
    /// The last row that `curve.csv` knows.
    since: u64,
    /// Without a configuration nobody knows how often.
    every: Option<u64>,
}

impl Due {
    /// The rows that the run in `folder` should have up to `env_steps`.
    pub(crate) fn of(folder: &Path, env_steps: u64) -> io::Result<Self> {
        let known = History::kept(folder)?.unwrap_or_default();
        let steps = |points: &Points| -> Vec<u64> {
            let last = points.last.iter().map(|(steps, _)| *steps);
            points.kept.iter().map(|(steps, ..)| *steps).chain(last).filter(|steps| *steps <= env_steps).collect()
        };
        let mut points = [steps(&known.returns), steps(&known.evaluations)].concat();
        points.sort_unstable();
        points.dedup();
        let text = read_own_text(&folder.join(file::CONFIG)).ok();
        let keys = text.and_then(|text| config::parse(std::str::from_utf8(&text).ok()?).ok());
        let every = keys.map(|(keys, _)| keys.log_every.unwrap_or(0));
        Ok(Self { points, since: known.steps, every })
    }

    /// The first row after `after` that should be there, where iterations make `batch` environment steps.
    pub(crate) fn next(&self, after: u64, batch: Option<u64>) -> Option<u64> {
        let point = self.points.get(self.points.partition_point(|steps| *steps <= after));
        point.copied().or_else(|| next_due(after.max(self.since), batch?, self.every?))
    }
}

/// The end of the first iteration after `after` that [`is_due`].
fn next_due(after: u64, batch: u64, every: u64) -> Option<u64> {
    // Iterations end at multiples of `batch`; the one that passes a multiple of `unit` leaves a row.
    let passing = |unit: u64| (after / unit).checked_add(1)?.checked_mul(unit)?.div_ceil(batch).checked_mul(batch);
    if after < batch {
        return Some(batch);
    }
    if every > 0 {
        return passing(every);
    }
    let mut coarse = coarseness(after);
    loop {
        let steps = passing(1_u64.checked_shl(coarse)?)?;
        if is_due(steps - batch, steps, 0) {
            return Some(steps);
        }
        // Rows become rarer before it.
        coarse = coarseness(steps).max(coarse + 1);
    }
}

/// Most rows that are missed; beyond that nobody counts.
const MOST: u64 = 1_000_000;

/// Looks at the rows that are believed, one after the other, for those that should be between them.
pub(crate) struct Gaps<'a> {
    due: &'a Due,
    /// Environment steps of an iteration, as rows tell.
    batch: Option<u64>,
    /// Iterations make different numbers of steps.
    uneven: bool,
    /// Steps of the last row.
    at: u64,
    missed: u64,
    /// The first and the last row of each gap.
    pub ranges: Vec<(u64, u64)>,
}

impl<'a> Gaps<'a> {
    /// Begins at the row at `at`.
    pub(crate) fn new(due: &'a Due, at: u64) -> Self {
        Self { due, batch: None, uneven: false, at, missed: 0, ranges: Vec::new() }
    }

    pub(crate) fn pass(&mut self, row: &TextRow) {
        let iterations = Some(row.value(ITERATIONS)).filter(|n| *n >= 1.0 && n.fract() == 0.0);
        if let Some(n) = iterations.map(|n| n as u64).filter(|_| row.steps > 0) {
            let even = row.steps.is_multiple_of(n).then(|| row.steps / n);
            // Where episodes end early, iterations are of different lengths, and nobody knows which steps have rows.
            self.uneven |= even.is_none() || self.batch.is_some_and(|batch| Some(batch) != even);
            self.batch = even.filter(|_| !self.uneven);
        }
        self.until(row.steps);
        self.at = row.steps;
    }

    /// Misses the rows before `end`; tells whether there are any.
    pub(crate) fn until(&mut self, end: u64) -> bool {
        let mut range: Option<(u64, u64)> = None;
        let mut at = self.at;
        while let Some(steps) = self.due.next(at, self.batch).filter(|steps| *steps < end && self.missed < MOST) {
            range = Some((range.map_or(steps, |(first, _)| first), steps));
            (at, self.missed) = (steps, self.missed + 1);
        }
        self.ranges.extend(range);
        range.is_some()
    }
}

/// The ranges in words: `from 256 to 1024 and at 4096`.
pub(crate) fn in_words(ranges: &[(u64, u64)]) -> String {
    const SHOWN: usize = 3;
    let one = |(first, last): &(u64, u64)| match first == last {
        true => format!("at {first}"),
        false => format!("from {first} to {last}"),
    };
    let mut words: Vec<String> = ranges.iter().take(SHOWN).map(one).collect();
    if ranges.len() > SHOWN {
        words.push(format!("at {} more places", ranges.len() - SHOWN));
    }
    words.join(" and ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folder::tests::scratch;
    use std::fs;

    #[test]
    fn the_next_row_is_the_next_that_is_due() {
        for (batch, every) in [(256, 0), (2048, 0), (1, 0), (100_000, 0), (250, 1), (250, 1000), (256, 1000), (96, 7)] {
            let ends = (1..5000_u64).map(|i| i * batch);
            let all: Vec<u64> = ends.filter(|steps| is_due(steps - batch, *steps, every)).collect();
            let mut found = vec![next_due(0, batch, every).unwrap()];
            while found.len() < all.len() {
                found.push(next_due(found[found.len() - 1], batch, every).unwrap());
            }
            assert_eq!(found, all, "{batch} {every}");
        }
        for after in [0, 1, u64::MAX - 1, u64::MAX] {
            for (batch, every) in [(1, 0), (u64::MAX, 0), (1, u64::MAX), (3, 1)] {
                assert!(next_due(after, batch, every).is_none_or(|next| next > after), "{after} {batch} {every}");
            }
        }
    }

    #[test]
    fn points_of_the_curve_come_first_and_the_configuration_after_them() {
        let dir = scratch("due");
        assert_eq!(Due::of(&dir, 100).unwrap(), Due::default());
        assert_eq!(Due::default().next(0, Some(8)), None);
        let curve = "what,env_steps,value,level\nreturn,24,1,3\nlast return,40,1,\nseconds,48,1,\n";
        fs::write(dir.join(file::HISTORY), curve).unwrap();
        fs::write(dir.join(file::CONFIG), "log_every = 10\n").unwrap();
        let due = Due::of(&dir, 100).unwrap();
        let all: Vec<u64> = std::iter::successors(due.next(0, Some(8)), |at| due.next(*at, Some(8))).take(5).collect();
        assert_eq!(all, [24, 40, 56, 64, 72]);
        assert_eq!(Due::of(&dir, 30).unwrap().points, [24]);
    }
}
