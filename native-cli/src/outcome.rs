//! How a command ends: exit codes, and errors that carry one.
//!
//! | code | meaning |
//! |---|---|
//! | 0 | done, or stopped by Ctrl-C after saving |
//! | 1 | failure during work |
//! | 2 | something the user must change: names, values, missing or unreadable paths, a foreign snapshot |
//! | 3 | a value became non-finite |
//! | 130 | ended by Ctrl-C without saving what ran: by a second one, or before training |

use crate::known;
use crate::output::one_line;
use std::fmt;
use std::io::Write as _;

/// Exit code of a value that became non-finite.
pub const NON_FINITE: u8 = 3;

/// Exit code of what Ctrl-C ended before it was done: 128 + SIGINT, what shells report for an interrupted command.
pub const INTERRUPTED: u8 = 130;

/// The [kind](Stop::kind) of errors of files: a folder or file is there already.
pub const EXISTS: &str = "exists";

/// The [kind](Stop::kind) of an error after which another device may go on.
pub const LOST: &str = "device-lost";

/// An error with its exit code and, where there is one, a hint on what to do.
#[derive(Debug)]
pub struct Stop {
    /// Process exit code: 1, 2, 3 or 130.
    pub code: u8,
    /// The kind of error, as a word that does not change between versions: those of the core
    /// ([`Error::kind`](quickstudy_core::Error::kind)), `failure` and [`EXISTS`].
    pub kind: &'static str,
    /// Says what went wrong, in one sentence.
    pub message: String,
    /// Says what to do about it, in one sentence; empty if the message says it.
    pub hint: String,
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Stop {}

impl Stop {
    /// Something the user must change (exit code 2).
    pub fn user(message: impl Into<String>) -> Self {
        Self { code: 2, kind: "config", message: message.into(), hint: String::new() }
    }

    /// A failure during work (exit code 1).
    pub fn failure(message: impl Into<String>) -> Self {
        Self { code: 1, kind: "failure", ..Self::user(message) }
    }

    /// A non-finite value (exit code 3).
    pub fn non_finite(message: impl Into<String>) -> Self {
        Self { code: NON_FINITE, kind: "non-finite", ..Self::user(message) }
    }

    /// Adds the hint line.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = known::by_name(hint.into());
        self
    }
}

/// Prints one `error:` line (red on a terminal) and one `hint:` line to stderr; returns the exit code.
#[must_use]
pub fn report(stop: &Stop) -> u8 {
    use std::io::IsTerminal as _;
    let (red, cyan, off) =
        if std::io::stderr().is_terminal() { ("\x1b[1;31m", "\x1b[36m", "\x1b[0m") } else { ("", "", "") };
    // Where nobody listens the exit code still says it.
    let mut err = std::io::stderr();
    // A traceback of Python follows its first line.
    let (first, traceback) = stop.message.split_once("\nTraceback (").unwrap_or((&stop.message, ""));
    let _ = writeln!(err, "{red}error:{off} {}", one_line(first));
    for line in traceback.lines().skip(1) {
        let _ = writeln!(err, "  {}", one_line(line));
    }
    let hint = one_line(&stop.hint);
    if !hint.is_empty() {
        let _ = writeln!(err, "{cyan}hint:{off} {hint}");
    }
    stop.code
}
