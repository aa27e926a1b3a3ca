//! Results that a command gives: lines on standard output, and files or streams that the user names.
//!
//! Standard output may carry a result itself (`--csv -`); lines for people then go to standard error. A line that could
//! not be written is not forgotten: [`check`] tells of it when the command ends.

use crate::atomic;
use crate::outcome::Stop;
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// True while standard output carries a file.
static TAKEN: AtomicBool = AtomicBool::new(false);
/// The first error of standard output.
static FAILED: OnceLock<String> = OnceLock::new();

/// Prints a line to stdout, or to stderr where stdout carries a file; a closed pipe (`| head`) is no reason to stop.
pub fn say(line: &str) {
    if TAKEN.load(Ordering::Relaxed) {
        let _ = writeln!(io::stderr(), "{line}");
    } else {
        note(writeln!(io::stdout(), "{line}"));
    }
}

/// Remembers an error of standard output; a reader that went away is none.
fn note(result: io::Result<()>) {
    if let Err(error) = result
        && error.kind() != io::ErrorKind::BrokenPipe
    {
        let _ = FAILED.set(error.to_string());
    }
}

/// Checks that a text which somebody else printed to standard output, such as a help, has arrived.
///
/// # Errors
/// As [`check`].
pub fn printed(result: io::Result<()>) -> Result<(), Stop> {
    note(result);
    check()
}

/// Checks that all lines said have arrived.
///
/// # Errors
/// [`Stop`] with code 1 if a line could not be written, as on a full disk.
pub fn check() -> Result<(), Stop> {
    note(io::stdout().flush());
    match FAILED.get() {
        Some(error) => Err(Stop::failure(format!("cannot write to standard output: {error}"))
            .hint("lines of the result are lost; send the output elsewhere, or free some space")),
        None => Ok(()),
    }
}

/// Tells whether `path` means standard output: `-`, or its name on Unix.
#[must_use]
pub fn is_stdout(path: &Path) -> bool {
    ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"].iter().any(|name| path == Path::new(name))
}

/// Keeps standard output free for the one of `paths` that means it.
///
/// # Errors
/// [`Stop`] with code 2 if two of them do.
pub fn reserve<'a>(paths: impl IntoIterator<Item = &'a Path>) -> Result<(), Stop> {
    match paths.into_iter().filter(|path| is_stdout(path)).count() {
        0 => Ok(()),
        1 => {
            TAKEN.store(true, Ordering::Relaxed);
            Ok(())
        }
        _ => Err(Stop::user("standard output can take one file only").hint("give the other one a name")),
    }
}

/// Writes a file that the user named: files are replaced at once, links followed, devices and pipes written into; `-` is
/// standard output.
///
/// # Errors
/// [`Stop`] with code 2, or with code 1 on a full disk, that names the path.
pub fn write(path: &Path, bytes: &[u8]) -> Result<(), Stop> {
    if is_stdout(path) {
        note(io::stdout().write_all(bytes).and_then(|()| io::stdout().flush()));
        return check();
    }
    atomic::write(path, bytes).map_err(|error| cannot_write(path, &error))
}

/// A file that the user named cannot be written: why, and what to do.
#[must_use]
pub fn cannot_write(path: &Path, error: &io::Error) -> Stop {
    let message = format!("cannot write {}: {error}", path.display());
    match error.kind() {
        // A full disk is no mistake in the command.
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            Stop::failure(message).hint("free some space, or name another file")
        }
        io::ErrorKind::NotFound => Stop::user(message).hint("the folder of a file must exist; check its spelling"),
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            Stop::user(message).hint("check the permissions, or name another file")
        }
        _ => Stop::user(message).hint("name another file"),
    }
}

/// Says that a file was written, with what is in it; of standard output there is nothing to say.
pub fn say_written(path: &Path, what: &str) {
    if !is_stdout(path) {
        say(&format!("wrote {}{what}", path.display()));
    }
}
