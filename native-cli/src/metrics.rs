//! Metrics of one run in three formats with the same content: CSV, JSON lines and TensorBoard events.
//!
//! A row is a list of `(name, value)` in a fixed order. Names are grouped: `rollout/`, `train/`, `eval/`, `time/`.
//! NaN means "no value this time" (no episode has ended yet, no evaluation in this iteration): an empty CSV cell, no
//! key in JSON, no point in TensorBoard. Every row has [`ENV_STEPS`]; by it a resumed run cuts the rows that are newer
//! than its snapshot, so that the files end up the same as without the interruption, wall-clock columns aside.

use crate::outcome::Stop;
use crate::run_folder::{RunFolder, file, hint_for};
use crate::tfevents::EventWriter;
use std::fmt::Write as _;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Seek as _, SeekFrom, Write as _};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

/// The column that orders rows: environment steps so far, summed over parallel environments.
pub const ENV_STEPS: &str = "time/env_steps";

/// Named values of one iteration, in column order.
pub type Row = Vec<(String, f64)>;

/// The metrics files of a run, open for appending.
#[derive(Debug)]
pub struct MetricsLog {
    csv: BufWriter<File>,
    jsonl: BufWriter<File>,
    events: EventWriter,
    /// Columns of the CSV; empty until the first row.
    columns: Vec<String>,
    /// Whether rows were appended that may not be on disk yet.
    unsynced: bool,
    folder: String,
}

impl MetricsLog {
    /// Starts new files in `folder`; `config` is shown in TensorBoard's text tab.
    ///
    /// # Errors
    /// [`Stop`] with code 1 if a file cannot be written.
    pub fn create(folder: &RunFolder, config: &str) -> Result<Self, Stop> {
        let shown = folder.path().display().to_string();
        (|| {
            let mut events = EventWriter::create(&folder.join(file::EVENTS), now())?;
            events.text("config", now(), &format!("```toml\n{config}\n```"))?;
            Ok(Self {
                csv: BufWriter::new(File::create(folder.join(file::CSV))?),
                jsonl: BufWriter::new(File::create(folder.join(file::JSONL))?),
                events,
                columns: Vec::new(),
                unsynced: false,
                folder: shown.clone(),
            })
        })()
        .map_err(|error| cannot_write(&shown, &error))
    }

    /// Continues the files in `folder` after cutting every row newer than `env_steps`; also returns the rows kept.
    ///
    /// A file that was deleted meanwhile starts anew; a last row that was written in half is cut.
    ///
    /// # Errors
    /// [`Stop`] with code 1 if a file cannot be read or written.
    pub fn resume(folder: &RunFolder, env_steps: u64, config: &str) -> Result<(Self, Table), Stop> {
        if !folder.join(file::CSV).exists() {
            return Ok((Self::create(folder, config)?, Table::default()));
        }
        let shown = folder.path().display().to_string();
        (|| {
            let csv_path = folder.join(file::CSV);
            let text = read_lossy(&csv_path)?;
            let (table, keep) = Table::parse(&text, env_steps);
            let csv = cut(&csv_path, keep)?;

            let jsonl_path = folder.join(file::JSONL);
            let keep = match read_lossy(&jsonl_path) {
                Ok(text) => json_prefix(&text, env_steps),
                Err(error) if error.kind() == io::ErrorKind::NotFound => 0,
                Err(error) => return Err(error),
            };
            let jsonl = cut(&jsonl_path, keep)?;

            let events_path = folder.join(file::EVENTS);
            let events = match EventWriter::resume(&events_path, env_steps) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => EventWriter::create(&events_path, now())?,
                other => other?,
            };
            let log =
                Self { csv, jsonl, events, columns: table.columns.clone(), unsynced: true, folder: shown.clone() };
            Ok((log, table))
        })()
        .map_err(|error| cannot_write(&shown, &error))
    }

    /// Appends one row. The first row fixes the columns; a later row may lack some, never add one.
    ///
    /// # Errors
    /// [`Stop`] with code 1 if a file cannot be written or the row has an unknown column.
    pub fn append(&mut self, row: &[(String, f64)]) -> Result<(), Stop> {
        if self.columns.is_empty() {
            self.columns = row.iter().map(|(name, _)| name.clone()).collect();
            let header = self.columns.join(",") + "\n";
            self.csv.write_all(header.as_bytes()).map_err(|error| cannot_write(&self.folder, &error))?;
        }
        if let Some((name, _)) = row.iter().find(|(name, _)| !self.columns.contains(name)) {
            return Err(Stop::failure(format!(
                "metric {name} is not a column of {}/{} (columns are fixed by the first row)",
                self.folder,
                file::CSV
            )));
        }
        self.unsynced = true;
        self.write_row(row).map_err(|error| cannot_write(&self.folder, &error))
    }

    fn write_row(&mut self, row: &[(String, f64)]) -> io::Result<()> {
        let value_of = |column: &str| row.iter().find(|(name, _)| name == column).map_or(f64::NAN, |(_, value)| *value);
        let mut line = String::new();
        for (i, column) in self.columns.iter().enumerate() {
            if i > 0 {
                line.push(',');
            }
            line.push_str(&number(value_of(column)));
        }
        line.push('\n');
        self.csv.write_all(line.as_bytes())?;

        line.clear();
        let present = || row.iter().filter(|(_, value)| !value.is_nan());
        for (name, value) in present() {
            line.push(if line.is_empty() { '{' } else { ',' });
            // Names are ours, without quotes or control characters; JSON has no infinity.
            let text = if value.is_finite() { number(*value) } else { "null".into() };
            let _ = write!(line, "\"{name}\":{text}");
        }
        line.push_str("}\n");
        self.jsonl.write_all(line.as_bytes())?;

        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let step = value_of(ENV_STEPS) as u64;
        let scalars = present().map(|(name, value)| (name.as_str(), *value));
        self.events.scalars(step, now(), scalars)
    }

    /// Hands buffered rows to the operating system, so that readers see them and a killed process loses none.
    ///
    /// # Errors
    /// [`Stop`] with code 1 if a file cannot be written.
    pub fn flush(&mut self) -> Result<(), Stop> {
        self.csv
            .flush()
            .and_then(|()| self.jsonl.flush())
            .and_then(|()| self.events.flush())
            .map_err(|error| cannot_write(&self.folder, &error))
    }

    /// Waits until all rows are on disk. Call it before a snapshot is written: rows up to it then always exist.
    ///
    /// # Errors
    /// [`Stop`] with code 1 if a file cannot be written.
    pub fn sync(&mut self) -> Result<(), Stop> {
        self.flush()?;
        if !self.unsynced {
            return Ok(());
        }
        self.csv
            .get_ref()
            .sync_data()
            .and_then(|()| self.jsonl.get_ref().sync_data())
            .and_then(|()| self.events.sync())
            .map_err(|error| cannot_write(&self.folder, &error))?;
        self.unsynced = false;
        Ok(())
    }
}

/// A metrics CSV in memory.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// Column names.
    pub columns: Vec<String>,
    /// Rows, in file order; NaN where a cell is empty.
    pub rows: Vec<Vec<f64>>,
}

impl Table {
    /// Reads the complete rows of a metrics CSV.
    ///
    /// # Errors
    /// [`Stop`] with code 2 if the file is missing or has no [`ENV_STEPS`] column.
    pub fn read(path: &Path) -> Result<Self, Stop> {
        let bytes = crate::run_folder::read(path)?;
        let (table, _) = Self::parse(&String::from_utf8_lossy(&bytes), u64::MAX);
        if !bytes.is_empty() && table.column(ENV_STEPS).is_none() {
            return Err(Stop::user(format!(
                "{} is no metrics file of this program: it has no column {ENV_STEPS}",
                path.display()
            )));
        }
        Ok(table)
    }

    /// The values of one column, or `None` if there is no such column.
    #[must_use]
    pub fn column(&self, name: &str) -> Option<Vec<f64>> {
        let index = self.columns.iter().position(|c| c == name)?;
        Some(self.rows.iter().map(|row| row[index]).collect())
    }

    /// Parses complete rows up to the first that is damaged or newer than `env_steps`; also returns how many bytes
    /// they take.
    fn parse(text: &str, env_steps: u64) -> (Self, usize) {
        let mut table = Self::default();
        let mut keep = 0;
        let mut steps = None;
        for line in text.split_inclusive('\n') {
            let Some(cells) = line.strip_suffix('\n') else {
                break;
            };
            if keep == 0 {
                table.columns = cells.split(',').map(str::to_owned).collect();
                steps = table.columns.iter().position(|c| c == ENV_STEPS);
            } else {
                let row: Option<Vec<f64>> = cells
                    .split(',')
                    .map(|cell| if cell.is_empty() { Some(f64::NAN) } else { cell.parse().ok() })
                    .collect();
                let Some(row) = row.filter(|row| row.len() == table.columns.len()) else {
                    break;
                };
                #[allow(clippy::cast_precision_loss)] // exact below 2^53 steps
                if steps.is_none_or(|i| row[i].is_nan() || row[i] > env_steps as f64) {
                    break;
                }
                table.rows.push(row);
            }
            keep += line.len();
        }
        (table, keep)
    }
}

/// How many bytes of JSON lines are complete and not newer than `env_steps`.
fn json_prefix(text: &str, env_steps: u64) -> usize {
    let mut keep = 0;
    for line in text.split_inclusive('\n') {
        let steps = serde_json::from_str::<serde_json::Value>(line).ok().and_then(|row| row.get(ENV_STEPS)?.as_u64());
        if !line.ends_with('\n') || steps.is_none_or(|s| s > env_steps) {
            break;
        }
        keep += line.len();
    }
    keep
}

/// A value as text: integers plainly, values that came from an `f32` with its digits, others in full; NaN is empty.
#[must_use]
pub fn number(value: f64) -> String {
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

fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |elapsed| elapsed.as_secs_f64())
}

/// Reads a text file; bytes that are not UTF-8 (a block of zeros after a power cut is) only damage their own line.
fn read_lossy(path: &Path) -> io::Result<String> {
    let bytes = fs::read(path)?;
    Ok(match String::from_utf8(bytes) {
        Ok(text) => text,
        // Lossy conversion changes lengths, and lengths are offsets here: keep the sound prefix only.
        Err(error) => {
            let valid = error.utf8_error().valid_up_to();
            String::from_utf8_lossy(&error.as_bytes()[..valid]).into_owned()
        }
    })
}

fn cut(path: &Path, keep: usize) -> io::Result<BufWriter<File>> {
    let mut file = OpenOptions::new().create(true).write(true).truncate(false).open(path)?;
    file.set_len(keep as u64)?;
    file.seek(SeekFrom::End(0))?;
    Ok(BufWriter::new(file))
}

fn cannot_write(folder: &str, error: &io::Error) -> Stop {
    Stop::failure(format!("cannot write the metrics in {folder}: {error}")).hint(hint_for(error))
}

#[cfg(test)]
mod tests;
