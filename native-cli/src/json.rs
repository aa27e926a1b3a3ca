//! Results as lines of JSON, in one form for all verbs: `--json`.
//!
//! Each line is an object. Its `type` says what it is, and the first line of a command has the [`VERSION`] of its
//! lines. Each verb has an enum of its lines here, with a variant for each type. A number that is not finite is `null`.
//! From these enums `quickstudy list --json-schema` makes its schema, and a test the tables of `docs/json.md`.

pub(crate) mod adapt;
pub(crate) mod bench;
pub(crate) mod compare;
pub(crate) mod devices;
pub(crate) mod eval;
pub(crate) mod list;
pub(crate) mod plot;
pub(crate) mod python;
pub(crate) mod schema;
pub(crate) mod sweep;
pub(crate) mod train;

use crate::outcome::Stop;
use serde::Serialize;

/// The version of the lines: a change of what is there raises it, and more keys or types do not.
pub(crate) const VERSION: u32 = 1;

/// Lines that any verb may write.
#[derive(Debug, Serialize, schemars::JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum CommonLine {
    /// A file that was written.
    File {
        /// Its path, as it was named or below the folder that was
        path: String,
    },
    /// A remark, such as unequal budgets.
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
pub(crate) fn note_line(note: &str) -> CommonLine {
    CommonLine::Note { text: note.trim_start_matches("note: ").to_owned() }
}

/// The line about an error.
pub(crate) fn error_line(Stop { kind, message, hint, .. }: &Stop) -> CommonLine {
    let hint = (!hint.is_empty()).then(|| hint.clone());
    CommonLine::Error { kind: (*kind).to_owned(), message: message.clone(), hint }
}

/// A line with its end.
pub(crate) fn text(line: &impl Serialize) -> Result<String, Stop> {
    let text = serde_json::to_string(line);
    text.map(|text| text + "\n").map_err(|error| Stop::failure(format!("a line is no JSON: {error}")))
}

/// A number where it is finite, which alone JSON knows.
pub(crate) fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}

/// The ends of an interval, where there is one.
pub(crate) fn ends(interval: Option<(f64, f64)>) -> [Option<f64>; 2] {
    [interval.and_then(|(low, _)| finite(low)), interval.and_then(|(_, high)| finite(high))]
}
