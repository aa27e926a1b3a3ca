//! Settings of a run from files and flags.
//!
//! Layers, later ones winning: algorithm defaults < preset < `--config` file < `--set` < dedicated flags. The resolved
//! result is written to `config.toml` with the layer of each value beside it, and can be fed back with `--config`.

use crate::args;
use crate::outcome::Stop;
use crate::run_folder;
use std::path::Path;
use toml::{Table, Value};

/// What names a run, apart from the algorithm's own settings.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Identity {
    /// Algorithm, as in `train ppo`.
    pub algorithm: Option<String>,
    /// Environment, as in `--env cartpole`.
    pub env: Option<String>,
    /// Seeds.
    pub seeds: Option<Vec<u64>>,
}

impl Identity {
    /// Values of `self`, and those of `other` where it has none.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            algorithm: self.algorithm.or(other.algorithm),
            env: self.env.or(other.env),
            seeds: self.seeds.or(other.seeds),
        }
    }
}

/// Reads a configuration file: what it names, and its other settings.
///
/// # Errors
/// [`Stop`] with code 2 if it cannot be read, is no TOML, or a name or seed has the wrong type.
pub fn read_file(path: &Path) -> Result<(Identity, Table), Stop> {
    let bytes = run_folder::read(path)?;
    let text = String::from_utf8(bytes).map_err(|_| Stop::user(format!("{} is no text file", path.display())))?;
    parse(&text).map_err(|problem| Stop::user(format!("{}: {problem}", path.display())))
}

fn parse(text: &str) -> Result<(Identity, Table), String> {
    let mut table: Table = toml::from_str(text).map_err(|error| {
        let line = error.span().map_or(1, |span| text[..span.start.min(text.len())].lines().count().max(1));
        format!("line {line}: {}", error.message())
    })?;
    let mut name = |key: &str| match table.remove(key) {
        None => Ok(None),
        Some(Value::String(name)) => Ok(Some(name)),
        Some(other) => Err(format!("{key}: expected a name in quotes, got {other}")),
    };
    let (algorithm, env) = (name("algorithm")?, name("env")?);
    let seeds = match table.remove("seed") {
        None => None,
        Some(Value::String(text)) => Some(args::seeds(&text).map_err(|e| format!("seed: {e}"))?),
        Some(Value::Integer(seed)) => {
            Some(vec![u64::try_from(seed).map_err(|_| format!("seed: expected 0 or more, got {seed}"))?])
        }
        Some(other) => return Err(format!("seed: expected a whole number or a range in quotes, got {other}")),
    };
    Ok((Identity { algorithm, env, seeds }, table))
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

/// The text of `config.toml`.
#[must_use]
pub fn render(algorithm: &str, env: &str, seed: u64, settings: &[Resolved]) -> String {
    let lines: Vec<(String, &str)> =
        settings.iter().map(|one| (format!("{} = {}", one.key, one.value), one.origin.as_str())).collect();
    let width = lines.iter().map(|(line, _)| line.chars().count()).max().unwrap_or(0).min(48);
    let mut text = format!("algorithm = {}\nenv = {}\nseed = {seed}\n\n", Value::from(algorithm), Value::from(env));
    for (line, origin) in lines {
        // A comment ends at the line's end; an origin is one line, but a path may hold anything.
        let origin = origin.replace(|c: char| c.is_control(), " ");
        text += &format!("{line:<width$}  # {origin}\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rendered_configuration_reads_back() {
        let one = |key: &str, value: Value, origin: &str| Resolved { key: key.into(), value, origin: origin.into() };
        let settings = [
            one("gamma", 0.98.into(), "preset ppo-cartpole"),
            one("hidden", Value::Array(vec![64.into(), 64.into()]), "default"),
            one("activation", "tanh".into(), "--config a\nb = 3"),
            one("learning_rate", 1e-7.into(), "--set"),
        ];
        let text = render("ppo", "cartpole", 7, &settings);
        let (identity, table) = parse(&text).unwrap();
        assert_eq!(
            identity,
            Identity { algorithm: Some("ppo".into()), env: Some("cartpole".into()), seeds: Some(vec![7]) }
        );
        assert_eq!(table, settings.iter().map(|s| (s.key.clone(), s.value.clone())).collect());
        assert!(text.contains("gamma = 0.98 ") && text.contains("# preset ppo-cartpole\n"), "{text}");
    }

    #[test]
    fn mistakes_name_the_line_or_the_key() {
        for (text, part) in [
            ("gamma = 0.9\nx = [", "line 2"),
            ("env = 3", "env"),
            ("seed = -1", "seed"),
            ("seed = \"5..2\"", "seed"),
            ("seed = 1.5", "seed"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
        assert_eq!(parse("seed = \"0..2\"").unwrap().0.seeds, Some(vec![0, 1]));
    }

    #[test]
    fn flags_win_over_the_file() {
        let flags = Identity { env: Some("pendulum".into()), ..Identity::default() };
        let file = Identity { algorithm: Some("ppo".into()), env: Some("cartpole".into()), seeds: None };
        let both = flags.or(file);
        assert_eq!(both.env.as_deref(), Some("pendulum"));
        assert_eq!(both.algorithm.as_deref(), Some("ppo"));
    }
}
