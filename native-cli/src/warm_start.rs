//! Runs that begin with the parameters of other runs: `train --from`.

use crate::known;
use crate::outcome::Stop;
use crate::run_folder;
use quickstudy_core::Error;
use quickstudy_core::train::Session;
use std::path::{Path, PathBuf};

/// Gives a fresh session the parameters of these snapshots, run folders and folders of runs; nothing, if there are none.
///
/// # Errors
/// [`Stop`] with code 2 if one of them cannot be read, or its networks are others.
pub fn begin_with(session: &mut Session, from: &[PathBuf]) -> Result<(), Stop> {
    if from.is_empty() {
        return Ok(());
    }
    let mut paths = Vec::new();
    for path in from {
        paths.extend(snapshots_of(path)?);
    }
    let files = paths.iter().map(|path| run_folder::read(path)).collect::<Result<Vec<_>, _>>()?;
    let bytes: Vec<&[u8]> = files.iter().map(Vec::as_slice).collect();
    let Err(error) = session.start_from(known::own(), &bytes) else { return Ok(()) };
    if !matches!(error, Error::Snapshot(_)) {
        return Err(error.into());
    }
    let wrong = |one: &&[u8]| session.start_from(known::own(), &[one]).is_err();
    let wrong = bytes.iter().position(wrong).and_then(|number| paths.get(number));
    let path = wrong.map(|path| format!("{}: ", path.display())).unwrap_or_default();
    let stop = Stop::from(error);
    Err(Stop { message: format!("{path}{}", stop.message), ..stop }
        .hint("--from takes runs with the same networks; the config.toml of a run has its settings"))
}

/// The snapshots that a path stands for: itself, the last one of a run, or those of the runs in a folder.
fn snapshots_of(path: &Path) -> Result<Vec<PathBuf>, Stop> {
    if path.is_file() {
        return Ok(vec![path.to_owned()]);
    }
    let last = |run: PathBuf| run_folder::policy(&run, true, false);
    run_folder::find_resumable(path)?.into_iter().map(last).collect()
}
