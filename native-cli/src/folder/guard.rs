//! Checks of a run folder before it is written in, and the error where it can be written no more.

use super::{best, file, links};
use crate::files::{cannot, hint_for};
use crate::outcome::Stop;
use std::fs::{self, File};
use std::io;
use std::path::Path;

/// Checks that the process may hold a descriptor per run, the lock's, and some more for what is written or opened in
/// between. Without this, many seeds would end in the midst of training.
pub(crate) fn check_descriptors(runs: usize) -> Result<(), Stop> {
    /// Files that are read or written at once, beside the lock of each run.
    const BESIDE: usize = 12;
    /// Files that a process has open from the start.
    const FROM_THE_START: usize = 4;
    // Nothing in the standard library tells the limit; opening as many for a moment does.
    let Ok(first) = File::open(".") else { return Ok(()) };
    let mut held = Vec::new();
    for _ in 0..runs + BESIDE {
        match first.try_clone() {
            Ok(file) => held.push(file),
            Err(error) => {
                let (may, need) = (held.len(), runs + BESIDE + FROM_THE_START);
                drop(held);
                return Err(Stop::user(format!(
                    "{runs} seed{} some {need} open files, and {may} more can be opened: {error}",
                    if runs == 1 { " needs" } else { "s need" }
                ))
                .hint(format!("raise the limit with `ulimit -n {need}`, or train fewer seeds at once")));
            }
        }
    }
    Ok(())
}

/// Tells whether a process writes in this run folder. Nothing in it is changed.
pub(crate) fn is_locked(folder: &Path) -> bool {
    let Ok(lock) = File::open(folder.join(file::LOCK)) else { return false };
    // The lock that is taken by it ends with the file.
    matches!(lock.try_lock_shared(), Err(fs::TryLockError::WouldBlock))
}

/// Tells whether a file is one of those by which a folder is a run, a link followed: its own files, its segments or its
/// kept snapshots.
pub(crate) fn is_of_run(path: &Path) -> bool {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let place = path
        .canonicalize()
        .or_else(|_| Ok::<_, io::Error>(parent.canonicalize()?.join(path.file_name().unwrap_or_default())));
    let Ok(place) = place else { return false };
    let is_run = |folder: &Path| folder.join(file::CONFIG).is_file() && folder.join(file::LOCK).is_file();
    let Some(folder) = place.parent() else { return false };
    let own = file::ALL.iter().any(|name| place.ends_with(name)) && is_run(folder);
    let below =
        [file::SEGMENTS, file::KEPT].iter().any(|name| folder.ends_with(name)) && folder.parent().is_some_and(is_run);
    own || (below && place.is_file())
}

/// Refuses a folder in which another thing has the name of one of the run's files or folders: a link is one, as it may
/// lead to any file. The lock may have no other name either: its file is emptied by whoever holds it.
pub(crate) fn check_plain(folder: &Path) -> Result<(), Stop> {
    let others = best::names(folder).into_iter().map(|name| (name, false));
    let files = file::ALL.into_iter().map(|name| (name.to_owned(), false)).chain(others);
    let folders = [file::SEGMENTS, file::KEPT].map(|name| (name.to_owned(), true));
    for (name, is_folder) in files.chain(folders) {
        let path = folder.join(&name);
        let meta = match fs::symlink_metadata(&path) {
            Ok(meta) => meta,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(cannot("read", &path, &error)),
        };
        let found = if meta.is_symlink() || (name == file::LOCK && has_other_names(&meta)) {
            "a link"
        } else if meta.is_dir() == is_folder && meta.is_file() != is_folder {
            continue;
        } else if is_folder {
            "no folder"
        } else if meta.is_dir() {
            "a folder"
        } else {
            "a device or a pipe"
        };
        let own = if is_folder { "folder" } else { "file" };
        return Err(Stop::user(format!("{} is {found}, expected a {own} of the run", path.display()))
            .hint(format!("move it away and put the run's own {own} back, or start a new run in another folder")));
    }
    links::check_entries(folder)
}

#[cfg(unix)]
fn has_other_names(meta: &fs::Metadata) -> bool {
    std::os::unix::fs::MetadataExt::nlink(meta) > 1
}

#[cfg(not(unix))]
fn has_other_names(_meta: &fs::Metadata) -> bool {
    false
}

/// An IO error on a file of a run while the run goes on; `more` ends the sentence.
pub(crate) fn cannot_keep(path: &Path, error: &io::Error, more: &str) -> Stop {
    let folder = path.parent().unwrap_or(path);
    if !folder.is_dir() {
        return Stop::failure(format!("{} is gone: it was deleted or moved during the run", folder.display())).hint(
            "if it was moved, `quickstudy train --resume` and its new place go on from the last snapshot there; \
             otherwise start the run again",
        );
    }
    let hint = match error.kind() {
        _ if path.is_dir() => "a folder has taken the place of this file; move it away",
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => "check the permissions",
        io::ErrorKind::NotADirectory | io::ErrorKind::AlreadyExists => {
            "move away what has taken the place of the folder"
        }
        _ => hint_for(error),
    };
    Stop::failure(format!("cannot write {}: {error}{more}", path.display())).hint(hint)
}
