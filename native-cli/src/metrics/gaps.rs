//! Rows that none of the metrics files has.

use super::rows::TextRow;
use crate::metrics::history::Due;

/// Most rows that are missed; beyond that nobody counts.
const MOST: u64 = 1_000_000;

/// Looks at the rows that are believed, one after the other, for those that should be between them.
pub(super) struct Gaps<'a> {
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
    pub(super) fn new(due: &'a Due, at: u64) -> Self {
        Self { due, batch: None, uneven: false, at, missed: 0, ranges: Vec::new() }
    }

    pub(super) fn pass(&mut self, row: &TextRow) {
        let iterations = Some(row.value("time/iterations")).filter(|n| *n >= 1.0 && n.fract() == 0.0);
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
    pub(super) fn until(&mut self, end: u64) -> bool {
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
pub(super) fn in_words(ranges: &[(u64, u64)]) -> String {
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
