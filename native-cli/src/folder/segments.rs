//! The folder of a run's segments: rows of its replay buffer, of which each snapshot appends those that are new.
//!
//! Rows reach the disk before the snapshot that names them takes the place of the one before, and a segment is deleted
//! only after that: at every moment the snapshot in place finds all of its rows. What follows them in a segment comes
//! from a process that died, and is cut off by the next rows.

use crate::files::{atomic, cannot_keep, disk};
use crate::folder::file;
use crate::outcome::Stop;
use quickstudy_core::train::{Ring, SegmentRows};
use quickstudy_core::{Error, in_bytes};
use std::collections::HashSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

/// The segments of one run, which a single process writes.
#[derive(Debug)]
pub(crate) struct SegmentFolder {
    folder: PathBuf,
    /// As the snapshot in place names them.
    saved: Vec<Ring>,
    /// As the snapshot to come names them.
    next: Vec<Ring>,
    /// Segments that have got rows which may not have reached the disk.
    unsynced: HashSet<PathBuf>,
    /// A new segment, which the folder may not know after a power cut.
    made: Option<PathBuf>,
}

impl SegmentFolder {
    /// Segments of the run in `folder`, whose snapshot names `saved`.
    pub(crate) fn new(folder: &Path, saved: &[Ring]) -> Self {
        let (saved, next) = (saved.to_vec(), saved.to_vec());
        Self { folder: folder.join(file::SEGMENTS), saved, next, unsynced: HashSet::new(), made: None }
    }

    /// As the snapshot in place names them.
    pub(crate) fn saved(&self) -> &[Ring] {
        &self.saved
    }

    /// Appends rows; what a dead process left in their place is cut off.
    pub(crate) fn append(&mut self, rows: &SegmentRows) -> Result<(), Stop> {
        let path = self.folder.join(&rows.segment);
        self.write(&path, rows).map_err(|error| self.lost(&path, &error))?;
        self.unsynced.insert(path);
        Ok(())
    }

    fn write(&mut self, path: &Path, rows: &SegmentRows) -> io::Result<()> {
        disk::expect_no_link(&self.folder)?;
        if !self.folder.is_dir() {
            disk::create_dir(&self.folder)?;
        }
        match fs::symlink_metadata(path) {
            Ok(meta) if meta.is_file() => {}
            Ok(_) => return Err(io::Error::other("a link or a folder has its name")),
            Err(error) if error.kind() == io::ErrorKind::NotFound => self.made = Some(path.to_owned()),
            Err(error) => return Err(error),
        }
        let mut file = disk::open(OpenOptions::new().write(true).create(true).truncate(false), path)?;
        let there = file.metadata()?.len();
        if there < rows.offset {
            return Err(io::Error::other(format!("it has lost bytes: {there} of {}", rows.offset)));
        }
        disk::set_len(&file, rows.offset)?;
        file.seek(SeekFrom::Start(rows.offset))?;
        disk::write_all(&mut file, &rows.bytes)
    }

    /// Notes the segments that the snapshot to come names.
    pub(crate) fn expect(&mut self, next: Vec<Ring>) {
        self.next = next;
    }

    /// Waits until all rows that were appended are on the disk.
    pub(crate) fn sync(&mut self) -> Result<(), Stop> {
        for path in std::mem::take(&mut self.unsynced) {
            // Its new length is among what is needed to read it again, and so is synced too.
            let synced = disk::reopen(OpenOptions::new().write(true), &path).and_then(|file| file.sync_data());
            synced.map_err(|error| self.lost(&path, &error))?;
        }
        if let Some(path) = self.made.take() {
            // The folder itself is known once the snapshot is there.
            atomic::sync_folder(&path).map_err(|error| self.lost(&path, &error))?;
        }
        // A snapshot whose rows somebody deleted does not take the place of the one before.
        match self.missing_of(&self.next) {
            Some(missing) => Err(self.lost(&missing, &io::ErrorKind::NotFound.into())),
            None => Ok(()),
        }
    }

    /// Tells whether all segments of the snapshot in place are there, with as many bytes as it names.
    pub(crate) fn whole(&self) -> bool {
        self.missing_of(&self.saved).is_none()
    }

    /// The first segment of these that is gone or was cut.
    fn missing_of(&self, rings: &[Ring]) -> Option<PathBuf> {
        let there =
            |path: &Path, bytes: u64| fs::metadata(path).is_ok_and(|meta| meta.is_file() && meta.len() >= bytes);
        let mut all = rings.iter().flat_map(Ring::files).map(|(name, bytes)| (self.folder.join(name), bytes));
        all.find(|(path, bytes)| !there(path, *bytes)).map(|(path, _)| path)
    }

    /// The error of rows that cannot be written: it says whether the snapshot in place still has its own.
    fn lost(&self, path: &Path, error: &io::Error) -> Stop {
        match self.missing_of(&self.saved) {
            None => cannot_keep(path, error, "; the last snapshot is intact"),
            Some(missing) => {
                let place = if missing.exists() { "was cut" } else { "is gone: it was deleted or moved" };
                let missing = missing.display();
                Stop::failure(format!("{missing} {place} during the run, and the last snapshot needs it")).hint(
                    "put it back, and `quickstudy train --resume` works again; without it only the policies and kept \
                     snapshots can be used",
                )
            }
        }
    }

    /// Takes the snapshot to come for the one in place, which it is now, and deletes what that does not name.
    pub(crate) fn keep(&mut self) -> Result<(), Stop> {
        self.saved.clone_from(&self.next);
        let named: HashSet<String> = self.saved.iter().flat_map(Ring::files).map(|(name, _)| name).collect();
        let entries = match fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound && named.is_empty() => return Ok(()),
            Err(error) => return Err(self.lost(&self.folder, &error)),
        };
        for entry in entries {
            let entry = entry.map_err(|error| cannot_keep(&self.folder, &error, ""))?;
            let name = entry.file_name();
            let Some(name) = name.to_str() else { continue };
            // Whatever else has the name of a segment was put there by somebody: a link, a pipe, a folder.
            let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
            if is_file && !named.contains(name) && self.saved.iter().any(|ring| ring.names(name)) {
                let path = entry.path();
                disk::remove_file(&path).map_err(|error| cannot_keep(&path, &error, ""))?;
            }
        }
        Ok(())
    }
}

/// The first bytes of a segment of the run in `folder`.
pub(crate) fn read(folder: &Path, name: &str, bytes: u64) -> quickstudy_core::Result<Vec<u8>> {
    let path = folder.join(file::SEGMENTS).join(name);
    let problem = |problem: String| Error::Snapshot(format!("{}: {problem}", path.display()));
    let meta = fs::metadata(&path).map_err(|error| problem(error.to_string()))?;
    if !meta.is_file() {
        return Err(problem("it is no file".to_owned()));
    }
    if meta.len() < bytes {
        let text = format!(
            "it has {} bytes of the {bytes} that the snapshot names; it was cut, or is another run's",
            meta.len()
        );
        return Err(problem(text));
    }
    let mut read = Vec::new();
    let size = usize::try_from(bytes).unwrap_or(usize::MAX);
    read.try_reserve_exact(size)
        .map_err(|_| problem(format!("it takes {} of memory, and there is less", in_bytes(bytes))))?;
    let result = File::open(&path).and_then(|file| file.take(bytes).read_to_end(&mut read));
    result.map_err(|error| problem(error.to_string()))?;
    Ok(read)
}

#[cfg(test)]
mod tests;
