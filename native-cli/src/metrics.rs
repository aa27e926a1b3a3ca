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
pub(crate) mod history;
mod merge;
pub(crate) mod meta_test;
pub(crate) mod names;
pub(crate) mod rewind;
pub(crate) mod rows;
mod table;
pub(crate) mod tfevents;

use crate::files::{atomic, cannot_keep, disk, hint_for};
use crate::folder::{RunFolder, file};
use crate::outcome::Stop;
pub(crate) use names::{ENV_STEPS, EPISODE_RETURN, EVAL_RETURN, SECONDS};
use rewind::Rewound;
use rows::{RowFormat, Rows, TAIL, TextRow};
use std::fs::OpenOptions;
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};
pub use table::Table;

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
