//! Metrics of one run: JSON lines are the record, and a CSV and TensorBoard events with the same rows derive from it.
//!
//! A row is a list of `(name, value)` in a fixed order. Names are grouped: `rollout/`, `train/`, `eval/`, `time/`.
//! NaN means "no value this time" (no episode has ended yet, no evaluation in this iteration): an empty CSV cell, no
//! key in JSON, no point in TensorBoard. Every row has [`ENV_STEPS`]; by it a resumed run cuts the rows that are newer
//! than its snapshot, so that the files end up the same as without the interruption, wall-clock columns aside.
//!
//! Not every iteration leaves a row where a run is long, see [`history::is_due`]: a day's run takes some
//! megabytes. Files are open only while they are written.

pub(crate) mod agreement;
mod columns;
mod gaps;
pub(crate) mod history;
pub(crate) mod meta_test;
pub(crate) mod names;
pub(crate) mod rewind;
pub(crate) mod rows;
pub(crate) mod tfevents;

use crate::files::{atomic, cannot, cannot_keep, disk, hint_for};
use crate::folder::{RunFolder, file};
use crate::outcome::Stop;
pub(crate) use names::{ENV_STEPS, EPISODE_RETURN, EVAL_RETURN, SECONDS};
use rewind::{Rewound, TAIL};
use rows::{RowFormat, Rows, TextRow};
use std::fs::OpenOptions;
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// Named values of one iteration, in column order.
pub(crate) type Row = Vec<(String, f64)>;

/// The metrics files of a run: rows are gathered in memory and appended when they are flushed.
#[derive(Debug)]
pub struct MetricsLog {
    jsonl: Vec<u8>,
    csv: Vec<u8>,
    events: Vec<u8>,
    /// Columns of the CSV; empty until the first row.
    columns: Vec<String>,
    /// True if rows were appended that may not be on disk yet.
    unsynced: bool,
    /// True after a resume, until the first row: the columns come from earlier rows then, and this row may bring new
    /// ones.
    learned: bool,
    folder: PathBuf,
}

impl MetricsLog {
    /// Starts new files in `folder`; `config` is shown in TensorBoard's text tab.
    pub fn create(folder: &RunFolder, config: &str) -> Result<Self, Stop> {
        let mut log = Self::open(folder, Vec::new());
        for name in [file::JSONL, file::CSV, file::EVENTS] {
            let path = log.folder.join(name);
            disk::create(&path).map_err(|error| cannot_keep(&path, &error, ""))?;
        }
        begin_events(&mut log.events, config, now());
        log.flush()?;
        Ok(log)
    }

    /// Continues the files in `folder` after cutting every row newer than `env_steps`; also returns
    /// what was damaged and repaired, in sentences.
    ///
    /// A file that was deleted meanwhile is made anew; a last row that was written in half is cut.
    pub fn resume(folder: &RunFolder, env_steps: u64, config: &str) -> Result<(Self, Vec<String>), Stop> {
        let Rewound { columns, notes } = rewind::rewind(folder.path(), env_steps, config, TAIL).map_err(|error| {
            let message = format!("cannot read or mend the metrics in {}: {error}", folder.path().display());
            Stop::failure(message).hint(hint_for(&error))
        })?;
        Ok((Self { unsynced: true, learned: true, ..Self::open(folder, columns) }, notes))
    }

    fn open(folder: &RunFolder, columns: Vec<String>) -> Self {
        let (jsonl, csv, events) = Default::default();
        let folder = folder.path().to_owned();
        Self { jsonl, csv, events, columns, unsynced: false, learned: false, folder }
    }

    /// Appends one row. The first row, and the first one after a resume, fixes the columns; a later row may lack some,
    /// never add one.
    pub fn append(&mut self, row: &[(String, f64)]) -> Result<TextRow, Stop> {
        if self.columns.is_empty() {
            self.columns = row.iter().map(|(name, _)| name.clone()).collect();
            self.csv.extend((self.columns.join(",") + "\n").as_bytes());
        }
        let named = |(name, _): &(String, f64)| self.columns.contains(name);
        if std::mem::take(&mut self.learned) && !row.iter().all(named) {
            self.widen(row)?;
        }
        if let Some((name, _)) = row.iter().find(|(name, _)| !self.columns.contains(name)) {
            return Err(Stop::failure(format!(
                "metric {name} is not a column of {} (columns are fixed by the first row)",
                self.folder.join(file::CSV).display()
            )));
        }
        self.unsynced = true;
        let value_of = |column: &str| row.iter().find(|(name, _)| name == column).map_or(f64::NAN, |(_, value)| *value);
        // An infinity stops the run before its row is written, so that none is lost here.
        let present = self.columns.iter().filter(|column| value_of(column).is_finite());
        let cells = present.map(|column| (column.clone(), number(value_of(column)))).collect();
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let row = TextRow { steps: value_of(ENV_STEPS) as u64, cells };
        self.jsonl.extend(row.to_json().as_bytes());
        self.csv.extend(row.to_csv(&self.columns).as_bytes());
        tfevents::record(&mut self.events, &row.to_event(now()));
        Ok(row)
    }

    /// Writes the CSV anew with the columns that `row` has besides.
    fn widen(&mut self, row: &[(String, f64)]) -> Result<(), Stop> {
        self.flush()?;
        let names: Vec<String> = row.iter().map(|(name, _)| name.clone()).collect();
        let before = self.columns.clone();
        columns::add(&mut self.columns, &names);
        let path = self.folder.join(file::CSV);
        let written = atomic::rewrite(&path, &mut |file| {
            let mut out = BufWriter::new(file);
            out.write_all((self.columns.join(",") + "\n").as_bytes())?;
            for row in Rows::open(&path, RowFormat::Csv(&before), 0)? {
                out.write_all(row?.to_csv(&self.columns).as_bytes())?;
            }
            out.flush()
        });
        written.map_err(|error| cannot_keep(&path, &error, ""))
    }

    /// Hands rows to the operating system, so that readers see them and a killed process loses none.
    pub fn flush(&mut self) -> Result<(), Stop> {
        self.write(false)
    }

    /// Waits until all rows are on disk. Call it before a snapshot is written: rows up to it then always exist.
    pub fn sync(&mut self) -> Result<(), Stop> {
        self.write(self.unsynced)?;
        self.unsynced = false;
        Ok(())
    }

    fn write(&mut self, sync: bool) -> Result<(), Stop> {
        let header = self.columns.join(",") + "\n";
        for (name, rows) in
            [(file::JSONL, &mut self.jsonl), (file::CSV, &mut self.csv), (file::EVENTS, &mut self.events)]
        {
            if sync || !rows.is_empty() {
                let path = self.folder.join(name);
                let begin = || if name == file::CSV { header.clone() } else { String::new() };
                append_to(&path, rows, &begin, sync).map_err(|error| cannot_keep(&path, &error, ""))?;
            }
        }
        Ok(())
    }
}

/// Appends to a file and empties `rows`; a file that was deleted meanwhile begins anew, a resume makes it whole.
fn append_to(path: &Path, rows: &mut Vec<u8>, begin: &dyn Fn() -> String, sync: bool) -> io::Result<()> {
    let mut file = match disk::reopen(OpenOptions::new().append(true), path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let mut file = disk::open(OpenOptions::new().append(true).create(true), path)?;
            disk::write_all(&mut file, begin().as_bytes())?;
            file
        }
        opened => opened?,
    };
    let length = file.metadata()?.len();
    if let Err(error) = disk::write_all(&mut file, rows) {
        // Half a row would be damage if this is tried again.
        let _ = file.set_len(length);
        return Err(error);
    }
    rows.clear();
    if sync { file.sync_data() } else { Ok(()) }
}

/// Begins a file of events: its version and the run's configuration.
fn begin_events(out: &mut Vec<u8>, config: &str, wall_time: f64) {
    tfevents::begin(out, wall_time);
    tfevents::text(out, "config", wall_time, &format!("```toml\n{config}\n```"));
}

/// A metrics CSV in memory.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// Column names.
    pub columns: Vec<String>,
    /// Rows, in file order; NaN where a cell is empty.
    pub rows: Vec<Vec<f64>>,
    /// Lines that are no rows.
    pub damaged: usize,
    /// Cells with an infinite number, which counts as none.
    pub infinite: usize,
}

impl Table {
    /// Reads the complete rows of a metrics CSV.
    pub fn read(path: &Path) -> Result<Self, Stop> {
        let cannot_read = |error: io::Error| cannot("read", path, &error);
        // What is neither a file nor has an end is refused before it is read.
        if !std::fs::metadata(path).map_err(cannot_read)?.is_file() {
            return Err(Stop::user(format!("{} is no file", path.display())));
        }
        let table = Self::rows_of(path).map_err(cannot_read)?;
        // An empty file is one of a run that has just begun.
        let begun = !table.columns.is_empty() || std::fs::metadata(path).is_ok_and(|file| file.len() > 0);
        if begun && table.column(ENV_STEPS).is_none() {
            return Err(Stop::user(format!(
                "{} is no metrics file of this program: it has no column {ENV_STEPS}",
                path.display()
            )));
        }
        Ok(table)
    }

    /// Says what of the file at `path` counts for nothing.
    pub fn notes(&self, path: &Path) -> Vec<String> {
        let (path, mut notes) = (path.display(), Vec::new());
        if self.damaged > 0 {
            notes.push(format!("note: {path} has {} damaged lines, left out; a resume mends them", self.damaged));
        }
        if self.infinite > 0 {
            notes.push(format!("note: {path} has {} infinite values, left out", self.infinite));
        }
        notes
    }

    /// The values of one column, or `None` if there is no such column.
    pub fn column(&self, name: &str) -> Option<Vec<f64>> {
        let index = self.columns.iter().position(|c| c == name)?;
        Some(self.rows.iter().map(|row| row[index]).collect())
    }

    fn rows_of(path: &Path) -> io::Result<Self> {
        let columns = rows::columns_of(path)?;
        let mut rows = Rows::open(path, RowFormat::Csv(&columns), 0)?;
        let cells = |row: TextRow| columns.iter().map(|name| row.value(name)).collect();
        let found = rows.by_ref().map(|row| row.map(cells)).collect::<io::Result<_>>()?;
        let (damaged, infinite) = (rows.damaged as usize, rows.infinite);
        Ok(Self { rows: found, damaged, infinite, columns })
    }
}

/// A value as text: integers plainly, values that came from an `f32` with its digits, others in full; NaN is empty.
pub(crate) fn number(value: f64) -> String {
    #[allow(clippy::cast_possible_truncation)]
    let single = value as f32;
    let magnitude = value.abs();
    if value.is_nan() {
        String::new()
    } else if value == 0.0 {
        "0".into()
    } else if (1e-4..1e15).contains(&magnitude) {
        if f64::from(single) == value && value.fract() != 0.0 { format!("{single}") } else { format!("{value}") }
    } else if f64::from(single) == value {
        format!("{single:e}")
    } else {
        format!("{value:e}")
    }
}

/// Seconds since 1970.
pub(crate) fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |elapsed| elapsed.as_secs_f64())
}

#[cfg(test)]
mod tests;
