//! The kinds of values that settings of a run have: how each is typed, read from TOML, and written.

use crate::settings::keep_snapshots::Keep;
use crate::settings::parse;
use clap::{Arg, ArgAction, ArgMatches, value_parser};
use std::path::{Path, PathBuf};
use toml::Value;

/// A kind of values.
pub trait Kind {
    /// The value.
    type Value: Clone + Send + Sync + 'static;
    /// Its name in help texts, as in `--env <NAME>`.
    const SHOWN: &'static str;

    /// Adds the parser of values to a flag.
    fn parsed(flag: Arg) -> Arg;

    /// Takes the value out of a table's entry.
    fn read(value: Value) -> Result<Self::Value, String>;

    /// The value as configurations have it.
    fn write(value: &Self::Value) -> Value;

    /// The argument of a setting: a flag that is named as its key.
    fn argument(key: &'static str) -> Arg {
        Self::parsed(Arg::new(key).long(key.replace('_', "-")).value_name(Self::SHOWN))
    }

    /// Takes the value that was typed.
    fn typed(matches: &mut ArgMatches, key: &str) -> Option<Self::Value> {
        matches.remove_one(key)
    }

    /// The origin of a value that was typed.
    fn origin(key: &str) -> String {
        format!("--{}", key.replace('_', "-"))
    }
}

/// A name behind its flag.
#[derive(Debug)]
pub struct Name;

impl Kind for Name {
    type Value = String;
    const SHOWN: &'static str = "NAME";

    fn parsed(flag: Arg) -> Arg {
        flag
    }

    fn read(value: Value) -> Result<String, String> {
        match value {
            Value::String(name) => Ok(name),
            other => Err(format!("expected a name in quotes, got {other}")),
        }
    }

    fn write(value: &String) -> Value {
        Value::String(value.clone())
    }
}

/// An algorithm's name, which stands without a flag.
#[derive(Debug)]
pub struct Algorithm;

impl Kind for Algorithm {
    type Value = String;
    const SHOWN: &'static str = "ALGORITHM";

    fn parsed(flag: Arg) -> Arg {
        flag
    }

    fn read(value: Value) -> Result<String, String> {
        Name::read(value)
    }

    fn write(value: &String) -> Value {
        Name::write(value)
    }

    fn argument(key: &'static str) -> Arg {
        Arg::new(key).value_name(Self::SHOWN)
    }

    fn origin(_: &str) -> String {
        "command line".to_owned()
    }
}

/// Seeds of one command: one, a range or a list.
#[derive(Debug)]
pub struct Seeds;

impl Kind for Seeds {
    type Value = Vec<u64>;
    const SHOWN: &'static str = "SEEDS";

    fn parsed(flag: Arg) -> Arg {
        flag.value_parser(parse::seeds).allow_negative_numbers(true)
    }

    fn read(value: Value) -> Result<Vec<u64>, String> {
        match value {
            Value::String(text) => parse::seeds(&text),
            Value::Integer(seed) => {
                Ok(vec![u64::try_from(seed).map_err(|_| format!("expected 0 or more, got {seed}"))?])
            }
            other => Err(format!("expected a whole number or a range in quotes, got {other}")),
        }
    }

    fn write(value: &Vec<u64>) -> Value {
        match value.as_slice() {
            [seed] => whole(*seed),
            all => Value::String(all.iter().map(u64::to_string).collect::<Vec<_>>().join(",")),
        }
    }
}

/// A count of at least 1.
#[derive(Debug)]
pub struct Count;

impl Kind for Count {
    type Value = u64;
    const SHOWN: &'static str = "N";

    fn parsed(flag: Arg) -> Arg {
        flag.value_parser(parse::count).allow_negative_numbers(true)
    }

    fn read(value: Value) -> Result<u64, String> {
        at_least(1, &value)
    }

    fn write(value: &u64) -> Value {
        whole(*value)
    }
}

/// Steps between two events, 0 for a rule of its own.
#[derive(Debug)]
pub struct Interval;

impl Kind for Interval {
    type Value = u64;
    const SHOWN: &'static str = "N";

    fn parsed(flag: Arg) -> Arg {
        flag.value_parser(parse::count_or_zero).allow_negative_numbers(true)
    }

    fn read(value: Value) -> Result<u64, String> {
        at_least(0, &value)
    }

    fn write(value: &u64) -> Value {
        whole(*value)
    }
}

/// Episodes of one evaluation.
#[derive(Debug)]
pub struct Episodes;

impl Kind for Episodes {
    type Value = u64;
    const SHOWN: &'static str = "N";

    fn parsed(flag: Arg) -> Arg {
        flag.value_parser(parse::episodes).allow_negative_numbers(true)
    }

    fn read(value: Value) -> Result<u64, String> {
        parse::episodes(&at_least(1, &value)?.to_string())
    }

    fn write(value: &u64) -> Value {
        whole(*value)
    }
}

impl Kind for Keep {
    type Value = Keep;
    const SHOWN: &'static str = "WHICH";

    fn parsed(flag: Arg) -> Arg {
        flag.value_parser(Keep::parse).allow_negative_numbers(true)
    }

    fn read(value: Value) -> Result<Keep, String> {
        Keep::parse(&value.as_str().map_or_else(|| value.to_string(), str::to_owned))
    }

    fn write(value: &Keep) -> Value {
        value.value()
    }
}

/// Run folders and snapshots whose parameters a new run begins with.
#[derive(Debug)]
pub struct Sources;

impl Kind for Sources {
    type Value = Vec<PathBuf>;
    const SHOWN: &'static str = "RUN";

    fn parsed(flag: Arg) -> Arg {
        let paths = flag.value_parser(value_parser!(PathBuf)).action(ArgAction::Append).num_args(1..);
        paths.conflicts_with("resume")
    }

    fn read(value: Value) -> Result<Vec<PathBuf>, String> {
        let expected = "expected a path in quotes, or a list of them";
        match value {
            Value::String(path) => Ok(vec![path.into()]),
            Value::Array(paths) => {
                let paths: Option<Vec<_>> = paths.iter().map(path_of).collect();
                paths.filter(|paths| !paths.is_empty()).ok_or_else(|| expected.to_owned())
            }
            other => Err(format!("{expected}, got {other}")),
        }
    }

    fn write(value: &Vec<PathBuf>) -> Value {
        Value::Array(value.iter().map(|path| path_value(path)).collect())
    }

    fn typed(matches: &mut ArgMatches, key: &str) -> Option<Vec<PathBuf>> {
        matches.remove_many(key).map(Iterator::collect)
    }
}

/// A whole number of TOML.
fn whole(value: u64) -> Value {
    Value::Integer(i64::try_from(value).unwrap_or(i64::MAX))
}

fn at_least(least: u64, value: &Value) -> Result<u64, String> {
    let number = match value {
        Value::Integer(n) => u64::try_from(*n).ok(),
        Value::Float(x) if x.fract() == 0.0 && (0.0..1e15).contains(x) => Some(*x as u64),
        Value::String(text) => parse::count(text).ok(),
        _ => None,
    };
    number.filter(|n| *n >= least).ok_or_else(|| format!("expected a whole number of at least {least}"))
}

/// A path as a configuration holds it: in quotes, or as a list of its bytes where they are no text.
fn path_value(path: &Path) -> Value {
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
