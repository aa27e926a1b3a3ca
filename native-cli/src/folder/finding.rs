//! Run folders by the folders that they lie in.

use super::{file, require_folder};
use crate::files::cannot;
use crate::outcome::Stop;
use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Folders in folders that are looked into, counted from the one that was named.
const DEEPEST: usize = 8;
/// The files whose rows are read: the record, and the CSV where that is missing.
const ROWS: [&str; 2] = [file::JSONL, file::CSV];
/// Files of a run that has begun: it has at least one of them.
const BEGUN: [&str; 3] = [file::LAST, file::JSONL, file::CSV];
/// Files of a run that was at least started: it has at least one of them.
const STARTED: [&str; 4] = [file::LAST, file::JSONL, file::CSV, file::LOCK];

/// The run folders that `path` stands for: itself, or those in it and in its folders, sorted by path.
pub(crate) fn find_runs(path: &Path) -> Result<Vec<PathBuf>, Stop> {
    find(path, &ROWS, DEEPEST)
}

/// The run folders that may hold a policy, as [`find_runs`]; those that lost their metrics are among them.
pub(crate) fn find_evaluable(path: &Path) -> Result<Vec<PathBuf>, Stop> {
    find(path, &BEGUN, DEEPEST)
}

/// The run folders that can be resumed: itself, or its direct children. What lies deeper was put away.
pub(crate) fn find_resumable(path: &Path) -> Result<Vec<PathBuf>, Stop> {
    find(path, &BEGUN, 1)
}

/// The run folders that were at least started: itself, or its direct children. Those that were killed before they had a
/// snapshot are among them.
pub(crate) fn find_started(path: &Path) -> Result<Vec<PathBuf>, Stop> {
    match holds(path, &BEGUN) {
        true => Ok(vec![path.to_owned()]),
        // A folder gets its lock before all else; where one has runs below it, these are meant.
        false => below(path, &STARTED, 1).or_else(|stop| match is_started(path) {
            true => Ok(vec![path.to_owned()]),
            false => Err(stop),
        }),
    }
}

/// Tells whether a run was at least started in this folder.
pub(crate) fn is_started(folder: &Path) -> bool {
    holds(folder, &STARTED)
}

/// Tells whether there are rows of a run in this folder, or there will be.
pub(crate) fn has_rows(folder: &Path) -> bool {
    holds(folder, &ROWS)
}

fn holds(folder: &Path, names: &[&str]) -> bool {
    names.iter().any(|name| folder.join(name).exists())
}

/// `path`, if it has a file of one of these names, or else the folders [`below`] it that do.
fn find(path: &Path, names: &[&str], depth: usize) -> Result<Vec<PathBuf>, Stop> {
    match holds(path, names) {
        true => Ok(vec![path.to_owned()]),
        false => below(path, names, depth),
    }
}

/// Folders with a file of one of these names below `path`, `depth` folders at most.
fn below(path: &Path, names: &[&str], depth: usize) -> Result<Vec<PathBuf>, Stop> {
    require_folder(path)?;
    let mut runs = Vec::new();
    // Links may lead back to where one has been.
    let mut seen: HashSet<PathBuf> = path.canonicalize().into_iter().collect();
    let mut folders = vec![(path.to_owned(), depth)];
    while let Some((folder, depth)) = folders.pop() {
        let entries = match fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(error) if folder == path => return Err(cannot("read", path, &error)),
            // One that may not be read holds no run of ours.
            Err(_) => continue,
        };
        for child in entries.filter_map(|entry| Some(entry.ok()?.path())) {
            if holds(&child, names) {
                runs.push(child);
            } else if depth > 1 && child.is_dir() && !is_hidden(&child) {
                let new = child.canonicalize().is_ok_and(|place| seen.insert(place));
                folders.extend(new.then_some((child, depth - 1)));
            }
        }
    }
    runs.sort();
    if runs.is_empty() {
        return Err(Stop::user(format!("{} holds no run ({})", path.display(), ROWS.join(", ")))
            .hint("expected a run folder made by `quickstudy train`, or a folder of them"));
    }
    Ok(runs)
}

fn is_hidden(folder: &Path) -> bool {
    folder.file_name().is_some_and(|name| name.as_encoded_bytes().first() == Some(&b'.'))
}
