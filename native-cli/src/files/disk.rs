//! Changes of the file system in run folders: each goes through a function here.
//!
//! A process may be killed before each of them, or in the middle of a write. [`abort_at`] does that to a
//! process on purpose, so that tests can go through all of these points in order, one after the other.
//! Nothing calls it in the released program.
//!
//! No function follows a symbolic link at the end of a path that is written: whoever sends a run folder could let one
//! lead to any file. Folders above the run may be links.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

/// The number of the point at which the process ends, counted from 1; 0 for none.
static ABORT_AT: AtomicU64 = AtomicU64::new(0);
/// Points that the process has passed; they are counted only where it is to end at one.
static PASSED: AtomicU64 = AtomicU64::new(0);

/// Makes the process end at the point of this number, from 1, as if it was killed there.
#[doc(hidden)]
pub fn abort_at(point: u64) {
    ABORT_AT.store(point, Ordering::SeqCst);
}

/// Tells whether the process is to end at a point. Then threads take turns, so that points have an order.
pub(crate) fn is_counted() -> bool {
    ABORT_AT.load(Ordering::Relaxed) > 0
}

/// Passes a point; true if the process is to end there.
fn is_here() -> bool {
    is_counted() && PASSED.fetch_add(1, Ordering::SeqCst) + 1 == ABORT_AT.load(Ordering::SeqCst)
}

fn point() {
    if is_here() {
        std::process::abort();
    }
}

/// As [`fs::create_dir`].
pub(crate) fn create_dir(path: &Path) -> io::Result<()> {
    point();
    fs::create_dir(path)
}

/// As [`fs::create_dir_all`].
pub(crate) fn create_dir_all(path: &Path) -> io::Result<()> {
    if !path.is_dir() {
        point();
    }
    fs::create_dir_all(path)
}

/// Opens a file that may be made by it.
pub(crate) fn open(options: &OpenOptions, path: &Path) -> io::Result<File> {
    if !path.exists() {
        point();
    }
    reopen(options, path)
}

/// Opens a file that is there already.
pub(crate) fn reopen(options: &OpenOptions, path: &Path) -> io::Result<File> {
    expect_no_link(path)?;
    // What becomes a link after that is refused by the system, where it can.
    #[cfg(unix)]
    let options = {
        let mut options = options.clone();
        std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, nix::libc::O_NOFOLLOW);
        options
    };
    options.open(path)
}

/// Checks that what is at a path, if anything is, is no symbolic link.
pub(crate) fn expect_no_link(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path).is_ok_and(|meta| meta.is_symlink()) {
        true => Err(io::Error::other("it is a link, and nothing is written through links in a run folder")),
        false => Ok(()),
    }
}

/// Makes an empty file, or empties the one that is there.
pub(crate) fn create(path: &Path) -> io::Result<File> {
    point();
    reopen(OpenOptions::new().write(true).create(true).truncate(true), path)
}

/// Makes a file that is not there yet.
pub(crate) fn create_new(path: &Path) -> io::Result<File> {
    point();
    File::create_new(path)
}

/// Writes all bytes at the file's place.
pub(crate) fn write_all(file: &mut File, bytes: &[u8]) -> io::Result<()> {
    if bytes.is_empty() {
        return Ok(());
    }
    point();
    if bytes.len() > 1 && is_here() {
        // As far as it comes.
        let _ = file.write_all(&bytes[..bytes.len() / 2]);
        std::process::abort();
    }
    file.write_all(bytes)
}

/// Cuts a file, if it has another length.
pub(crate) fn set_len(file: &File, len: u64) -> io::Result<()> {
    if file.metadata()?.len() == len {
        return Ok(());
    }
    point();
    file.set_len(len)
}

/// As [`fs::rename`].
pub(crate) fn rename(from: &Path, to: &Path) -> io::Result<()> {
    point();
    fs::rename(from, to)
}

/// As [`fs::remove_file`].
pub(crate) fn remove_file(path: &Path) -> io::Result<()> {
    point();
    fs::remove_file(path)
}

/// As [`fs::remove_dir`].
pub(crate) fn remove_dir(path: &Path) -> io::Result<()> {
    point();
    fs::remove_dir(path)
}

/// As [`fs::copy`].
pub(crate) fn copy(from: &Path, to: &Path) -> io::Result<()> {
    let mut source = File::open(from)?;
    let mut copy = create(to)?;
    io::copy(&mut source, &mut copy)?;
    copy.set_permissions(source.metadata()?.permissions())
}
