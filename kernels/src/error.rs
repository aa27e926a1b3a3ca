//! The one error type of the core. Every message says what was wrong and what to do about it.

pub(crate) mod aliases;

use aliases::alias;
use std::fmt;

/// The errors of the core. [`Error::kind`] names the kind of each by a word that does not change between versions;
/// messages may get clearer, so nothing should depend on their text.
///
/// `Debug` writes the same sentence as `Display`, so that a `main` that returns one, or an `unwrap`, says what to do.
#[derive(Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An operation was given tensors whose shapes do not fit.
    #[error("{op}: expected {expected}, got {got} (at {at})")]
    Shape {
        /// The operation's name.
        op: &'static str,
        /// The shapes that it needs.
        expected: String,
        /// The shapes that it was given.
        got: String,
        /// Source position of the caller, `file:line`.
        at: String,
    },
    /// An operation was given a tensor of the wrong data type.
    #[error("{op}: expected dtype {expected}, got {got} (at {at})")]
    DType {
        /// The operation's name.
        op: &'static str,
        /// The data types that it needs.
        expected: String,
        /// The data type that it was given.
        got: String,
        /// Source position of the caller, `file:line`.
        at: String,
    },
    /// A tensor was used outside of the trace or of the scan body that it belongs to.
    #[error("{op}: {problem} (at {at})")]
    Scope {
        /// The operation's name.
        op: &'static str,
        /// Says what was wrong.
        problem: String,
        /// Source position of the caller, `file:line`.
        at: String,
    },
    /// A derivative was asked for that does not exist.
    #[error("grad: {0}")]
    Gradient(String),
    /// A program, plan or run was used in a way that it does not allow.
    #[error("program: {0}")]
    Program(String),
    /// A setting has a value that cannot work.
    #[error("{key}: {problem}")]
    Config {
        /// The setting, as it is spelled in files and on the command line.
        key: String,
        /// Says what is wrong with its value and what to do.
        problem: String,
        /// A whole number that would work in its place, where one is known.
        instead: Option<usize>,
    },
    /// An executor's environment of this name has many tasks, and an algorithm trains on one.
    #[error(
        "env: `{0}` has many tasks, and this algorithm trains on one; let the environment draw a task at each reset \
         (`host::TaskPerEpisode` in Rust)"
    )]
    ManyTasks(String),
    /// A name that is not known.
    #[error("unknown {kind} `{name}`{}", Suggestion(.suggestion))]
    Unknown {
        /// The kind of name: `environment`, `algorithm`, `key`, …
        kind: &'static str,
        /// The name that was given.
        name: String,
        /// The closest known name, where one is close.
        suggestion: Option<String>,
    },
    /// Bytes that are not a snapshot that this version can read.
    #[error("snapshot: {0}")]
    Snapshot(String),
    /// The state of a session breaks a rule by which snapshots are read, so that none is made of it.
    #[error("not saved: {0}")]
    Unsaved(String),
    /// A snapshot of a format that came after this version.
    #[error(
        "snapshot: written by the newer version {version} (format {format}, this program reads up to {newest}); \
         update quickstudy"
    )]
    NewerSnapshot {
        /// The version of quickstudy that wrote it.
        version: String,
        /// Its format.
        format: u64,
        /// The newest format that this version reads.
        newest: u32,
    },
    /// An environment that breaks its contract.
    #[error("environment {name}: {problem}")]
    Environment {
        /// Name of the environment.
        name: String,
        /// Says what is wrong.
        problem: String,
    },
    /// The device failed or lacks something.
    #[error("device: {0}")]
    Device(String),
    /// The device is gone for good, as when its driver was reset: what it held is lost, and another one may go on.
    #[error("device: {0}")]
    Lost(String),
    /// A computation produced a NaN or an infinity.
    #[error("non-finite value: {0}")]
    NonFinite(String),
    /// More memory is needed than there is, or than may be taken.
    #[error("memory: {0}")]
    Memory(Box<Shortage>),
    /// A program was asked to stop ([`Interrupt`](crate::backend::Interrupt)) and did: what it was to change is half
    /// changed.
    #[error("stopped in the middle of a program, as was asked for")]
    Interrupted,
}

/// The memory that is missing, and its largest parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shortage {
    /// Bytes that are needed in all, or that could not be allocated where there is no `limit`.
    pub bytes: u64,
    /// Bytes that may be taken.
    pub limit: Option<u64>,
    /// The largest parts: bytes, name, shape and where it was made.
    pub largest: Vec<String>,
    /// Settings of which lower values take less.
    pub settings: Vec<&'static str>,
}

impl Shortage {
    /// Counts bytes of which nothing else is known.
    pub fn new(bytes: u64, limit: Option<u64>) -> Shortage {
        Shortage { bytes, limit, largest: Vec::new(), settings: Vec::new() }
    }
}

impl fmt::Display for Shortage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&in_bytes(self.bytes))?;
        match self.limit {
            Some(limit) => write!(f, " are needed, and {} may be taken", in_bytes(limit))?,
            None => f.write_str(" could not be allocated")?,
        }
        for (i, part) in self.largest.iter().enumerate() {
            write!(f, "{}{part}", if i == 0 { "; among them " } else { ", " })?;
        }
        for (i, key) in self.settings.iter().enumerate() {
            write!(f, "{}{key}", if i == 0 { "; less is needed with lower " } else { ", " })?;
        }
        Ok(())
    }
}

/// Bytes in words: `687.2 GB`.
pub fn in_bytes(bytes: u64) -> String {
    let (unit, name) = match bytes {
        ..1_000_000 => (1e3, "kB"),
        1_000_000..1_000_000_000 => (1e6, "MB"),
        1_000_000_000..1_000_000_000_000 => (1e9, "GB"),
        _ => (1e12, "TB"),
    };
    format!("{:.1} {name}", bytes as f64 / unit)
}

/// Result of the core's functions.
pub type Result<T> = std::result::Result<T, Error>;

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

struct Suggestion<'a>(&'a Option<String>);

impl fmt::Display for Suggestion<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(name) => write!(f, ", did you mean `{name}`?"),
            None => Ok(()),
        }
    }
}

impl Error {
    /// The kind of error, as a word that does not change between versions. Lines of `--json` and errors in JavaScript
    /// have the same.
    ///
    /// | word | what is wrong |
    /// |---|---|
    /// | `config` | a setting, option or argument cannot be as it is given |
    /// | `unknown` | a name of an algorithm, environment or setting is not known |
    /// | `snapshot` | bytes are no snapshot that this version can read |
    /// | `environment` | an environment broke its contract or threw |
    /// | `device` | a device is missing or failed |
    /// | `device-lost` | a GPU is gone |
    /// | `non-finite` | nothing finite is left to learn from |
    /// | `memory` | more memory is needed than there is |
    /// | `interrupted` | the program was asked to stop |
    /// | `program` | a traced program is made or used wrongly: shapes, types, scopes, derivatives |
    /// | `unsaved` | the state of a session cannot be saved |
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Error::Config { .. } | Error::ManyTasks(_) => "config",
            Error::Unknown { .. } => "unknown",
            Error::Snapshot(_) | Error::NewerSnapshot { .. } => "snapshot",
            Error::Environment { .. } => "environment",
            Error::Device(_) => "device",
            Error::Lost(_) => "device-lost",
            Error::NonFinite(_) => "non-finite",
            Error::Memory(_) => "memory",
            Error::Interrupted => "interrupted",
            Error::Shape { .. } | Error::DType { .. } | Error::Scope { .. } => "program",
            Error::Gradient(_) | Error::Program(_) => "program",
            Error::Unsaved(_) => "unsaved",
        }
    }

    /// An unknown name; the suggestion is the one of `known` that other libraries call so, or else the closest.
    pub fn unknown<'a>(kind: &'static str, name: &str, known: impl IntoIterator<Item = &'a str>) -> Self {
        let known: Vec<&str> = known.into_iter().collect();
        let suggestion = alias(name, known.iter().copied()).or_else(|| closest(name, known));
        Error::Unknown { kind, name: name.to_owned(), suggestion: suggestion.map(str::to_owned) }
    }

    /// An error if a setting's value does not fit into its `range` (in words), or is not finite.
    pub fn in_range(key: &str, value: f64, fits: bool, range: &str) -> Result<()> {
        if !fits || !value.is_finite() {
            return Err(Error::config(key, format!("{value} is not {range}")));
        }
        // Programs compute in single precision.
        let single = value as f32;
        match single.is_finite() && (single == 0.0) == (value == 0.0) {
            true => Ok(()),
            false => Err(Error::config(key, format!("{value:e} is beyond single precision, 1.2e-38 to 3.4e38"))),
        }
    }

    /// Names the settings that would lower what is needed, if this error is about memory.
    pub fn lowered_by(self, settings: &[&'static str]) -> Self {
        match self {
            Error::Memory(mut shortage) if shortage.settings.is_empty() => {
                shortage.settings = settings.to_vec();
                Error::Memory(shortage)
            }
            other => other,
        }
    }

    /// A setting with a bad value.
    pub fn config(key: impl Into<String>, problem: impl Into<String>) -> Self {
        Error::Config { key: key.into(), problem: problem.into(), instead: None }
    }

    /// A setting with a bad value, in whose place this number would work.
    pub fn config_instead(key: impl Into<String>, problem: impl Into<String>, instead: usize) -> Self {
        Error::Config { key: key.into(), problem: problem.into(), instead: Some(instead) }
    }
}

/// The name of `known` that is nearest to `name` by edit distance, if it is near enough to be a typing error.
///
/// Capitals and a version as in `CartPole-v1` make no difference.
pub fn closest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let name = name.to_ascii_lowercase();
    let name = match name.rsplit_once("-v") {
        Some((base, version)) if version.chars().all(|c| c.is_ascii_digit()) => base,
        _ => &name,
    };
    let limit = (name.chars().count() / 3).max(2);
    known
        .into_iter()
        .map(|k| (edit_distance(name, &k.to_ascii_lowercase()), k))
        .filter(|(d, k)| *d <= limit || (name.len() >= 3 && k.starts_with(name)))
        .min_by_key(|(d, _)| *d)
        .map(|(_, k)| k)
}

/// Edit distance with swaps of neighbours (optimal string alignment), so that `clip_esp` is one edit from `clip_eps`.
fn edit_distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows = vec![vec![0usize; b.len() + 1]; a.len() + 1];
    for (i, row) in rows.iter_mut().enumerate() {
        row[0] = i;
    }
    rows[0] = (0..=b.len()).collect();
    for i in 1..=a.len() {
        for j in 1..=b.len() {
            let cost = usize::from(a[i - 1] != b[j - 1]);
            let mut d = (rows[i - 1][j] + 1).min(rows[i][j - 1] + 1).min(rows[i - 1][j - 1] + cost);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                d = d.min(rows[i - 2][j - 2] + 1);
            }
            rows[i][j] = d;
        }
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typing_error_gets_a_suggestion() {
        let e = Error::unknown("key", "clip_esp", ["gamma", "clip_eps"]);
        assert_eq!(e.to_string(), "unknown key `clip_esp`, did you mean `clip_eps`?");
        assert_eq!(Error::unknown("key", "zzzzzz", ["gamma"]).to_string(), "unknown key `zzzzzz`");
        assert_eq!(
            Error::unknown("key", "lr", ["gamma", "learning_rate"]).to_string(),
            "unknown key `lr`, did you mean `learning_rate`?"
        );
        for (name, meant) in [("CartPole-v1", "cartpole"), ("MountainCar-v0", "mountain-car"), ("PPO", "ppo")] {
            assert_eq!(closest(name, ["ppo", "cartpole", "mountain-car", "mountain-car-continuous"]), Some(meant));
        }
    }
}
