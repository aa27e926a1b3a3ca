//! Names of environments of Python, and what they stand for.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use quickstudy_core::{Error, Result};
use serde_json::{Map, Value};

/// How environments of Python are run. None of it changes what is learned.
#[derive(Clone, Debug)]
pub struct Options {
    /// The interpreter, or its virtual environment; none: the one that [`Interpreter::find`](crate::Interpreter::find)
    /// finds.
    pub python: Option<PathBuf>,
    /// Processes of each executor; none: one per core, and never more than environments.
    pub workers: Option<usize>,
    /// The longest that one step of a process may take.
    pub time_limit: Duration,
    /// Gets lines for the user: what environments print, and notes.
    pub say: fn(&str),
    /// Tells whether to stop waiting for environments: what runs is then [`Error::Interrupted`].
    pub stop: fn() -> bool,
    /// Tells whether what runs is the last that is waited for. A process that does not answer to a step or a reset then
    /// is taken, after some seconds, for one that never will, and what runs is [`Error::Interrupted`] too.
    pub hurry: fn() -> bool,
}

impl Default for Options {
    /// Finds an interpreter, runs a process per core, waits a minute, and says nothing.
    fn default() -> Options {
        Options {
            python: None,
            workers: None,
            time_limit: Duration::from_secs(60),
            say: |_| {},
            stop: || false,
            hurry: || false,
        }
    }
}

/// The kinds of environments, as names begin with them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Gymnasium,
    MetaWorld,
}

impl Kind {
    const ALL: [Kind; 2] = [Kind::Gymnasium, Kind::MetaWorld];

    /// The word before the colon.
    pub fn word(self) -> &'static str {
        match self {
            Kind::Gymnasium => "gymnasium",
            Kind::MetaWorld => "metaworld",
        }
    }

    /// The packages to install.
    pub fn packages(self) -> &'static str {
        match self {
            Kind::Gymnasium => "\"gymnasium[classic-control,mujoco]\"",
            Kind::MetaWorld => "metaworld packaging",
        }
    }
}

/// An environment of Python: its name, taken apart, and how it is run.
#[derive(Clone)]
pub struct Recipe {
    /// The whole name: `gymnasium:Pendulum-v1?g=5.0`.
    pub(crate) name: String,
    pub(crate) kind: Kind,
    /// `Pendulum-v1`.
    pub(crate) id: String,
    /// `{"g": 5.0}`.
    pub(crate) arguments: Map<String, Value>,
    pub(crate) options: Options,
}

impl fmt::Debug for Recipe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Recipe").field(&self.name).finish()
    }
}

/// True for names of environments of Python, right or wrong.
#[must_use]
pub fn is_name(name: &str) -> bool {
    Kind::ALL.iter().any(|kind| name.strip_prefix(kind.word()).is_some_and(|rest| rest.starts_with(':')))
}

impl Recipe {
    /// Takes a name apart: `gymnasium:ID` or `metaworld:BENCHMARK`, behind a question mark keyword arguments,
    /// `g=5.0&max_episode_steps=100`, whose values are JSON, `True`, `False` or `None`, or else text. An id may begin
    /// with the module that registers it, `module:ID`. Benchmarks are `ML1-reach` and its like, `ML10`, `ML45`,
    /// `MT1-reach`, `MT10` and `MT50`.
    ///
    /// # Errors
    /// [`Error::Config`] if it is no such name.
    pub fn parse(name: &str, options: &Options) -> Result<Recipe> {
        let wrong = |problem: &str| Error::config("env", format!("`{name}` {problem}"));
        let (word, rest) = name.split_once(':').unwrap_or_default();
        let kind = Kind::ALL.into_iter().find(|kind| kind.word() == word);
        let kind = kind.ok_or_else(|| wrong("is no name of an environment of Python"))?;
        let (id, list) = rest.split_once('?').unwrap_or((rest, ""));
        if id.is_empty() {
            return Err(wrong("names no environment; write for example gymnasium:CartPole-v1"));
        }
        let mut arguments = Map::new();
        for pair in list.split('&').filter(|pair| !pair.is_empty()) {
            let (key, value) = pair.split_once('=').filter(|(key, _)| !key.is_empty()).ok_or_else(|| {
                wrong(&format!("has `{pair}` among its arguments; write key=value, with & between them"))
            })?;
            let value = match value {
                "True" => Value::Bool(true),
                "False" => Value::Bool(false),
                "None" => Value::Null,
                other => serde_json::from_str(other).unwrap_or_else(|_| Value::String(other.to_owned())),
            };
            if arguments.insert(key.to_owned(), value).is_some() {
                return Err(wrong(&format!("has the argument `{key}` twice")));
            }
        }
        let (id, options) = (id.to_owned(), options.clone());
        Ok(Recipe { name: name.to_owned(), kind, id, arguments, options })
    }

    /// The error for this environment.
    pub(crate) fn error(&self, problem: impl fmt::Display) -> Error {
        Error::config("env", format!("{}: {problem}", self.name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(name: &str) -> Result<Recipe> {
        Recipe::parse(name, &Options::default())
    }

    #[test]
    fn names_are_taken_apart() {
        let plain = parse("gymnasium:CartPole-v1").unwrap();
        assert_eq!((plain.id.as_str(), plain.arguments.len()), ("CartPole-v1", 0));
        let recipe = parse("gymnasium:my.module:Own-v0?g=5.0&max_episode_steps=100&map=4x4&slippery=False").unwrap();
        assert_eq!(recipe.id, "my.module:Own-v0");
        let all = serde_json::json!({"g": 5.0, "max_episode_steps": 100, "map": "4x4", "slippery": false});
        assert_eq!(Value::Object(recipe.arguments), all);
        assert!(
            is_name("gymnasium:")
                && is_name("gymnasium:x")
                && is_name("metaworld:ML10")
                && !is_name("gymnasium")
                && !is_name("cartpole")
        );
    }

    #[test]
    fn wrong_names_say_how_to_write_them() {
        for (name, part) in [
            ("gymnasium:", "gymnasium:CartPole-v1"),
            ("gymnasium:?g=5", "names no environment"),
            ("gymnasium:A-v0?g", "key=value"),
            ("gymnasium:A-v0?=5", "key=value"),
            ("gymnasium:A-v0?g=5&g=6", "twice"),
        ] {
            let error = parse(name).unwrap_err().to_string();
            assert!(error.starts_with(&format!("env: `{name}`")) && error.contains(part), "{error}");
        }
    }
}
