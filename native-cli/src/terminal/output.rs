//! Results that a command gives: lines on standard output, and files or streams that the user names.
//!
//! Standard output may carry a result itself (`--csv -`); lines for people then go to standard error. A line that could
//! not be written is not forgotten: [`check`] tells of it when the command ends.

use crate::files::{self, atomic};
use crate::folder::{self, links};
use crate::outcome::{Stop, tell};
use crate::text::one_line;
use serde::Serialize;
use std::collections::HashSet;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// True while standard output carries a file.
static TAKEN: AtomicBool = AtomicBool::new(false);
/// True while standard output carries objects of JSON, one per line.
static JSON: AtomicBool = AtomicBool::new(false);
/// The first error of standard output.
static FAILED: OnceLock<String> = OnceLock::new();

/// Prints the lines of a text that this program has made of several.
pub(crate) fn say_text(text: &str) {
    text.lines().for_each(say);
}

/// Prints a line to stdout, or to stderr where stdout carries a file; a closed pipe (`| head`) is no reason to stop.
/// All paths that are shown go through here or [`report`](crate::outcome::report), on one line.
pub(crate) fn say(line: &str) {
    let line = one_line(line);
    if TAKEN.load(Ordering::Relaxed) {
        tell(&line);
    } else {
        note(writeln!(io::stdout(), "{line}"));
    }
}

/// From here on standard output carries objects of JSON, and lines for people go to standard error.
pub(crate) fn take_json() {
    JSON.store(true, Ordering::Relaxed);
    TAKEN.store(true, Ordering::Relaxed);
}

/// Tells whether objects of JSON are asked for.
pub(crate) fn is_json() -> bool {
    JSON.load(Ordering::Relaxed)
}

/// Prints an object as a line of standard output at once, if lines of JSON are asked for: somebody may wait for it.
pub(crate) fn say_line(object: &impl Serialize) {
    if is_json()
        && let Ok(text) = serde_json::to_string(object)
    {
        let mut out = io::stdout().lock();
        note(writeln!(out, "{text}").and_then(|()| out.flush()));
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
pub(crate) fn printed(result: io::Result<()>) -> Result<(), Stop> {
    note(result);
    check()
}

/// Checks that all lines said have arrived.
pub(crate) fn check() -> Result<(), Stop> {
    note(io::stdout().flush());
    match FAILED.get() {
        Some(error) => Err(Stop::failure(format!("cannot write to standard output: {error}"))
            .hint("lines of the result are lost; send the output elsewhere, or free some space")),
        None => Ok(()),
    }
}

/// Tells whether `path` means standard output: `-`, or its name on Unix.
pub(crate) fn is_stdout(path: &Path) -> bool {
    ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"].iter().any(|name| path == Path::new(name))
}

/// Keeps standard output free for the one of `paths` that means it.
pub(crate) fn reserve<'a>(paths: impl IntoIterator<Item = &'a Path>) -> Result<(), Stop> {
    let (streams, files): (Vec<&Path>, Vec<&Path>) = paths.into_iter().partition(|path| is_stdout(path));
    let mut places = HashSet::new();
    for path in files.into_iter().filter(|path| !path.exists() || path.is_file()) {
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let there = parent.canonicalize().map(|parent| parent.join(path.file_name().unwrap_or_default()));
        let place = path.canonicalize().or(there).unwrap_or_else(|_| path.to_owned());
        if !places.insert(place) {
            let message = format!("{} is to hold two results", path.display());
            return Err(Stop::user(message).hint("give each a file of its own"));
        }
    }
    match streams.len() {
        0 => Ok(()),
        1 => {
            TAKEN.store(true, Ordering::Relaxed);
            Ok(())
        }
        _ => Err(Stop::user("standard output can take one file only").hint("give the other one a name")),
    }
}

/// Checks that none of `paths` is a file of a run, which a run folder could not be read without, or that this is
/// wanted; and that none of them leads through a link in a run folder.
pub(crate) fn spare_runs<'a>(paths: impl IntoIterator<Item = &'a Path>, force: bool) -> Result<(), Stop> {
    let files: Vec<&Path> = paths.into_iter().filter(|path| !is_stdout(path)).collect();
    files.iter().try_for_each(|path| links::check_result(path))?;
    match files.into_iter().find(|path| !force && folder::is_of_run(path)) {
        Some(path) => {
            let message = format!("{} is a file of a run, which would be lost", path.display());
            Err(Stop::user(message).hint("name another file; --force replaces it"))
        }
        None => Ok(()),
    }
}

/// The place of a result: the one that the user named, or one of its `usual` name, which may be no link.
pub(crate) fn place(named: Option<&Path>, usual: &str) -> Result<PathBuf, Stop> {
    match named {
        Some(named) => Ok(named.to_owned()),
        None => links::check_unnamed(Path::new(usual)).map(|()| usual.into()),
    }
}

/// Writes a file whose name is not the user's, such as one of several in a folder: as [`write()`], but no link is
/// followed.
pub(crate) fn write_own(path: &Path, bytes: &[u8]) -> Result<(), Stop> {
    links::check_unnamed(path)?;
    atomic::write(path, bytes).map_err(|error| cannot_write(path, &error))
}

/// Writes a file that the user named: files are replaced at once, links followed, devices and pipes written into; `-`
/// is standard output.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<(), Stop> {
    if is_stdout(path) {
        note(io::stdout().write_all(bytes).and_then(|()| io::stdout().flush()));
        return check();
    }
    links::check_result(path)?;
    match atomic::write_named(path, bytes) {
        // A reader that goes away has what it wanted, as on standard output.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result.map_err(|error| cannot_write(path, &error)),
    }
}

/// A file that the user named cannot be written: why, and what to do.
pub(crate) fn cannot_write(path: &Path, error: &io::Error) -> Stop {
    let message = format!("cannot write {}: {error}", path.display());
    match error.kind() {
        // A full disk is no mistake in the command.
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            Stop::failure(message).hint("free some space, or name another file")
        }
        io::ErrorKind::FileTooLarge => Stop::failure(message).hint(files::hint_for(error)),
        io::ErrorKind::NotFound => Stop::user(message).hint("the folder of a file must exist; check its spelling"),
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            Stop::user(message).hint("check the permissions, or name another file")
        }
        _ => Stop::user(message).hint("name another file"),
    }
}

/// Says that a file was written, with what is in it; of standard output there is nothing to say.
pub(crate) fn say_written(path: &Path, what: &str) {
    if !is_stdout(path) {
        say(&format!("wrote {}{what}", path.display()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folder::tests::scratch;

    #[test]
    fn two_results_do_not_share_a_file() {
        let dir = scratch("reserve");
        std::fs::create_dir(dir.join("below")).unwrap();
        let [a, again, b] = ["a", "below/../a", "b"].map(|name| dir.join(name));
        for exists in [false, true] {
            assert!(reserve([&*a, &*b]).is_ok());
            assert_eq!(reserve([&*a, &*again]).unwrap_err().code, 2, "exists: {exists}");
            std::fs::write(&a, "x").unwrap();
        }
        assert!(reserve([Path::new("/dev/null"), Path::new("/dev/null")]).is_ok());
    }
}
