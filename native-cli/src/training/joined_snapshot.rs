//! The last snapshot of a run as one file: everything that the run needs to go on.

use crate::folder::{self, file, segments};
use crate::outcome::Stop;
use crate::settings::register;
use quickstudy_core::train::{self, Saved};
use std::path::Path;

/// Snapshots of a run that goes on may follow each other quickly.
const TRIES: usize = 20;

/// The bytes of the file, with the rows of a replay buffer in it.
pub(crate) fn read(run: &Path) -> Result<Vec<u8>, Stop> {
    let mut tries = 0;
    loop {
        let file = folder::read_snapshot(run, file::LAST)?;
        let read = |name: &str, bytes: u64| segments::read(run, name, bytes);
        let error = match train::joined(register::own(), Saved::in_parts(&file, &read)) {
            Ok(bytes) => return Ok(bytes),
            Err(error) => error,
        };
        // A run that goes on deletes segments once another snapshot has taken the place of this one.
        tries += 1;
        if tries == TRIES || folder::read_snapshot(run, file::LAST)? == file {
            return Err(Stop::from(error).about(run.join(file::LAST).display()));
        }
    }
}
