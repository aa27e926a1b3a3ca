//! The columns of the CSV: what its first line names, and what rows of the other files name besides.
//!
//! A name that a single row has is a damaged name as a rule. The first line is believed where it has only names that
//! this program gives and fits the rows below it; the events, which have checksums, are believed against it.

use super::ENV_STEPS;
use super::rows::{RowFormat, Rows, is_name};
use crate::folder::file;
use crate::settings::register;
use quickstudy_core::closest;
use quickstudy_core::meta::AVERAGE;
use std::collections::{HashMap, HashSet};
use std::io;
use std::path::Path;

/// Longest text that may be a damaged name.
const LONGEST: usize = 64;
/// Most names that are looked at; runs have some dozens.
const MOST: usize = 1000;

/// The columns of the CSV in `folder`, of which `header` is the first line; none if nothing tells. Of each file the
/// last `tail` bytes are looked at.
pub(super) fn settle(folder: &Path, header: &[String], tail: u64) -> io::Result<Vec<String>> {
    let (mut names, mut in_events, mut in_rows, mut rows) = (Vec::new(), HashSet::new(), HashMap::new(), 0_u64);
    for (name, format) in [(file::JSONL, RowFormat::Json), (file::EVENTS, RowFormat::Events)] {
        for row in Rows::tail(&folder.join(name), format, tail)? {
            let row = row?.cells.into_iter().map(|(name, _)| name).collect::<Vec<_>>();
            rows += u64::from(name == file::JSONL);
            if names.len() < MOST {
                add(&mut names, &row);
            }
            for column in row.into_iter().filter(|column| names.contains(column)) {
                match name {
                    file::JSONL => *in_rows.entry(column).or_insert(0) += 1,
                    _ => drop(in_events.insert(column)),
                }
            }
        }
    }
    // A name in most rows is none that damage made.
    let most = |name: &String| in_rows.get(name).is_some_and(|count| 2 * count > rows);
    names.retain(|name| most(name) || in_events.contains(name) || is_known(name));
    let mut columns = repaired(header, &names);
    let fits = Rows::tail(&folder.join(file::CSV), RowFormat::Csv(&columns), tail)?.next().transpose()?.is_some();
    if !fits && !names.is_empty() {
        // Where it fits no row, nothing speaks for a name that nobody else has.
        columns.retain(|name| is_known(name) || names.contains(name));
    }
    let believed = fits && columns.iter().all(|name| is_known(name));
    names.retain(|name| !believed || in_events.contains(name) || is_known(name));
    add(&mut columns, &names);
    Ok(columns)
}

/// The first line with its unknown names replaced by near ones, those of rows first. Names of rows stay as they are.
/// None if it can be no first line.
fn repaired(header: &[String], of_rows: &[String]) -> Vec<String> {
    if header.len() > MOST {
        return Vec::new();
    }
    let mut columns = header.to_vec();
    let is_sound = |name: &str| is_known(name) || of_rows.iter().any(|one| one == name);
    let few = 2 * columns.iter().filter(|name| is_sound(name)).count() < columns.len();
    if few && !of_rows.is_empty() {
        return Vec::new();
    }
    for at in (0..columns.len()).filter(|_| !few) {
        let name = columns[at].as_str();
        if is_sound(name) || name.len() > LONGEST {
            continue;
        }
        let free = |other: &&str| !columns.iter().any(|name| name == other);
        let near = closest(name, of_rows.iter().map(String::as_str).filter(free));
        let near = near.or_else(|| closest(name, register::metrics().map(|(name, _)| name).filter(free)));
        if let Some(near) = near.map(str::to_owned) {
            columns[at] = near;
        }
    }
    let unique = |(at, name): (usize, &String)| is_name(name) && !columns[..at].contains(name);
    let is_header = columns.iter().any(|name| name == ENV_STEPS) && columns.iter().enumerate().all(unique);
    if is_header { columns } else { Vec::new() }
}

/// Tells whether this program gives such a name.
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
