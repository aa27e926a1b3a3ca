//! Settings of a run from files and flags.
//!
//! Layers, later ones winning: algorithm defaults < preset < `--config` file < `--set` < dedicated flags. The resolved
//! result is written to `config.toml` with the layer of each value beside it, and can be fed back with `--config`.

use crate::files::reading;
use crate::outcome::Stop;
use crate::settings::run_settings::RunSettings;
use quickstudy_core::train::Setting;
use std::path::Path;
use toml::{Table, Value};

/// Reads a configuration file: the run's keys, and the algorithm's.
pub fn read_file(path: &Path) -> Result<(RunSettings, Table), Stop> {
    let bytes = reading::read_text(path)?;
    let text = String::from_utf8(bytes).map_err(|_| Stop::user(format!("{} is no text file", path.display())))?;
    parse(&text).map_err(|problem| Stop::user(format!("{}: {problem}", path.display())))
}

/// The run's keys and the algorithm's in a TOML text.
pub(crate) fn parse(text: &str) -> Result<(RunSettings, Table), String> {
    let mut table: Table = toml::from_str(text).map_err(|error| {
        let start = error.span().map_or(0, |span| span.start.min(text.len()));
        let line = text[..start].matches('\n').count() + 1;
        format!("line {line}: {}", error.message())
    })?;
    Ok((RunSettings::take(&mut table)?, table))
}

/// Settings given with `--set`, a later one of the same key winning: the run's keys, and the algorithm's.
pub(crate) fn from_settings(settings: &[(String, Value)]) -> Result<(RunSettings, Table), Stop> {
    let mut table: Table = settings.iter().cloned().collect();
    let keys = RunSettings::take(&mut table).map_err(|problem| Stop::user(format!("--set {problem}")))?;
    Ok((keys, table))
}

/// The text of `config.toml`: settings in order, each with its origin as a comment.
pub(crate) fn render(settings: &[Setting]) -> String {
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
pub(crate) fn with_key(text: &str, key: &str, value: &Value) -> String {
    let line = format!("{key} = {value}  # --{}\n", key.replace('_', "-"));
    let is_it = |old: &str| old.split('=').next().is_some_and(|name| name.trim() == key);
    if !text.lines().any(is_it) {
        return line + text;
    }
    text.split_inclusive('\n').map(|old| if is_it(old) { line.as_str() } else { old }).collect()
}

/// The text of a `config.toml` without the line of a key.
pub(crate) fn without_key(text: &str, key: &str) -> String {
    let is_it = |line: &&str| line.split('=').next().is_some_and(|name| name.trim() == key);
    text.split_inclusive('\n').filter(|line| !is_it(line)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rendered_configuration_reads_back() {
        let one = |key: &str, value: Value, origin: &str| Setting { key: key.into(), value, origin: origin.into() };
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
        let expected = RunSettings {
            algorithm: Some("ppo".into()),
            seed: Some(vec![7]),
            steps: Some(100_000),
            ..RunSettings::default()
        };
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
        assert_eq!(parse("seed = \"0..2\"").unwrap().0.seed, Some(vec![0, 1]));
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
        let flags = RunSettings { env: Some("pendulum".into()), ..RunSettings::default() };
        let both = flags.or(set);
        assert_eq!(both.env.as_deref(), Some("pendulum"));
        assert_eq!((both.steps, both.algorithm), (Some(100_000), None));
    }
}
