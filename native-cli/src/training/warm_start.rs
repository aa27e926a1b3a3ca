//! Runs that begin with the parameters of other runs: `train --from`.

use crate::files::reading;
use crate::folder;
use crate::outcome::Stop;
use crate::settings::register;
use quickstudy_core::Error;
use quickstudy_core::train::Session;
use std::path::{Path, PathBuf};

/// Gives a fresh session the parameters of these snapshots, run folders and folders of runs; nothing, if there are
/// none. Where several are found, it returns for each seed the run or snapshot that it begins with.
pub(crate) fn begin_with(session: &mut Session, from: &[PathBuf]) -> Result<Vec<PathBuf>, Stop> {
    if from.is_empty() {
        return Ok(Vec::new());
    }
    let mut sources = Vec::new();
    for path in from {
        sources.extend(sources_of(path)?);
    }
    let paths = sources.iter().map(|path| snapshot_of(path)).collect::<Result<Vec<_>, _>>()?;
    let files = paths.iter().map(|path| reading::read(path)).collect::<Result<Vec<_>, _>>()?;
    let bytes: Vec<&[u8]> = files.iter().map(Vec::as_slice).collect();
    let error = match session.start_from(register::own(), &bytes) {
        Ok(_) if sources.len() == 1 => return Ok(Vec::new()),
        Ok(of_seeds) => return Ok(of_seeds.into_iter().filter_map(|number| sources.get(number).cloned()).collect()),
        Err(error) => error,
    };
    if !matches!(error, Error::Snapshot(_)) {
        return Err(error.into());
    }
    let wrong = |one: &&[u8]| session.start_from(register::own(), &[one]).is_err();
    let wrong = bytes.iter().position(wrong).and_then(|number| paths.get(number));
    let path = wrong.map(|path| format!("{}: ", path.display())).unwrap_or_default();
    let stop = Stop::from(error);
    Err(Stop { message: format!("{path}{}", stop.message), ..stop }
        .hint("--from takes runs with the same networks; the config.toml of a run has its settings"))
}

/// The snapshots and runs that a path stands for: itself, or the runs in a folder.
fn sources_of(path: &Path) -> Result<Vec<PathBuf>, Stop> {
    if path.is_file() { Ok(vec![path.to_owned()]) } else { folder::find_resumable(path) }
}

/// The file of a snapshot, or the last one of a run.
fn snapshot_of(path: &Path) -> Result<PathBuf, Stop> {
    if path.is_file() { Ok(path.to_owned()) } else { folder::policy(path, true, false) }
}
