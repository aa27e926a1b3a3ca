//! Runs that begin with the parameters of other runs: `train --from`.

use crate::known;
use crate::outcome::Stop;
use crate::run_folder;
use quickstudy_core::Error;
use quickstudy_core::train::Session;
use std::path::{Path, PathBuf};

/// Gives a fresh session the parameters of these snapshots, run folders and folders of runs; nothing, if there are none. Returns the source of
/// each seed where there are several.
///
/// # Errors
/// [`Stop`] with code 2 if one of them cannot be read, or its networks are others.
pub fn begin_with(session: &mut Session, from: &[PathBuf]) -> Result<Vec<PathBuf>, Stop> {
    if from.is_empty() {
        return Ok(Vec::new());
    }
    let mut paths = Vec::new();
    for path in from {
        paths.extend(runs_of(path)?);
    }
    let read = |path: &PathBuf| run_folder::policy(path, true, false).and_then(|file| run_folder::read(&file));
    let files = paths.iter().map(read).collect::<Result<Vec<_>, _>>()?;
    let bytes: Vec<&[u8]> = files.iter().map(Vec::as_slice).collect();
    let error = match session.start_from(known::own(), &bytes) {
        Ok(sources) if paths.len() > 1 => return Ok(sources.into_iter().map(|source| paths[source].clone()).collect()),
        Ok(_) => return Ok(Vec::new()),
        Err(error) => error,
    };
    if !matches!(error, Error::Snapshot(_)) {
        return Err(error.into());
    }
    let wrong = |one: &&[u8]| session.start_from(known::own(), &[one]).is_err();
    let wrong = bytes.iter().position(wrong).and_then(|number| paths.get(number));
    let file = wrong.and_then(|path| run_folder::policy(path, true, false).ok());
    let path = file.map(|path| format!("{}: ", path.display())).unwrap_or_default();
    let stop = Stop::from(error);
    Err(Stop { message: format!("{path}{}", stop.message), ..stop }
        .hint("--from takes runs with the same networks; the config.toml of a run has its settings"))
}

/// The sources that a path stands for: itself, a snapshot or a run, or the runs in a folder.
fn runs_of(path: &Path) -> Result<Vec<PathBuf>, Stop> {
    if path.is_file() {
        return Ok(vec![path.to_owned()]);
    }
    run_folder::find_resumable(path)
}
