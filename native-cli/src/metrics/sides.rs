//! One metrics file each, read row by row up to a snapshot, with what is wrong with it.

use super::rows::{Line, Lines, TextRow};
use crate::metrics::tfevents::{self, Records};
use std::fs::File;
use std::io::{self, BufReader};

/// The state of one file.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Health {
    /// Lines or records that are none.
    pub damaged: u64,
    /// Lines among them that have a name that is no column.
    pub foreign: u64,
    /// Rows that it should have.
    pub missing: u64,
    /// Rows that it has otherwise than the file that is believed.
    pub wrong: u64,
    /// The offset before the first row that was looked at.
    pub from: u64,
    /// The offset after its last row.
    pub end: u64,
    pub exists: bool,
}

impl Health {
    pub(super) fn whole(self) -> bool {
        self.exists && self.damaged + self.missing + self.wrong == 0
    }
}

/// A text file: the CSV or the JSON lines.
pub(super) struct Texts<'a> {
    lines: Option<Lines<BufReader<File>>>,
    columns: &'a [String],
    is_csv: bool,
    limit: u64,
    last: Option<u64>,
    /// The next row that is sound and not newer than the snapshot.
    pub next: Option<TextRow>,
    /// Damaged lines since the last row that both texts have.
    pub pending: u64,
    pub health: Health,
}

impl<'a> Texts<'a> {
    pub(super) fn new(
        reader: Option<BufReader<File>>,
        at: u64,
        (columns, is_csv): (&'a [String], bool),
        limit: u64,
    ) -> io::Result<Self> {
        let exists = reader.is_some();
        let mut lines = reader.map(|reader| Lines::new(reader, at));
        let mut health = Health { exists, from: at, end: at, ..Health::default() };
        if let (Some(lines), true, 0) = (&mut lines, is_csv, at) {
            lines.next_line()?;
            health.end = lines.at();
        }
        let mut side = Self { lines, columns, is_csv, limit, last: None, next: None, pending: 0, health };
        side.read()?;
        Ok(side)
    }

    pub(super) fn steps(&self) -> Option<u64> {
        self.next.as_ref().map(|row| row.steps)
    }

    /// Goes on to the next row.
    pub(super) fn advance(&mut self) -> io::Result<()> {
        if self.next.take().is_some() {
            self.health.end = self.lines.as_ref().map_or(0, Lines::at);
            self.read()?;
        }
        Ok(())
    }

    /// Leaves out rows before `steps`; what is wrong among them does not count.
    pub(super) fn skip_to(&mut self, steps: u64) -> io::Result<()> {
        while self.steps().is_some_and(|at| at < steps) {
            self.advance()?;
        }
        self.health.from = self.health.end;
        (self.health.damaged, self.health.foreign, self.pending) = (0, 0, 0);
        Ok(())
    }

    fn read(&mut self) -> io::Result<()> {
        let Some(lines) = &mut self.lines else { return Ok(()) };
        while let Some(line) = lines.next_line()? {
            let row = match line {
                Line::Torn => break,
                Line::Damaged => None,
                Line::Text(text) if self.is_csv => TextRow::from_csv(text, self.columns),
                Line::Text(text) => TextRow::from_json(text),
            };
            let foreign =
                row.as_ref().is_some_and(|row| row.cells.iter().any(|(name, _)| !self.columns.contains(name)));
            self.health.foreign += u64::from(foreign);
            let row = row.filter(|_| !foreign);
            match row.filter(|row| self.last.is_none_or(|last| row.steps > last)) {
                Some(row) if row.steps > self.limit => break,
                Some(row) => {
                    self.last = Some(row.steps);
                    self.next = Some(row);
                    return Ok(());
                }
                None => {
                    self.health.damaged += 1;
                    self.pending += 1;
                }
            }
        }
        self.lines = None;
        Ok(())
    }
}

/// The events.
pub(super) struct Events {
    records: Option<Records<BufReader<File>>>,
    limit: u64,
    last: u64,
    /// The next event with its steps.
    pub next: Option<(u64, Vec<u8>)>,
    pub health: Health,
}

impl Events {
    pub(super) fn new(reader: Option<BufReader<File>>, at: u64, limit: u64) -> io::Result<Self> {
        let exists = reader.is_some();
        let health = Health { exists, from: at, end: at, ..Health::default() };
        let records = reader.map(|reader| Records::new(reader, at));
        let mut side = Self { records, limit, last: 0, next: None, health };
        side.advance()?;
        // What begins the file is no row.
        side.skip_to(1)?;
        Ok(side)
    }

    pub(super) fn steps(&self) -> Option<u64> {
        self.next.as_ref().map(|(steps, _)| *steps)
    }

    /// Tells whether everything read is sound and there is more.
    pub(super) fn sound(&self) -> bool {
        self.health.damaged == 0 && self.next.is_some()
    }

    pub(super) fn advance(&mut self) -> io::Result<()> {
        let Some(records) = &mut self.records else {
            self.next = None;
            return Ok(());
        };
        if self.next.take().is_some() {
            self.health.end = records.at();
        }
        if let Some(event) = records.next_event()? {
            match tfevents::step_of(&event).filter(|steps| *steps == 0 || *steps > self.last) {
                Some(steps) if steps <= self.limit => {
                    self.last = steps;
                    self.next = Some((steps, event));
                }
                Some(_) => {}
                None => self.health.damaged += 1,
            }
        }
        self.health.damaged += u64::from(records.damaged());
        if self.next.is_none() {
            self.records = None;
        }
        Ok(())
    }

    pub(super) fn skip_to(&mut self, steps: u64) -> io::Result<()> {
        while self.steps().is_some_and(|at| at < steps) {
            self.advance()?;
        }
        self.health.from = self.health.end;
        Ok(())
    }
}
