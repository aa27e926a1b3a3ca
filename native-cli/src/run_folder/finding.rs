//! The run folders that a path stands for: itself, or those directly below it.

use super::{cannot, file, require_folder};
use crate::outcome::Stop;
use std::fs;
use std::path::{Path, PathBuf};

/// The run folders that `path` stands for: itself, or its direct children that hold metrics, sorted by name.
///
/// # Errors
/// [`Stop`] with code 2 if it is missing or holds no run.
pub fn find_runs(path: &Path) -> Result<Vec<PathBuf>, Stop> {
    match holds(path, &[file::CSV]) {
        true => Ok(vec![path.to_owned()]),
        false => below(path, &[file::CSV]),
    }
}

/// The run folders that can be resumed, as [`find_runs`]; those that lost their metrics are among them.
///
/// # Errors
/// As [`find_runs`].
pub fn find_resumable(path: &Path) -> Result<Vec<PathBuf>, Stop> {
    const NAMES: [&str; 2] = [file::LAST, file::CSV];
    match holds(path, &NAMES) {
        true => Ok(vec![path.to_owned()]),
        false => below(path, &NAMES),
    }
}

/// The run folders that were at least started, as [`find_runs`]: those that were killed before they had a snapshot are among them.
///
/// # Errors
/// As [`find_runs`].
pub fn find_started(path: &Path) -> Result<Vec<PathBuf>, Stop> {
    match holds(path, &[file::LAST, file::CSV]) {
        true => Ok(vec![path.to_owned()]),
        // A folder gets its lock before all else.
        false => below(path, &[file::LAST, file::CSV, file::LOCK]).or_else(|stop| match is_started(path) {
            true => Ok(vec![path.to_owned()]),
            false => Err(stop),
        }),
    }
}

/// Tells whether a run was at least started in this folder.
#[must_use]
pub fn is_started(folder: &Path) -> bool {
    holds(folder, &[file::LAST, file::CSV, file::LOCK])
}

fn holds(folder: &Path, names: &[&str]) -> bool {
    names.iter().any(|name| folder.join(name).exists())
}

/// The folders directly below with a file of one of these names.
fn below(path: &Path, names: &[&str]) -> Result<Vec<PathBuf>, Stop> {
    require_folder(path)?;
    let mut runs: Vec<PathBuf> = fs::read_dir(path)
        .map_err(|error| cannot("read", path, &error))?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|child| holds(child, names))
        .collect();
    runs.sort();
    if runs.is_empty() {
        return Err(Stop::user(format!("{} holds no run ({})", path.display(), file::CSV))
            .hint("expected a run folder made by `quickstudy train`, or a folder of them"));
    }
    Ok(runs)
}
