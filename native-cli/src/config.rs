//! Settings of a run from files and flags.
//!
//! Layers, later ones winning: algorithm defaults < preset < `--config` file < `--set` < dedicated flags. The resolved
//! result is written to `config.toml` with the layer of each value beside it, and can be fed back with `--config`.

use crate::args;
use crate::keep::Keep;
use crate::meta_test::MetaTestArgs;
use crate::outcome::Stop;
use crate::run_folder;
use quickstudy_core::meta::TestSizes;
use std::path::{Path, PathBuf};
use toml::{Table, Value};

/// Settings of the run itself; all others are the algorithm's own.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunKeys {
    /// Algorithm, as in `train ppo`.
    pub algorithm: Option<String>,
    /// Environment, as in `--env cartpole`.
    pub env: Option<String>,
    /// Seeds.
    pub seeds: Option<Vec<u64>>,
    /// Environment steps per seed.
    pub steps: Option<u64>,
    /// Environment steps between evaluations, 0 for none.
    pub eval_every: Option<u64>,
    /// Episodes per evaluation.
    pub eval_episodes: Option<u64>,
    /// The sizes of the meta-tests that evaluations are.
    pub meta_test: MetaTestArgs,
    /// Environment steps between rows of the metrics, 0 for rows that get rarer.
    pub log_every: Option<u64>,
    /// Which snapshots are kept.
    pub keep_snapshots: Option<Keep>,
    /// Run folders and snapshots whose parameters training begins with.
    pub from: Option<Vec<PathBuf>>,
}

/// The keys of [`RunKeys`] as they are spelled in files.
pub const RUN_KEYS: [&str; 12] = [
    "algorithm",
    "env",
    "seed",
    "steps",
    "eval_every",
    "eval_episodes",
    TestSizes::KEYS[0],
    TestSizes::KEYS[1],
    TestSizes::KEYS[2],
    "log_every",
    "keep_snapshots",
    "from",
];

impl RunKeys {
    /// Values of `self`, and those of `other` where it has none.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            algorithm: self.algorithm.or(other.algorithm),
            env: self.env.or(other.env),
            seeds: self.seeds.or(other.seeds),
            steps: self.steps.or(other.steps),
            eval_every: self.eval_every.or(other.eval_every),
            eval_episodes: self.eval_episodes.or(other.eval_episodes),
            meta_test: self.meta_test.or(&other.meta_test),
            log_every: self.log_every.or(other.log_every),
            keep_snapshots: self.keep_snapshots.or(other.keep_snapshots),
            from: self.from.or(other.from),
        }
    }

    /// Takes the run's keys out of `table` and leaves the algorithm's.
    ///
    /// # Errors
    /// A sentence for the user if a value has the wrong type.
    pub fn take(table: &mut Table) -> Result<Self, String> {
        let mut name = |key: &str| match table.remove(key) {
            None => Ok(None),
            Some(Value::String(name)) => Ok(Some(name)),
            Some(other) => Err(format!("{key}: expected a name in quotes, got {other}")),
        };
        let (algorithm, env) = (name("algorithm")?, name("env")?);
        let mut count = |key: &str, least: u64| {
            let number = match table.remove(key) {
                None => return Ok(None),
                Some(Value::Integer(n)) => u64::try_from(n).ok(),
                Some(Value::Float(x)) if x.fract() == 0.0 && (0.0..1e15).contains(&x) => Some(x as u64),
                Some(Value::String(text)) => args::count(&text).ok(),
                Some(_) => None,
            };
            match number.filter(|n| *n >= least) {
                Some(n) => Ok(Some(n)),
                None => Err(format!("{key}: expected a whole number of at least {least}")),
            }
        };
        let (steps, eval_every) = (count("steps", 1)?, count("eval_every", 0)?);
        let eval_episodes = count("eval_episodes", 1)?;
        let [exploration, episodes, tasks] = TestSizes::KEYS;
        let meta_test = MetaTestArgs::of([count(exploration, 1)?, count(episodes, 1)?, count(tasks, 1)?]);
        let log_every = count("log_every", 0)?;
        if let Some(asked) = eval_episodes {
            args::episodes(&asked.to_string()).map_err(|problem| format!("eval_episodes: {problem}"))?;
        }
        let seeds = match table.remove("seed") {
            None => None,
            Some(Value::String(text)) => Some(args::seeds(&text).map_err(|e| format!("seed: {e}"))?),
            Some(Value::Integer(seed)) => {
                Some(vec![u64::try_from(seed).map_err(|_| format!("seed: expected 0 or more, got {seed}"))?])
            }
            Some(other) => {
                return Err(format!("seed: expected a whole number or a range in quotes, got {other}"));
            }
        };
        let keep_snapshots = match table.remove("keep_snapshots") {
            None => None,
            Some(value) => {
                let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                Some(Keep::parse(&text).map_err(|problem| format!("keep_snapshots: {problem}"))?)
            }
        };
        let from = match table.remove("from") {
            None => None,
            Some(Value::String(path)) => Some(vec![path.into()]),
            Some(Value::Array(paths)) => {
                let paths: Option<Vec<_>> = paths.iter().map(path_of).collect();
                let paths = paths.filter(|paths| !paths.is_empty());
                Some(paths.ok_or("from: expected a path in quotes, or a list of them")?)
            }
            Some(other) => return Err(format!("from: expected a path in quotes, or a list of them, got {other}")),
        };
        Ok(Self { algorithm, env, seeds, steps, eval_every, eval_episodes, meta_test, log_every, keep_snapshots, from })
    }
}

/// A path as a configuration holds it: in quotes, or as a list of its bytes where they are no text.
#[must_use]
pub fn path_value(path: &Path) -> Value {
    match path.to_str() {
        Some(text) => text.into(),
        None => Value::Array(path.as_os_str().as_encoded_bytes().iter().map(|byte| i64::from(*byte).into()).collect()),
    }
}

/// The inverse of [`path_value`].
fn path_of(value: &Value) -> Option<PathBuf> {
    match value {
        Value::String(path) => Some(path.into()),
        Value::Array(bytes) if !bytes.is_empty() => {
            let bytes: Option<Vec<u8>> = bytes.iter().map(|byte| u8::try_from(byte.as_integer()?).ok()).collect();
            path_of_bytes(bytes?)
        }
        _ => None,
    }
}

#[cfg(unix)]
fn path_of_bytes(bytes: Vec<u8>) -> Option<PathBuf> {
    use std::os::unix::ffi::OsStringExt as _;
    Some(std::ffi::OsString::from_vec(bytes).into())
}

/// Elsewhere paths are no bytes.
#[cfg(not(unix))]
fn path_of_bytes(bytes: Vec<u8>) -> Option<PathBuf> {
    String::from_utf8(bytes).ok().map(PathBuf::from)
}

/// Reads a configuration file: the run's keys, and the algorithm's.
///
/// # Errors
/// [`Stop`] with code 2 if it cannot be read, is no TOML, or a value has the wrong type.
pub fn read_file(path: &Path) -> Result<(RunKeys, Table), Stop> {
    let bytes = run_folder::read_text(path)?;
    let text = String::from_utf8(bytes).map_err(|_| Stop::user(format!("{} is no text file", path.display())))?;
    parse(&text).map_err(|problem| Stop::user(format!("{}: {problem}", path.display())))
}

/// The run's keys and the algorithm's in a TOML text.
pub(crate) fn parse(text: &str) -> Result<(RunKeys, Table), String> {
    let mut table: Table = toml::from_str(text).map_err(|error| {
        let start = error.span().map_or(0, |span| span.start.min(text.len()));
        let line = text[..start].matches('\n').count() + 1;
        format!("line {line}: {}", error.message())
    })?;
    Ok((RunKeys::take(&mut table)?, table))
}

/// Settings given with `--set`, a later one of the same key winning: the run's keys, and the algorithm's.
///
/// # Errors
/// [`Stop`] with code 2 if a value has the wrong type.
pub fn from_settings(settings: &[(String, Value)]) -> Result<(RunKeys, Table), Stop> {
    let mut table: Table = settings.iter().cloned().collect();
    let keys = RunKeys::take(&mut table).map_err(|problem| Stop::user(format!("--set {problem}")))?;
    Ok((keys, table))
}

/// One resolved setting: its value and the layer that it came from.
#[derive(Clone, Debug, PartialEq)]
pub struct Resolved {
    /// Key.
    pub key: String,
    /// Value.
    pub value: Value,
    /// `default`, `preset …`, a file, `--set`, or a flag.
    pub origin: String,
}

/// The text of `config.toml`: settings in order, each with its origin as a comment.
#[must_use]
pub fn render(settings: &[Resolved]) -> String {
    let lines: Vec<(String, &str)> =
        settings.iter().map(|one| (format!("{} = {}", one.key, one.value), one.origin.as_str())).collect();
    let width = lines.iter().map(|(line, _)| line.chars().count()).max().unwrap_or(0).min(48);
    let mut text = String::new();
    for (line, origin) in lines {
        // A comment ends at the line's end; an origin is one line, but a path may hold anything.
        let origin = origin.replace(|c: char| c.is_control(), " ");
        text += &format!("{line:<width$}  # {origin}\n");
    }
    text
}

/// The text of a `config.toml` with one number replaced, by the flag of the same name.
#[must_use]
pub fn with_key(text: &str, key: &str, value: &Value) -> String {
    let line = format!("{key} = {value}  # --{}\n", key.replace('_', "-"));
    let is_it = |old: &str| old.split('=').next().is_some_and(|name| name.trim() == key);
    if !text.lines().any(is_it) {
        return line + text;
    }
    text.split_inclusive('\n').map(|old| if is_it(old) { line.as_str() } else { old }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rendered_configuration_reads_back() {
        let one = |key: &str, value: Value, origin: &str| Resolved { key: key.into(), value, origin: origin.into() };
        let settings = [
            one("algorithm", "ppo".into(), "command line"),
            one("seed", 7.into(), "command line"),
            one("steps", 100_000.into(), "preset ppo-cartpole"),
            one("gamma", 0.98.into(), "preset ppo-cartpole"),
            one("hidden", Value::Array(vec![64.into(), 64.into()]), "default"),
            one("activation", "tanh".into(), "--config a\nb = 3"),
            one("learning_rate", 1e-7.into(), "--set"),
        ];
        let text = render(&settings);
        let (keys, table) = parse(&text).unwrap();
        let expected =
            RunKeys { algorithm: Some("ppo".into()), seeds: Some(vec![7]), steps: Some(100_000), ..RunKeys::default() };
        assert_eq!(keys, expected);
        assert_eq!(table, settings[3..].iter().map(|s| (s.key.clone(), s.value.clone())).collect());
        assert!(text.contains("gamma = 0.98 ") && text.contains("# preset ppo-cartpole\n"), "{text}");
    }

    #[test]
    fn one_number_is_replaced_in_place() {
        let text = "env = \"x\"\nsteps = 100  # default\neval_every = 10\n";
        assert_eq!(with_key(text, "steps", &7.into()), "env = \"x\"\nsteps = 7  # --steps\neval_every = 10\n");
        assert_eq!(with_key("a = 1\n", "eval_every", &5.into()), "eval_every = 5  # --eval-every\na = 1\n");
    }

    #[test]
    fn mistakes_name_the_line_or_the_key() {
        for (text, part) in [
            ("gamma = 0.9\nx = [", "line 2"),
            ("env = 3", "env"),
            ("seed = -1", "seed"),
            ("seed = \"5..2\"", "seed"),
            ("seed = 1.5", "seed"),
            ("steps = 0", "steps"),
            ("steps = [1]", "steps"),
            ("eval_episodes = 0", "eval_episodes"),
            ("log_every = -1", "log_every"),
            ("n_test_tasks = 0", "n_test_tasks: expected a whole number of at least 1"),
            ("keep_snapshots = 0", "keep_snapshots: expected last, all, none"),
            ("from = 3", "from: expected a path"),
            ("from = []", "from: expected a path"),
            ("eval_episodes = 2000000", "eval_episodes: one evaluation has at most 1048576"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
        assert_eq!(parse("seed = \"0..2\"").unwrap().0.seeds, Some(vec![0, 1]));
        assert_eq!(parse("from = \"a\"").unwrap().0.from, parse("from = [\"a\"]").unwrap().0.from);
        assert_eq!(parse("from = [[47, 97], \"b\"]").unwrap().0.from, Some(vec!["/a".into(), "b".into()]));
        assert!(parse("from = [[47, 256]]").is_err() && parse("from = [[]]").is_err());
    }

    #[test]
    fn flags_win_over_the_file() {
        let (set, rest) = from_settings(&[
            ("env".into(), "cartpole".into()),
            ("steps".into(), 1e5.into()),
            ("gamma".into(), 0.9.into()),
            ("gamma".into(), 0.8.into()),
        ])
        .unwrap();
        assert_eq!(rest, Table::from_iter([("gamma".to_owned(), Value::from(0.8))]));
        let flags = RunKeys { env: Some("pendulum".into()), ..RunKeys::default() };
        let both = flags.or(set);
        assert_eq!(both.env.as_deref(), Some("pendulum"));
        assert_eq!((both.steps, both.algorithm), (Some(100_000), None));
    }
}
