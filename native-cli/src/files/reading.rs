//! Files that are read as a whole, within what they may take of the memory.

use super::cannot;
use crate::machine::memory;
use crate::outcome::Stop;
use quickstudy_core::in_bytes;
use std::fs::{self, File, Metadata};
use std::io::Read as _;
use std::path::Path;

/// Snapshots larger than this are refused before they are read into memory.
const MAX_SNAPSHOT: u64 = 16 << 30;
/// Most bytes of a configuration or another text. Those of this program have some kilobytes.
const MAX_TEXT: u64 = 1 << 20;

/// Reads a snapshot.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, Stop> {
    let meta = regular(path)?;
    let fitting = memory::free(0).filter(|free| *free < meta.len());
    if let (Some(free), true) = (fitting, meta.len() <= MAX_SNAPSHOT) {
        return Err(Stop::user(format!(
            "{} takes {} of memory, and {} may be taken",
            path.display(),
            in_bytes(meta.len()),
            in_bytes(free)
        ))
        .hint("if that is no snapshot of this program, name another one; otherwise free some memory"));
    }
    take(path, meta.len(), MAX_SNAPSHOT)
}

/// Reads a text that a user named, such as a configuration; it may be a pipe.
pub(crate) fn read_text(path: &Path) -> Result<Vec<u8>, Stop> {
    let meta = meta_of(path)?;
    // A pipe or a device has no size; what it gives is bounded all the same.
    take(path, meta.len(), MAX_TEXT).map(unmarked)
}

/// Reads a text of a run folder: a regular file, as pipes and devices may have no end.
pub(crate) fn read_own_text(path: &Path) -> Result<Vec<u8>, Stop> {
    take(path, regular(path)?.len(), MAX_TEXT).map(unmarked)
}

/// A text without the byte order mark with which some editors begin files.
fn unmarked(mut text: Vec<u8>) -> Vec<u8> {
    let mark = "\u{feff}".as_bytes();
    if text.starts_with(mark) {
        text.drain(..mark.len());
    }
    text
}

fn meta_of(path: &Path) -> Result<Metadata, Stop> {
    let meta = fs::metadata(path).map_err(|error| cannot("read", path, &error))?;
    if meta.is_dir() {
        return Err(Stop::user(format!("{} is a folder, expected a file", path.display())));
    }
    Ok(meta)
}

fn regular(path: &Path) -> Result<Metadata, Stop> {
    let meta = meta_of(path)?;
    if !meta.is_file() {
        return Err(Stop::user(format!("{} is a device or a pipe, expected a file", path.display())));
    }
    Ok(meta)
}

/// Reads a file that has `size` bytes as far as its metadata tell.
fn take(path: &Path, size: u64, most: u64) -> Result<Vec<u8>, Stop> {
    let too_large = |size: &str| {
        Stop::user(format!("{} has {size}, and at most {} are read", path.display(), in_bytes(most)))
            .hint("that is no file of this program")
    };
    if size > most {
        return Err(too_large(&in_bytes(size)));
    }
    let mut bytes = Vec::new();
    // What the allocator refuses is an error of this file, not the end of the process.
    bytes.try_reserve_exact(usize::try_from(size).unwrap_or(usize::MAX)).map_err(|_| {
        Stop::user(format!("{} takes {} of memory, and there is less", path.display(), in_bytes(size)))
            .hint("if that is no snapshot of this program, name another one; otherwise free some memory")
    })?;
    let read = File::open(path).and_then(|file| file.take(most + 1).read_to_end(&mut bytes));
    read.map_err(|error| cannot("read", path, &error))?;
    if bytes.len() as u64 > most {
        return Err(too_large("more than it says"));
    }
    Ok(bytes)
}
