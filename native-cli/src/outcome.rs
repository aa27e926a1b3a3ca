//! How a command ends: exit codes, and errors that carry one.
//!
//! | code | meaning |
//! |---|---|
//! | 0 | done, or stopped by Ctrl-C after saving |
//! | 1 | failure during work |
//! | 2 | something the user must change: names, values, missing or unreadable paths, a foreign snapshot |
//! | 3 | a value became non-finite |
//! | 130 | ended by Ctrl-C without saving what ran: by a second one, or before training |

use crate::text::{one_line, program};
use std::fmt;
use std::io::Write as _;

/// Exit code of a value that became non-finite.
pub(crate) const NON_FINITE: u8 = 3;

/// Exit code of what Ctrl-C ended before it was done: 128 + SIGINT, what shells report for an interrupted command.
pub(crate) const INTERRUPTED: u8 = 130;

/// The [kind](Stop::kind) of errors of files: a folder or file is there already.
pub(crate) const EXISTS: &str = "exists";

/// The [kind](Stop::kind) of an error after which another device may go on.
pub(crate) const LOST: &str = "device-lost";

/// An error with its exit code and, where there is one, a hint on what to do.
#[derive(Debug)]
pub struct Stop {
    /// Process exit code: 1, 2, 3 or 130.
    pub code: u8,
    /// The kind of error, as a word that does not change between versions: those of the core
    /// ([`Error::kind`](quickstudy_core::Error::kind)), `failure` and `exists`.
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
    pub(crate) fn user(message: impl Into<String>) -> Self {
        Self { code: 2, kind: "config", message: message.into(), hint: String::new() }
    }

    /// A failure during work (exit code 1).
    pub(crate) fn failure(message: impl Into<String>) -> Self {
        Self { code: 1, kind: "failure", ..Self::user(message) }
    }

    /// A non-finite value (exit code 3).
    pub(crate) fn non_finite(message: impl Into<String>) -> Self {
        Self { code: NON_FINITE, kind: "non-finite", ..Self::user(message) }
    }

    /// Names in the message the file, the flag or the part of the work that it is about.
    pub(crate) fn about(self, what: impl fmt::Display) -> Self {
        Self { message: format!("{what}: {}", self.message), ..self }
    }

    /// Adds the hint line.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = program::by_name(hint.into());
        self
    }
}

/// The exit code and sentence for an error of the core.
impl From<quickstudy_core::Error> for Stop {
    fn from(error: quickstudy_core::Error) -> Self {
        use quickstudy_core::Error;
        let (kind, message) = (error.kind(), error.to_string());
        let stop = |code| Stop { code, kind, message, hint: String::new() };
        match error {
            Error::NonFinite(_) => stop(NON_FINITE),
            Error::Unknown { kind: "key", .. } => {
                stop(2).hint("`quickstudy list settings` explains those of each algorithm")
            }
            Error::Unknown { kind: "environment", name, .. } if is_id(&name) => stop(2).hint(format!(
                "an environment of Gymnasium is named gymnasium:{name}, one that a module registers gymnasium:MODULE:ID"
            )),
            Error::Unknown { .. } => stop(2).hint("`quickstudy list` shows what there is"),
            Error::ManyTasks(name) if name.starts_with("metaworld:") => {
                stop(2).hint("add ?task_per_episode=true to its name, and each episode has another task")
            }
            Error::Config { .. } | Error::ManyTasks(_) | Error::Snapshot(_) | Error::NewerSnapshot { .. } => stop(2),
            // What is known to be too much; an allocation that fails may succeed another time.
            Error::Memory(shortage) if shortage.limit.is_some() => {
                stop(2).hint("--memory says how much may be taken, without it what is free")
            }
            Error::Interrupted => {
                Stop { message: "stopped within an iteration, which is lost".to_owned(), ..stop(INTERRUPTED) }
            }
            Error::Lost(_) => stop(1).hint("run it again, or with --device cpu"),
            _ => stop(1),
        }
    }
}

/// True for names like those of Gymnasium: `CartPole-v1`.
fn is_id(name: &str) -> bool {
    let version = name.rsplit_once("-v").map(|(_, version)| version.chars().next());
    version.flatten().is_some_and(|first| first.is_ascii_digit())
}

/// Writes lines to standard error in one piece: other processes, such as the other ranks of a launcher, may write there
/// too, and would come between a line and its end. Where nobody listens there is nothing to do.
pub(crate) fn tell(lines: &str) {
    let _ = std::io::stderr().write_all(format!("{lines}\n").as_bytes());
}

/// Prints one `error:` line (red on a terminal) and one `hint:` line to stderr; returns the exit code.
pub(crate) fn report(stop: &Stop) -> u8 {
    use std::io::IsTerminal as _;
    let (red, cyan, off) =
        if std::io::stderr().is_terminal() { ("\x1b[1;31m", "\x1b[36m", "\x1b[0m") } else { ("", "", "") };
    // A traceback of Python follows its first line.
    let (first, traceback) = stop.message.split_once("\nTraceback (").unwrap_or((&stop.message, ""));
    let mut lines = vec![format!("{red}error:{off} {}", one_line(first))];
    lines.extend(traceback.lines().skip(1).map(|line| format!("  {}", one_line(line))));
    let hint = one_line(&stop.hint);
    if !hint.is_empty() {
        lines.push(format!("{cyan}hint:{off} {hint}"));
    }
    // Where nobody listens the exit code still says it.
    tell(&lines.join("\n"));
    stop.code
}

#[cfg(test)]
mod tests {
    use super::*;
    use quickstudy_core::{Error, Shortage};

    #[test]
    fn what_the_user_can_change_is_code_2() {
        let code = |error: Error| Stop::from(error).code;
        assert_eq!(code(Error::config("gamma", "2 is not in 0 to 1")), 2);
        assert_eq!(code(Error::unknown("environment", "cartpol", ["cartpole"])), 2);
        assert_eq!(code(Error::Snapshot("damaged".into())), 2);
        assert_eq!(code(Error::Device("gone".into())), 1);
        let lost = Stop::from(Error::Lost("the GPU was lost".into()));
        assert_eq!((lost.code, lost.kind), (1, LOST));
        assert_eq!(code(Error::NonFinite("loss".into())), 3);
        assert_eq!(code(Error::Interrupted), 130);
        let shortage = |limit| code(Error::Memory(Box::new(Shortage::new(2_000_000_000, limit))));
        assert_eq!((shortage(Some(1)), shortage(None)), (2, 1));
    }
}
