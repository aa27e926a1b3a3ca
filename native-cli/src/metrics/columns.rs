//! The columns of the CSV: what its first line names, held against what the other files name.
//!
//! A name that is in one file alone is a damaged name as a rule. The first line is believed where it has only names
//! that this program gives and fits the rows below it; the events, which have checksums, are believed against it.

use super::ENV_STEPS;
use super::rows::{Line, Lines, TextRow, is_name};
use crate::metrics::tfevents::{self, Records};
use crate::settings::register;
use quickstudy_core::closest;
use quickstudy_core::meta::AVERAGE;
use std::fs::File;
use std::io::{self, BufReader};

/// Longest text that may be a damaged name.
const LONGEST: usize = 64;
/// Most names that are looked at; runs have some dozens.
const MOST: usize = 1000;

/// The first line of the CSV.
#[derive(Clone, Debug, Default)]
pub(super) struct Header {
    cells: Vec<String>,
}

impl Header {
    pub(super) fn read(reader: Option<BufReader<File>>) -> io::Result<Self> {
        let Some(reader) = reader else { return Ok(Self::default()) };
        let mut lines = Lines::new(reader, 0);
        let Some(Line::Text(line)) = lines.next_line()? else { return Ok(Self::default()) };
        Ok(Self { cells: line.split(',').map(str::to_owned).collect() })
    }

    /// The columns that it names, if it can be a first line.
    pub(super) fn columns(&self) -> Vec<String> {
        if can_be(&self.cells) { self.cells.clone() } else { Vec::new() }
    }

    /// Tells whether it names nothing but what this program names.
    pub(super) fn is_known(&self) -> bool {
        can_be(&self.cells) && self.cells.iter().all(|name| is_known(name))
    }

    /// The line with its unknown names replaced by near ones, those of `seen` first. Names of `seen` stay as they are.
    fn mended(&self, seen: &[NameCount]) -> Vec<String> {
        if self.cells.len() > MOST {
            return Vec::new();
        }
        let mut columns = self.cells.clone();
        let is_sound = |name: &str| is_known(name) || seen.iter().any(|one| one.name == name);
        if 2 * columns.iter().filter(|name| is_sound(name)).count() < columns.len() {
            return if seen.is_empty() { self.columns() } else { Vec::new() };
        }
        for at in 0..columns.len() {
            let name = columns[at].as_str();
            if is_sound(name) || name.len() > LONGEST {
                continue;
            }
            let free = |other: &&str| !columns.iter().any(|name| name == other);
            let of_rows = closest(name, seen.iter().map(|one| one.name.as_str()).filter(free));
            let near = of_rows.or_else(|| closest(name, register::metrics().map(|(name, _)| name).filter(free)));
            if let Some(near) = near.map(str::to_owned) {
                columns[at] = near;
            }
        }
        if can_be(&columns) { columns } else { Vec::new() }
    }
}

fn can_be(names: &[String]) -> bool {
    let unique = |(i, name): (usize, &String)| is_name(name) && !names[..i].contains(name);
    names.len() <= MOST && names.iter().any(|name| name == ENV_STEPS) && names.iter().enumerate().all(unique)
}

fn is_known(name: &str) -> bool {
    let step = |name: &str| name.strip_prefix("meta/step_")?.strip_suffix("_return")?.parse::<u32>().ok();
    // A class of tasks has measures of its own, by the names of the average.
    let of_class = |name: &str| {
        let (_, measure) = name.strip_prefix("MetaTest/")?.split_once('/')?;
        let average = format!("MetaTest/{AVERAGE}/{measure}");
        register::metrics().any(|(known, _)| known == average).then_some(())
    };
    register::metrics().any(|(known, _)| known == name) || step(name).is_some() || of_class(name).is_some()
}

/// A name, and how many rows have it.
#[derive(Debug)]
struct NameCount {
    name: String,
    json: u64,
    events: u64,
}

/// Names in the rows of the JSON lines and the events, in the order of the columns.
#[derive(Debug, Default)]
struct Names {
    seen: Vec<NameCount>,
    /// Rows of the JSON lines.
    rows: u64,
}

impl Names {
    fn add(&mut self, row: &TextRow, is_event: bool) {
        self.rows += u64::from(!is_event);
        let mut at = 0;
        for (name, _) in &row.cells {
            let found = self.seen.iter().position(|one| one.name == *name);
            if found.is_none() {
                if self.seen.len() == MOST {
                    continue;
                }
                self.seen.insert(at, NameCount { name: name.clone(), json: 0, events: 0 });
            }
            let found = found.unwrap_or(at);
            let one = &mut self.seen[found];
            (one.json, one.events) = (one.json + u64::from(!is_event), one.events + u64::from(is_event));
            at = found + 1;
        }
    }
}

/// The columns that the rows of all files speak for; none if nothing tells. The readers stand at the first row that is
/// looked at.
pub(super) fn settle(header: &Header, [csv, json, events]: [Option<BufReader<File>>; 3]) -> io::Result<Vec<String>> {
    let mut names = Names::default();
    let mut lines = json.map(|reader| Lines::new(reader, 0));
    while let Some(line) = lines.as_mut().map(Lines::next_line).transpose()?.flatten() {
        if let Line::Text(text) = line
            && let Some(row) = TextRow::from_json(text)
        {
            names.add(&row, false);
        }
    }
    let mut records = events.map(|reader| Records::new(reader, 0));
    while let Some(event) = records.as_mut().map(Records::next_event).transpose()?.flatten() {
        if let Some(row) = tfevents::row_of(&event) {
            names.add(&row, true);
        }
    }
    // A name in most rows is none that damage made.
    let often: Vec<NameCount> = names
        .seen
        .into_iter()
        .filter(|one| one.events > 0 || 2 * one.json > names.rows || is_known(&one.name))
        .collect();
    let mut columns = header.mended(&often);
    let mut fits = false;
    let mut lines = csv.map(|reader| Lines::new(reader, 0));
    while let Some(line) = lines.as_mut().map(Lines::next_line).transpose()?.flatten() {
        fits |= matches!(line, Line::Text(text) if TextRow::from_csv(text, &columns).is_some());
    }
    if !fits && !often.is_empty() {
        // Where it fits no row, nothing speaks for a name that nobody else has.
        columns.retain(|name| is_known(name) || often.iter().any(|one| one.name == *name));
    }
    let believed = fits && columns.iter().all(|name| is_known(name));
    let own = |one: &&NameCount| one.events > 0 || !believed || columns.contains(&one.name);
    let new: Vec<String> = often.iter().filter(own).map(|one| one.name.clone()).collect();
    add(&mut columns, &new);
    Ok(columns)
}

/// Adds the names that are no columns yet, each after its neighbour.
pub(super) fn add(columns: &mut Vec<String>, names: &[String]) {
    let mut at = 0;
    for name in names {
        let found = columns.iter().position(|column| column == name);
        if found.is_none() {
            columns.insert(at, name.clone());
        }
        at = found.unwrap_or(at) + 1;
    }
}
