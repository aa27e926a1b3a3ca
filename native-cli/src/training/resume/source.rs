//! Where runs go on from: their folders, or kept snapshots; and folders in which no snapshot was written yet.

use super::unbegun::Unbegun;
use crate::files::reading;
use crate::folder::{self, RunFolder, file};
use crate::outcome::Stop;
use crate::terminal::output::say;
use crate::training::kept_snapshot::Kept;
use std::fs;
use std::path::{Path, PathBuf};

/// Where a run goes on from.
pub(super) enum Source {
    /// Its folder, where it goes on.
    Last(RunFolder),
    /// A kept snapshot; the run goes on in a new folder.
    Kept(Kept),
}

impl Source {
    /// The folder of the run so far.
    pub(super) fn run(&self) -> &Path {
        match self {
            Self::Last(folder) => folder.path(),
            Self::Kept(kept) => kept.run(),
        }
    }

    pub(super) fn snapshot(&self) -> PathBuf {
        match self {
            Self::Last(folder) => folder.join(file::LAST),
            Self::Kept(kept) => kept.path().to_owned(),
        }
    }

    pub(super) fn read(&self) -> Result<Vec<u8>, Stop> {
        match self {
            Self::Last(folder) => folder::read_snapshot(folder.path(), file::LAST),
            Self::Kept(kept) => reading::read(kept.path()),
        }
    }
}

/// The runs and snapshots that `--resume` names, each with its place in the command.
#[derive(Default)]
pub(super) struct Opened {
    /// Runs that have a snapshot.
    pub(super) sources: Vec<(usize, Source)>,
    /// Runs that were killed before their first one.
    pub(super) unbegun: Vec<(usize, Unbegun)>,
}

/// Opens what `--resume` names, and locks the folders.
pub(super) fn open(paths: &[PathBuf]) -> Result<Opened, Stop> {
    let mut opened = Opened::default();
    let mut bare = Vec::new();
    for (place, path) in paths.iter().enumerate() {
        if path.is_file() {
            opened.sources.push((place, Source::Kept(Kept::find(path)?)));
            continue;
        }
        // Nothing is written where nothing was started.
        if path.is_dir() && !folder::is_started(path) {
            folder::read_snapshot(path, file::LAST)?;
        }
        let folder = RunFolder::open(path)?;
        if folder.resumable() {
            opened.sources.push((place, Source::Last(folder)));
        } else if let Ok(of) = reading::read_own_text(&folder.join(file::COPYING)) {
            return Err(unfinished_copy(path, String::from_utf8_lossy(&of).trim()));
        } else if folder.join(file::CONFIG).exists() {
            opened.unbegun.push((place, Unbegun::read(folder)?));
        } else if folder.check_unbegun().is_ok() {
            bare.push(path);
        } else {
            folder::read_snapshot(path, file::LAST)?;
        }
    }
    // All folders of a start have their configuration before one of them has a snapshot: others have
    // nothing to do with a folder that has none.
    match bare.as_slice() {
        [] => Ok(opened),
        bare if opened.unbegun.is_empty() && !opened.sources.is_empty() => {
            bare.iter().for_each(|path| say(&format!("note: {} holds no run yet, and is left out", path.display())));
            Ok(opened)
        }
        [path, ..] => Err(never_begun(path)),
    }
}

fn unfinished_copy(path: &Path, of: &str) -> Stop {
    Stop::user(format!("{} holds no {}: it is a copy of {of} that was not made to its end", path.display(), file::LAST))
        .hint("give the command that began it again; it may have the same --out")
}

fn never_begun(path: &Path) -> Stop {
    let command = fs::read_to_string(path.join(file::COMMAND)).unwrap_or_default();
    let again = match command.lines().last() {
        Some(command) => format!("start it again: {command}"),
        None => "start it again with the command that began it; it may have the same --out".to_owned(),
    };
    let message = format!("{} holds no {} and no {}", path.display(), file::LAST, file::CONFIG);
    Stop::user(format!("{message}: the run was stopped before it began")).hint(again)
}
