//! Results as lines of JSON, in one form for all verbs: `--json`.
//!
//! Each line is an object. Its `type` says what it is, and the first line of a command has the [`VERSION`] of its
//! lines. Each verb has an enum of its lines here, with a variant for each type. A number that is not finite is `null`.
//! From these enums `quickstudy list --json-schema` makes its schema, and a test the tables of `docs/json.md`.

pub mod adapt;
pub mod bench;
pub mod compare;
pub mod devices;
pub mod eval;
pub mod list;
pub mod plot;
pub mod python;
pub mod schema;
pub mod sweep;
pub mod train;

use crate::outcome::Stop;
use crate::output;
use serde::Serialize;
use std::path::Path;

/// The version of the lines: a change of what is there raises it, and more keys or types do not.
pub const VERSION: u32 = 1;

/// The flag that makes lines of JSON of results.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub struct JsonArgs {
    /// Write results to standard output as JSON, an object on each line; lines for people go to standard error
    #[arg(long)]
    pub json: bool,
}

impl JsonArgs {
    /// Keeps standard output free for the lines of JSON, or for the one of `files` that means it.
    ///
    /// # Errors
    /// [`Stop`] with code 2 if two results would go to the same place.
    pub fn reserve<'a>(self, files: impl IntoIterator<Item = &'a Path>) -> Result<(), Stop> {
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
    ///
    /// # Errors
    /// [`Stop`] with code 1 if the line cannot be written; a reader that went away is no error.
    pub fn write(self, line: &impl Serialize) -> Result<(), Stop> {
        if self.json { output::write(Path::new("-"), text(line)?.as_bytes()) } else { Ok(()) }
    }

    /// Writes a line about each of these notes, if results are lines of JSON.
    ///
    /// # Errors
    /// As [`JsonArgs::write`].
    pub fn write_notes<'a>(self, notes: impl IntoIterator<Item = &'a String>) -> Result<(), Stop> {
        notes.into_iter().try_for_each(|note| self.write(&note_line(note)))
    }

    /// Writes a line about a file that was written, if results are lines of JSON.
    ///
    /// # Errors
    /// As [`JsonArgs::write`].
    pub fn write_file(self, path: &Path) -> Result<(), Stop> {
        self.write(&CommonLine::File { path: path.display().to_string() })
    }
}

/// Lines that any verb may write.
#[derive(Debug, Serialize, schemars::JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum CommonLine {
    /// A file that was written.
    File {
        /// Its path, as it was named or below the folder that was
        path: String,
    },
    /// Something else that one should know, such as unequal budgets.
    Note {
        /// A sentence
        text: String,
    },
    /// The error that ended the command: its last line.
    Error {
        /// Kind of error, a word that does not change between versions
        kind: String,
        /// A sentence
        message: String,
        /// A remedy, where the message does not say it
        hint: Option<String>,
    },
}

/// The line about a note for people.
#[must_use]
pub fn note_line(note: &str) -> CommonLine {
    CommonLine::Note { text: note.trim_start_matches("note: ").to_owned() }
}

/// The line about an error.
#[must_use]
pub fn error_line(Stop { kind, message, hint, .. }: &Stop) -> CommonLine {
    let hint = (!hint.is_empty()).then(|| hint.clone());
    CommonLine::Error { kind: (*kind).to_owned(), message: message.clone(), hint }
}

/// A line with its end.
///
/// # Errors
/// [`Stop`] with code 1 if it is no JSON, which no line is.
pub fn text(line: &impl Serialize) -> Result<String, Stop> {
    let text = serde_json::to_string(line);
    text.map(|text| text + "\n").map_err(|error| Stop::failure(format!("a line is no JSON: {error}")))
}

/// A number where it is finite, which alone JSON knows.
#[must_use]
pub fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}

/// The ends of an interval, where there is one.
#[must_use]
pub fn ends(interval: Option<(f64, f64)>) -> [Option<f64>; 2] {
    [interval.and_then(|(low, _)| finite(low)), interval.and_then(|(_, high)| finite(high))]
}
