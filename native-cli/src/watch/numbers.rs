//! The numbers of a run, as they are written: rows of its metrics since the last look.

use crate::folder::file;
use crate::metrics::history::{ITERATIONS, Points};
use crate::metrics::names::axis_title;
use crate::metrics::rows::{RowFormat, Rows};
use crate::metrics::{ENV_STEPS, Table};
use serde_json::{Map, Value, json};
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

/// Columns at most; those of runs are some dozens.
const COLUMNS: usize = 200;

/// All columns of a run's metrics in bounded memory.
///
/// It holds no file open and takes no lock. The first look reads all rows; later ones open the record, read what is new
/// of it, and leave a last line that is half written for the next one.
#[derive(Debug)]
pub(super) struct Numbers {
    folder: PathBuf,
    /// Offset behind the last whole line of the record.
    at: u64,
    /// Bytes of the record and of the CSV when all rows were read.
    sizes: [u64; 2],
    /// Counts how often the rows were read anew, as after a resume that cuts some.
    epoch: u64,
    steps: u64,
    columns: Vec<(String, Points)>,
    /// Numbers of the last row.
    last: Map<String, Value>,
}

impl Numbers {
    /// Begins at the first row of the run in this folder.
    pub(super) fn new(folder: &Path) -> Self {
        let (columns, last) = Default::default();
        Self { folder: folder.to_owned(), at: 0, sizes: [0; 2], epoch: 0, steps: 0, columns, last }
    }

    /// Environment steps of the last row.
    pub(super) fn steps(&self) -> u64 {
        self.steps
    }

    /// Iterations of the last row.
    pub(super) fn iterations(&self) -> u64 {
        self.last.get(ITERATIONS).and_then(Value::as_f64).unwrap_or(0.0) as u64
    }

    /// Reads rows that are new.
    pub(super) fn look(&mut self) -> io::Result<()> {
        // What has no end, such as a pipe, is no file of a run.
        let size = |name: &str| {
            let meta = std::fs::metadata(self.folder.join(name)).ok().filter(std::fs::Metadata::is_file);
            meta.map_or(0, |meta| meta.len())
        };
        let sizes = [file::JSONL, file::CSV].map(size);
        let is_new = match self.at {
            0 => sizes != self.sizes,
            at => sizes[0] < at || !self.ends_a_line()?,
        };
        // Where rows go back in steps, those before were cut, and others written since.
        if is_new || (self.at > 0 && sizes[0] > self.at && !self.add()?) {
            self.begin(sizes)?;
        }
        Ok(())
    }

    /// Reads all rows.
    fn begin(&mut self, sizes: [u64; 2]) -> io::Result<()> {
        self.epoch += u64::from(self.steps > 0);
        (self.at, self.steps, self.sizes) = (0, 0, sizes);
        self.columns.clear();
        self.last.clear();
        let table = Table::read(&self.folder).unwrap_or_default();
        let steps = table.column(ENV_STEPS).unwrap_or_default();
        for (row, steps) in table.rows.iter().zip(steps) {
            self.push(steps as u64, table.columns.iter().map(String::as_str).zip(row.iter().copied()));
        }
        self.add().map(|_| ())
    }

    /// Tells whether the last line that was read still ends where it did.
    fn ends_a_line(&self) -> io::Result<bool> {
        let mut file = File::open(self.folder.join(file::JSONL))?;
        file.seek(SeekFrom::Start(self.at - 1))?;
        let mut byte = [0];
        Ok(file.read(&mut byte)? == 1 && byte == *b"\n")
    }

    /// Adds the rows of the record behind those read; false if one of them is no later one.
    fn add(&mut self) -> io::Result<bool> {
        let mut rows = Rows::open(&self.folder.join(file::JSONL), RowFormat::Json, self.at)?;
        while let Some(row) = rows.next().transpose()? {
            if row.steps > self.steps {
                self.push(row.steps, row.cells.iter().map(|(name, _)| (name.as_str(), row.value(name))));
            } else if self.at > 0 {
                return Ok(false);
            }
        }
        self.at = rows.at;
        Ok(true)
    }

    fn push<'a>(&mut self, steps: u64, values: impl Iterator<Item = (&'a str, f64)>) {
        self.steps = steps;
        self.last.clear();
        for (name, value) in values.filter(|(_, value)| value.is_finite()) {
            self.last.insert(name.to_owned(), json!(value));
            if name == ENV_STEPS {
                continue;
            }
            let place = self.columns.iter().position(|(known, _)| known == name).unwrap_or(self.columns.len());
            if place == self.columns.len() && place < COLUMNS {
                self.columns.push((name.to_owned(), Points::default()));
            }
            if let Some((_, points)) = self.columns.get_mut(place) {
                points.push(steps, value);
            }
        }
    }

    /// The points after `since` steps, as JSON; all of them for a reader of another epoch.
    pub(super) fn json(&self, since: u64, epoch: u64) -> Value {
        let since = if epoch == self.epoch { since } else { 0 };
        let points = |points: &Points| -> Vec<Value> {
            points.curve().into_iter().filter(|(x, _)| *x > since as f64).map(|(x, y)| json!([x, y])).collect()
        };
        let column =
            |(name, all): &(String, Points)| json!({"name": name, "title": axis_title(name), "points": points(all)});
        let columns: Vec<Value> = self.columns.iter().map(column).collect();
        json!({"epoch": self.epoch, "steps": self.steps, "columns": columns, "last": self.last})
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folder::tests::scratch;
    use std::fs::{self, OpenOptions};
    use std::io::Write as _;

    fn row(steps: u64, value: f64) -> String {
        format!("{{\"time/env_steps\":{steps},\"eval/return_mean\":{value},\"time/sps\":7}}\n")
    }

    fn append(folder: &Path, text: &str) {
        let mut file = OpenOptions::new().append(true).create(true).open(folder.join(file::JSONL)).unwrap();
        file.write_all(text.as_bytes()).unwrap();
    }

    fn points(numbers: &Numbers, since: u64, epoch: u64) -> Value {
        let json = numbers.json(since, epoch);
        let columns = json["columns"].as_array().unwrap();
        columns
            .iter()
            .find(|column| column["name"] == "eval/return_mean")
            .map_or(json!([]), |one| one["points"].clone())
    }

    #[test]
    fn rows_are_added_as_they_are_written() {
        let dir = scratch("watch-numbers");
        let mut numbers = Numbers::new(&dir);
        numbers.look().unwrap();
        assert_eq!((numbers.steps(), points(&numbers, 0, 0)), (0, json!([])));
        append(&dir, &(row(100, 1.5) + &row(200, 2.5)));
        numbers.look().unwrap();
        assert_eq!(points(&numbers, 0, 0), json!([[100.0, 1.5], [200.0, 2.5]]));
        // A row that is half written, and damage, are no rows.
        let (begun, rest) = (row(300, 3.5), row(400, 4.5));
        append(&dir, &(String::from("no row\n") + &begun[..20]));
        numbers.look().unwrap();
        assert_eq!(numbers.steps(), 200);
        append(&dir, &(begun[20..].to_owned() + &rest));
        numbers.look().unwrap();
        assert_eq!(
            (points(&numbers, 200, 0), points(&numbers, 400, 0)),
            (json!([[300.0, 3.5], [400.0, 4.5]]), json!([]))
        );
        assert_eq!(numbers.json(0, 0)["last"]["time/sps"], 7.0);
    }

    #[test]
    fn rows_that_were_cut_are_forgotten() {
        let dir = scratch("watch-cut");
        let mut numbers = Numbers::new(&dir);
        append(&dir, &(row(100, 1.0) + &row(200, 2.0) + &row(300, 3.0)));
        numbers.look().unwrap();
        fs::write(dir.join(file::JSONL), row(100, 1.0)).unwrap();
        numbers.look().unwrap();
        // A reader of the epoch before gets all.
        assert_eq!(points(&numbers, 300, 0), json!([[100.0, 1.0]]));
        append(&dir, &(row(200, 7.0) + &row(300, 8.0)));
        numbers.look().unwrap();
        // Cut and written on between two looks.
        fs::write(dir.join(file::JSONL), row(100, 1.0) + &row(150, 9.0) + &row(180, 9.5) + &row(190, 9.75)).unwrap();
        numbers.look().unwrap();
        assert_eq!((numbers.epoch, numbers.steps()), (2, 190));
        assert_eq!(points(&numbers, 300, 1).as_array().unwrap().len(), 4);
        // The same with lines that end where those before did.
        fs::write(dir.join(file::JSONL), row(100, 1.0) + &row(110, 9.0) + &row(120, 9.5) + &row(130, 9.75)).unwrap();
        append(&dir, &row(140, 5.0));
        numbers.look().unwrap();
        assert_eq!((numbers.epoch, numbers.steps(), points(&numbers, 130, 3)), (3, 140, json!([[140.0, 5.0]])));
        // Without a record, the CSV; with neither, none.
        fs::remove_file(dir.join(file::JSONL)).unwrap();
        let csv = "time/env_steps,eval/return_mean,time/iterations\n100,1,1\n";
        for (text, seen) in [(csv, (100, 1, json!([[100.0, 1.0]]))), ("", (0, 0, json!([])))] {
            fs::write(dir.join(file::CSV), text).unwrap();
            numbers.look().unwrap();
            assert_eq!((numbers.steps(), numbers.iterations(), points(&numbers, 0, 9)), seen);
        }
    }
}
