//! The runs in folders, however these are named, each once.

use super::{Run, unique};
use crate::folder::{file, find_runs};
use crate::metrics::Table;
use crate::outcome::Stop;
use std::collections::HashSet;
use std::path::PathBuf;

/// Reads all runs in these folders, as [`Run::read`] and [`unique`], and returns them with notes.
pub(crate) fn collect(folders: &[PathBuf], over: &str, metrics: &[String]) -> Result<(Vec<Run>, Vec<String>), Stop> {
    let mut found = Vec::new();
    let mut seen = HashSet::new();
    for folder in folders {
        // However a folder is named, it is there once.
        let new = |found: &PathBuf| seen.insert(found.canonicalize().unwrap_or_else(|_| found.clone()));
        found.extend(find_runs(folder)?.into_iter().filter(new));
    }
    let runs = found.iter().map(|folder| Run::read(folder, over, metrics)).collect::<Result<Vec<_>, _>>()?;
    unique(runs, &|folder| Table::read(&folder.join(file::CSV)))
}
