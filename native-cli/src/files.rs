//! Files and folders: replaced whole or not at all, locked, and read within bounds.

pub(crate) mod atomic;
pub(crate) mod disk;
pub(crate) mod lock;
pub(crate) mod reading;

use crate::outcome::Stop;
use std::io;
use std::path::Path;

/// Makes a folder and those above it, unless it is there.
pub(crate) fn make_folder(path: &Path) -> Result<(), Stop> {
    expect_no_file(path)?;
    disk::create_dir_all(path).map_err(|error| cannot("create the folder", path, &error))
}

/// Checks that no file is where a folder is to be.
pub(crate) fn expect_no_file(path: &Path) -> Result<(), Stop> {
    match path.is_file() {
        true => {
            Err(Stop::user(format!("{} is a file, expected a folder", path.display())).hint("choose another --out"))
        }
        false => Ok(()),
    }
}

/// An IO error on a path that the user named: `cannot write a/b: …`, with what to do about it.
pub(crate) fn cannot(what: &str, path: &Path, error: &io::Error) -> Stop {
    let message = format!("cannot {what} {}: {error}", path.display());
    // A full disk is no mistake in the command.
    let full = [io::ErrorKind::StorageFull, io::ErrorKind::QuotaExceeded, io::ErrorKind::FileTooLarge];
    let full = full.contains(&error.kind());
    if full { Stop::failure(message) } else { Stop::user(message) }.hint(hint_for(error))
}

/// Says what to do about an IO error; empty where the error says it.
pub(crate) fn hint_for(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => "free some space",
        io::ErrorKind::FileTooLarge => {
            "files may be no larger here; `ulimit -f unlimited` lifts the limit, if it is that of the process"
        }
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            "check the permissions, or choose another folder with --out"
        }
        io::ErrorKind::NotADirectory | io::ErrorKind::AlreadyExists => {
            "a file is in the way; choose another folder with --out"
        }
        io::ErrorKind::NotFound => "check the spelling of the path",
        _ => "",
    }
}

/// An IO error on a file of a run while the run goes on; `more` ends the sentence.
pub(crate) fn cannot_keep(path: &Path, error: &io::Error, more: &str) -> Stop {
    let folder = path.parent().unwrap_or(path);
    if !folder.is_dir() {
        return Stop::failure(format!("{} is gone: it was deleted or moved during the run", folder.display())).hint(
            "if it was moved, `quickstudy train --resume` and its new place resume from the last snapshot there; \
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
