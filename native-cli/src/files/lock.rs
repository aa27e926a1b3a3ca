//! Locks of folders: one process at a time writes in a run, a sweep, or the runs of a study.
//!
//! A lock is the operating system's advisory file lock, so it ends with its process however that dies: a lock file left
//! by a killed process is recognised as stale because nobody holds it any more. The process id and start time inside
//! are for people.

use super::cannot;
use crate::files::disk;
use crate::outcome::Stop;
use crate::text::numbers::utc;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Seek as _};
use std::path::Path;
use std::time::SystemTime;

/// A lock that is held until it is dropped.
#[derive(Debug)]
pub(crate) struct Lock(File);

impl Lock {
    /// Takes the lock in the file at `path`, for who writes in `place`.
    pub(crate) fn take(path: &Path, place: &Path) -> Result<Self, Stop> {
        let mut lock = disk::open(OpenOptions::new().read(true).write(true).create(true).truncate(false), path)
            .map_err(|error| cannot("write in", place, &error))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut owner = String::new();
                let _ = lock.take(1000).read_to_string(&mut owner);
                let owner = owner.trim().replace('\n', ", ");
                let owner = if owner.is_empty() { String::new() } else { format!(" ({owner})") };
                return Err(Stop::user(format!("another process{owner} is writing in {}", place.display()))
                    .hint("wait for it, stop it, or choose another folder with --out"));
            }
            // Some network file systems have no locks at all; refusing to train there would help nobody.
            Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => {}
            Err(TryLockError::Error(error)) => return Err(cannot("lock", place, &error)),
        }
        let owner = format!("pid {}\nsince {}\n", std::process::id(), utc(SystemTime::now()));
        disk::set_len(&lock, 0)
            .and_then(|()| lock.rewind())
            .and_then(|()| disk::write_all(&mut lock, owner.as_bytes()))
            .map_err(|error| cannot("write in", place, &error))?;
        Ok(Self(lock))
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // The file stays (removing it would race with a process that has just opened it), but says nobody is here.
        let _ = self.0.set_len(0);
        let _ = self.0.unlock();
    }
}
