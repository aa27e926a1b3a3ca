//! The rows of a run in memory, for whoever reads them and writes nothing.
//!
//! They are those of the record. Where a line of it is broken, or the CSV has others, they are the rows that a resume
//! would leave; without a record, those of the CSV.

use super::ENV_STEPS;
use super::columns::settle;
use super::history::Due;
use super::merge::{Merge, NAMES};
use super::rows::{Line, Lines, RowFormat, Rows, TextRow, columns_of, open};
use crate::files::cannot;
use crate::folder::file;
use crate::outcome::Stop;
use std::path::Path;
use std::{fs, io};

/// The rows of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// Column names.
    pub columns: Vec<String>,
    /// Rows, the first one first; NaN where there is no value.
    pub rows: Vec<Vec<f64>>,
    /// Sentences on what of the files counts for nothing.
    pub notes: Vec<String>,
}

impl Table {
    /// Reads the rows of the run in `folder`.
    pub fn read(folder: &Path) -> Result<Self, Stop> {
        let paths = NAMES.map(|name| folder.join(name));
        // What is neither a file nor has an end is refused before it is read.
        if let Some(path) = paths.iter().find(|path| fs::metadata(path).is_ok_and(|meta| !meta.is_file())) {
            return Err(Stop::user(format!("{} is no file", path.display())));
        }
        let [record, csv, _] = &paths;
        let holds = |path: &Path| fs::metadata(path).is_ok_and(|meta| meta.len() > 0);
        let path = if holds(record) { record } else { csv };
        let table = if holds(record) { Self::of_record(folder, csv) } else { Self::of_csv(csv) };
        let table = table.map_err(|error| cannot("read", path, &error))?;
        // An empty file is one of a run that has just begun.
        if holds(path) && table.column(ENV_STEPS).is_none() {
            return Err(Stop::user(format!(
                "{} is no metrics file of this program: it has no column {ENV_STEPS}",
                path.display()
            )));
        }
        Ok(table)
    }

    /// The values of one column, or `None` if there is no such column.
    pub fn column(&self, name: &str) -> Option<Vec<f64>> {
        let index = self.columns.iter().position(|c| c == name)?;
        Some(self.rows.iter().map(|row| row[index]).collect())
    }

    fn of_csv(path: &Path) -> io::Result<Self> {
        let mut table = Self { columns: columns_of(path)?, ..Self::default() };
        let columns = table.columns.clone();
        let mut rows = Rows::open(path, RowFormat::Csv(&columns), 0)?;
        for row in rows.by_ref() {
            table.push(&row?);
        }
        table.note(path, rows.damaged, "damaged lines, left out; a resume mends them");
        table.note(path, rows.infinite, "infinite values, left out");
        Ok(table)
    }

    fn of_record(folder: &Path, csv: &Path) -> io::Result<Self> {
        let header = columns_of(csv)?;
        if let Some(table) = Self::agreed(folder, csv, &header)? {
            return Ok(table);
        }
        let mut merge = Merge::new(folder, u64::MAX, settle(folder, &header, u64::MAX)?, Due::default());
        let found = merge.compare()?;
        let mut table = Self { columns: merge.columns.clone(), ..Self::default() };
        merge.each(&mut |merged| {
            table.push(merged.row);
            Ok(())
        })?;
        for (name, health) in NAMES[..2].iter().zip(found.health) {
            table.note(&folder.join(name), health.damaged, "damaged lines, left out; a resume mends them");
        }
        Ok(table)
    }

    /// The rows of the record, if that is sound and all of the CSV agrees with it, which may be shorter.
    fn agreed(folder: &Path, csv: &Path, header: &[String]) -> io::Result<Option<Self>> {
        let Some(csv) = open(csv, 0)? else { return Ok(None) };
        let mut csv = Lines::new(csv, 0);
        csv.next_line()?;
        let mut table = Self { columns: header.to_vec(), ..Self::default() };
        let mut rows = Rows::open(&folder.join(file::JSONL), RowFormat::Json, 0)?;
        let mut last = None;
        for row in rows.by_ref() {
            let row = row?;
            let is_same = match csv.next_line()? {
                Some(Line::Text(line)) => line == row.to_csv(header).trim_end(),
                Some(Line::Damaged) => false,
                Some(Line::Torn) | None => true,
            };
            if !is_same || last.replace(row.steps) >= Some(row.steps) || !table.push(&row) {
                return Ok(None);
            }
        }
        let has_more = matches!(csv.next_line()?, Some(Line::Text(_) | Line::Damaged));
        Ok((rows.damaged == 0 && !has_more).then_some(table))
    }

    /// Adds a row, and tells whether all of its names are columns.
    fn push(&mut self, row: &TextRow) -> bool {
        let mut values = vec![f64::NAN; self.columns.len()];
        let mut next = 0;
        for (name, text) in &row.cells {
            // Cells are in the order of columns.
            let mut places = (next..values.len()).chain(0..next);
            let Some(at) = places.find(|at| self.columns[*at] == *name) else { return false };
            values[at] = text.parse().unwrap_or(f64::NAN);
            next = at + 1;
        }
        self.rows.push(values);
        true
    }

    fn note(&mut self, path: &Path, count: u64, what: &str) {
        self.notes.extend((count > 0).then(|| format!("note: {} has {count} {what}", path.display())));
    }
}
