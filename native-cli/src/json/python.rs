//! Lines of `python check --json`.

use serde::Serialize;

/// A line of `python check --json`.
#[derive(Debug, Serialize, schemars::JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum PythonLine {
    /// The first line: the interpreter.
    Interpreter {
        /// Version of these lines: 1
        version: u32,
        /// Path of the interpreter
        path: String,
        /// The place that named it: `--python`, `VIRTUAL_ENV`, `.venv`, …
        found: String,
        /// Version of Python
        python: String,
    },
    /// A package that environments need.
    Package {
        /// Its name
        name: String,
        /// Its version; none where it is missing
        installed: Option<String>,
        /// Environments that need it
        purpose: String,
        /// True if no environment runs without it
        needed: bool,
        /// Command that installs it
        install: String,
    },
    /// The last line.
    Result {
        /// True if environments run; otherwise the exit code is 2
        ready: bool,
    },
}
