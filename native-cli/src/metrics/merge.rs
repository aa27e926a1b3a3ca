//! The rows of a run from all of its metrics files, read side by side by environment steps.
//!
//! The JSON lines are the record. A row that the record lacks, or whose line is broken, is taken from the CSV, or else
//! from the events, which round. As events have checksums, they also tell where a broken line reads like a row.

use super::rows::{RowFormat, Rows, TextRow, tail_start};
use super::{SECONDS, now};
use crate::folder::file;
use crate::metrics::history::{Due, Gaps};
use crate::metrics::tfevents;
use std::path::Path;
use std::time::UNIX_EPOCH;
use std::{fs, io};

/// The files, the record first.
pub(super) const NAMES: [&str; 3] = [file::JSONL, file::CSV, file::EVENTS];
const FORMATS: [RowFormat<'_>; 3] = [RowFormat::Json, RowFormat::Csv(&[]), RowFormat::Events];

/// The state of one file.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Health {
    /// Lines or records that are no rows.
    pub damaged: u64,
    /// Rows of other files that it lacks.
    pub missing: u64,
    /// Rows that it has otherwise.
    pub wrong: u64,
    /// The offset before the first row that was looked at.
    pub from: u64,
    /// The offset after its last row.
    pub end: u64,
    pub exists: bool,
}

impl Health {
    pub(super) fn is_whole(self) -> bool {
        self.exists && self.damaged + self.missing + self.wrong == 0
    }
}

/// One of the files, read row by row up to the snapshot.
struct Side<'a> {
    rows: Rows<'a>,
    merge: &'a Merge<'a>,
    /// Steps of the last row.
    last: Option<u64>,
    /// The next row that is sound and not newer than the snapshot.
    next: Option<TextRow>,
    /// Damaged lines since the last row that both texts have.
    pending: u64,
    health: Health,
}

impl<'a> Side<'a> {
    fn open(merge: &'a Merge<'a>, name: &str, format: RowFormat<'a>, start: u64) -> io::Result<Self> {
        let rows = Rows::open(&merge.folder.join(name), format, start)?;
        let health = Health { from: rows.from, end: rows.at, exists: rows.exists(), ..Health::default() };
        let mut side = Self { rows, merge, last: None, next: None, pending: 0, health };
        side.advance()?;
        Ok(side)
    }

    fn steps(&self) -> Option<u64> {
        self.next.as_ref().map(|row| row.steps)
    }

    /// Goes to the next row.
    fn advance(&mut self) -> io::Result<()> {
        if self.next.take().is_some() {
            self.health.end = self.rows.at;
        }
        let mut damaged = 0;
        while let Some(row) = self.rows.next().transpose()? {
            // What begins the events are several rows at step 0.
            let later = self.last.is_none_or(|last| row.steps > last || row.steps + last == 0);
            if later && row.cells.iter().all(|(name, _)| self.merge.columns.contains(name)) {
                self.last = Some(row.steps);
                self.next = Some(row).filter(|row| row.steps <= self.merge.env_steps);
                break;
            }
            damaged += 1;
        }
        damaged += std::mem::take(&mut self.rows.damaged);
        (self.health.damaged, self.pending) = (self.health.damaged + damaged, self.pending + damaged);
        Ok(())
    }

    /// Leaves out rows before `steps`; what is wrong among them does not count.
    fn skip_to(&mut self, steps: u64) -> io::Result<()> {
        while self.steps().is_some_and(|at| at < steps) {
            self.advance()?;
        }
        self.health.from = self.health.end;
        if self.next.is_some() {
            (self.health.damaged, self.pending) = (0, 0);
        }
        Ok(())
    }

    /// Tells whether the file had a sound record before the next row, and has had no other.
    fn is_sound(&self) -> bool {
        self.health.damaged == 0 && self.next.is_some() && self.health.end > self.rows.from
    }
}

/// The outcome of a comparison.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// The state of each file, in the order of [`NAMES`].
    pub health: [Health; 3],
    pub rows: u64,
    /// All files have the first of these rows, so that no earlier one is missing in one of them.
    pub aligned: bool,
    /// Rows that no file has any more.
    pub lost: u64,
    /// The first and the last row of each gap between rows that all files lack.
    pub gaps: Vec<(u64, u64)>,
    /// The last gap reaches to the snapshot.
    pub cut_short: bool,
}

/// A row of the run, and its event where that is sound.
pub(super) struct Merged<'a> {
    pub row: &'a TextRow,
    pub event: Option<&'a [u8]>,
    /// Seconds since 1970 at which training began, as far as events tell.
    pub began: f64,
}

/// The files of a run, up to a snapshot.
pub(super) struct Merge<'a> {
    pub folder: &'a Path,
    pub env_steps: u64,
    pub columns: Vec<String>,
    /// The offsets at which reading begins in each file.
    pub starts: [u64; 3],
    due: Due,
    /// The record has damage and the CSV has none: where they differ and no event tells, the CSV is believed.
    csv_is_whole: bool,
}

impl<'a> Merge<'a> {
    /// All of the files in `folder` up to `env_steps`, whose rows have these columns.
    pub(super) fn new(folder: &'a Path, env_steps: u64, columns: Vec<String>, due: Due) -> Self {
        Self { folder, env_steps, columns, starts: [0; 3], due, csv_is_whole: false }
    }

    /// Begins in the last `tail` bytes of each file.
    pub(super) fn begin_at(&mut self, tail: u64) -> io::Result<()> {
        for ((start, name), format) in self.starts.iter_mut().zip(NAMES).zip(FORMATS) {
            *start = tail_start(&self.folder.join(name), format, tail)?;
        }
        Ok(())
    }

    /// Finds out how the files are.
    pub(super) fn compare(&mut self) -> io::Result<Found> {
        self.csv_is_whole = false;
        let found = self.each(&mut |_| Ok(()))?;
        // A line of a record with damage may read like a row.
        let has_all = |health: Health| health.damaged + health.missing == 0;
        self.csv_is_whole = has_all(found.health[1]) && !has_all(found.health[0]);
        if self.csv_is_whole { self.each(&mut |_| Ok(())) } else { Ok(found) }
    }

    /// Reads the files side by side and hands every row to `sink`.
    pub(super) fn each(&self, sink: &mut dyn FnMut(&Merged<'_>) -> io::Result<()>) -> io::Result<Found> {
        let mut sides = [
            Side::open(self, file::JSONL, RowFormat::Json, self.starts[0])?,
            Side::open(self, file::CSV, RowFormat::Csv(&self.columns), self.starts[1])?,
            Side::open(self, file::EVENTS, RowFormat::Events, self.starts[2])?,
        ];
        sides[2].skip_to(1)?;
        let mut found = Found { aligned: true, ..Found::default() };
        let mut gaps = Gaps::new(&self.due, 0);
        // In the midst of the files, rows are compared from where all have begun.
        if self.starts != [0; 3] {
            let floor = sides.iter().filter_map(Side::steps).max().unwrap_or(0);
            sides.iter_mut().try_for_each(|side| side.skip_to(floor))?;
            found.aligned = sides.iter().all(|side| side.steps() == Some(floor));
            gaps = Gaps::new(&self.due, floor);
        }
        let mut began = self.began();
        while let Some(steps) = sides.iter().filter_map(Side::steps).min() {
            let rows = sides.each_ref().map(|side| side.next.as_ref().filter(|row| row.steps == steps));
            let [in_json, in_csv, in_events] = rows.map(|row| row.is_some());
            // A row that one text has alone, where the events are sound before and after it, never was.
            if !in_events && in_json != in_csv && sides[2].is_sound() {
                let side = &mut sides[usize::from(in_csv)];
                side.health.damaged += 1;
                side.advance()?;
                continue;
            }
            let event = in_events.then_some(sides[2].rows.event.as_slice());
            let time = event.and_then(tfevents::wall_time);
            let confirms = |row: &TextRow| time.is_some_and(|time| Some(row.to_event(time).as_slice()) == event);
            let is_broken =
                |json: &TextRow, csv: &TextRow| json != csv && !confirms(json) && (confirms(csv) || self.csv_is_whole);
            let row = match rows {
                [Some(json), Some(csv), _] if is_broken(json, csv) => csv,
                [Some(row), ..] | [None, Some(row), _] | [None, None, Some(row)] => row,
                [None, None, None] => break,
            };
            let seconds = Some(row.value(SECONDS)).filter(|seconds| seconds.is_finite()).unwrap_or(0.0);
            began = time.map_or(began, |time| time - seconds);
            gaps.pass(row);
            sink(&Merged { row, event, began })?;
            found.rows += 1;
            let wrong = [rows[0], rows[1], None].map(|own| own.is_some_and(|own| own != row));
            let both = in_json && in_csv;
            if both {
                // A damaged line of one text is a row that the other one has, or a row that is lost.
                found.lost += sides[0].pending.min(sides[1].pending);
            }
            for ((side, has), wrong) in sides.iter_mut().zip([in_json, in_csv, in_events]).zip(wrong) {
                side.health.missing += u64::from(!has);
                side.health.wrong += u64::from(wrong);
                side.pending = if both { 0 } else { side.pending.saturating_sub(u64::from(!has)) };
                if has {
                    side.advance()?;
                }
            }
        }
        found.lost += sides[0].pending.min(sides[1].pending);
        found.cut_short = gaps.until(self.env_steps.saturating_add(1));
        found.gaps = gaps.ranges;
        found.health = sides.map(|side| side.health);
        Ok(found)
    }

    /// When the run began, in seconds since 1970, as its configuration tells.
    fn began(&self) -> f64 {
        let written = fs::metadata(self.folder.join(file::CONFIG)).and_then(|meta| meta.modified()).ok();
        let since = written.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        since.map_or_else(now, |since| since.as_secs_f64())
    }
}
