//! The flag `--json`.

use super::output;
use crate::json::{CommonLine, note_line, text};
use crate::outcome::Stop;
use serde::Serialize;
use std::path::Path;

/// The flag that makes lines of JSON of results.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub(crate) struct JsonArgs {
    /// Write results to standard output as JSON, an object on each line; lines for people go to standard error
    #[arg(long)]
    pub json: bool,
}

impl JsonArgs {
    /// Keeps standard output free for the lines of JSON, or for the one of `files` that means it.
    pub(crate) fn reserve<'a>(self, files: impl IntoIterator<Item = &'a Path>) -> Result<(), Stop> {
        if self.json {
            output::take_json();
        }
        let files: Vec<&Path> = files.into_iter().collect();
        if self.json && files.iter().any(|path| output::is_stdout(path)) {
            let message = "--json writes to standard output, which is to hold a file already";
            return Err(Stop::user(message).hint("give the file a name, or leave --json out"));
        }
        output::reserve(files.into_iter().chain(self.json.then_some(Path::new("-"))))
    }

    /// Writes a line, if results are lines of JSON.
    pub(crate) fn write(self, line: &impl Serialize) -> Result<(), Stop> {
        if self.json { output::write(Path::new("-"), text(line)?.as_bytes()) } else { Ok(()) }
    }

    /// Writes a line about each of these notes, if results are lines of JSON.
    pub(crate) fn write_notes<'a>(self, notes: impl IntoIterator<Item = &'a String>) -> Result<(), Stop> {
        notes.into_iter().try_for_each(|note| self.write(&note_line(note)))
    }

    /// Says that a file was written, with what is in it, and writes its line if results are lines of JSON.
    pub(crate) fn say_written(self, path: &Path, what: &str) -> Result<(), Stop> {
        output::say_written(path, what);
        self.write(&CommonLine::File { path: path.display().to_string() })
    }
}
