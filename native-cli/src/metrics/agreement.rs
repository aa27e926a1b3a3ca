//! Agreement of a run folder's files: its snapshot, its configuration and its metrics are of one run.
//!
//! A snapshot goes on by its own header, whatever lies beside it. Were that of another run, the folder would be trained
//! on as one run and read as another. So whoever goes on compares first, and whoever reads believes the snapshot.

use crate::files::reading;
use crate::folder::file;
use crate::metrics::history::ITERATIONS;
use crate::metrics::rows::{RowFormat, Rows, TextRow, columns_of, open};
use crate::metrics::tfevents::{self, Records};
use crate::outcome::Stop;
use crate::settings::register;
use crate::settings::run_settings::RunSettings;
use crate::text::one_line;
use quickstudy_bridge::is_name;
use std::fs::{self, File};
use std::io::Read as _;
use std::path::Path;
use toml::{Table, Value};

/// Bytes of a snapshot's list of tensors at most; none of this program has a megabyte.
const LONGEST: u64 = 16 << 20;
/// Rows of the metrics that are compared with each other.
const ROWS: usize = 200;
/// Names of a run, beside the settings of its algorithm.
const NAMES: [&str; 3] = ["algorithm", "env", "seed"];

/// A run as its snapshot tells of it, read without the rest of that file.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SnapshotRun {
    /// Algorithm, environment, seed and settings, by the keys of a configuration.
    pub settings: Table,
    /// Iterations and, where the file counts them, environment steps that it has made.
    made: (u64, Option<u64>),
}

impl SnapshotRun {
    /// Reads the head of a snapshot; none if there is no file, or one that is damaged, as reading all of it tells.
    pub(crate) fn read(path: &Path) -> Option<Self> {
        let mut snapshot = fs::metadata(path).ok().filter(fs::Metadata::is_file).and_then(|_| File::open(path).ok())?;
        let mut size = [0; 8];
        snapshot.read_exact(&mut size).ok()?;
        let size = Some(u64::from_le_bytes(size)).filter(|size| *size <= LONGEST)?;
        let mut head = Vec::new();
        snapshot.take(size).read_to_end(&mut head).ok()?;
        let head: serde_json::Value = serde_json::from_slice(&head).ok()?;
        let header = head.get("__metadata__")?.get("quickstudy")?.as_str()?;
        let header: serde_json::Value = serde_json::from_str(header).ok()?;
        let mut settings = Table::try_from(header.get("config")?).ok()?;
        for key in NAMES {
            settings.insert(key.to_owned(), Value::try_from(header.get(key)?).ok()?);
        }
        let count = |key: &str| header.get(key).and_then(serde_json::Value::as_u64);
        Some(Self { settings, made: (count("iteration")?, count("env_steps")) })
    }

    /// The settings that a configuration gives otherwise: the key, and both values. The length of a run may change, and
    /// what only one of them names says nothing: versions differ in that.
    pub(crate) fn differing(&self, config: &Table) -> Vec<(String, Value, Value)> {
        let is_setting = |key: &str| NAMES.contains(&key) || !RunSettings::KEYS.contains(&key);
        let both = self.settings.iter().filter_map(|(key, own)| Some((key, own, config.get(key)?)));
        let different = both.filter(|(key, own, other)| is_setting(key) && !self.is_same(key, own, other));
        different.map(|(key, own, other)| (key.clone(), own.clone(), other.clone())).collect()
    }

    fn is_same(&self, key: &str, own: &Value, other: &Value) -> bool {
        if own == other {
            return true;
        }
        match (key, own.as_str(), other.as_str()) {
            ("seed", ..) => false,
            ("env", Some(own), Some(other)) => is_environment(own, other),
            _ => {
                let algorithm = self.settings.get("algorithm").and_then(Value::as_str);
                let Some(def) = algorithm.and_then(|name| register::algorithm(name).ok()) else { return false };
                // As the algorithm reads it: 1 is 1.0, and a word may have had another name.
                let read =
                    |value: &Value| def.checked(&Table::from_iter([(key.to_owned(), value.clone())])).ok()?.remove(key);
                read(own).is_some_and(|own| read(other) == Some(own))
            }
        }
    }
}

/// Tells whether both names are of one environment: parameters may be written that have these values anyway. Those of
/// arguments in Python are not known, as it is not started for that; only their order may be another one.
fn is_environment(own: &str, other: &str) -> bool {
    if is_name(own) && is_name(other) {
        return in_order(own) == in_order(other);
    }
    !is_name(own) && !is_name(other) && register::environment(other).is_ok_and(|env| env.spec().name == own)
}

/// The id of an environment of Python, and its arguments in order.
fn in_order(name: &str) -> (&str, Vec<&str>) {
    let (id, arguments) = name.split_once('?').unwrap_or((name, ""));
    let mut pairs: Vec<&str> = arguments.split('&').filter(|pair| !pair.is_empty()).collect();
    pairs.sort_unstable();
    (id, pairs)
}

/// Checks that a snapshot, and the configuration and the metrics in a folder, are of one run. Whatever is missing or
/// damaged is told of by whoever reads it.
pub(crate) fn check(folder: &Path, snapshot: &Path) -> Result<(), Stop> {
    let Some(run) = SnapshotRun::read(snapshot) else { return Ok(()) };
    let unlike = |name: &str, has: &str, own: &str| {
        let message = format!("{} is of another run than {}", folder.join(name).display(), snapshot.display());
        Stop::user(format!("{message}: it has {has}, and the snapshot {own}")).hint(
            "put the run's own file back, or move the other one away: settings of a run do not change when it goes \
             on; start a new run for others",
        )
    };
    let others = [(file::CONFIG, config_in(folder)), (file::EVENTS, config_of_events(folder))];
    for (name, config) in others.into_iter().filter_map(|(name, config)| Some((name, config?))) {
        let differing = run.differing(&config);
        if differing.is_empty() {
            continue;
        }
        let values = |of: fn(&(String, Value, Value)) -> &Value| {
            let shown = differing.iter().take(4).map(|one| format!("{} = {}", one.0, of(one)));
            one_line(&shown.collect::<Vec<_>>().join(", ")).into_owned()
        };
        return Err(unlike(name, &values(|one| &one.2), &values(|one| &one.1)));
    }
    check_rows(folder, run.made, &unlike)
}

/// The configuration in a folder, if it is there and can be read.
fn config_in(folder: &Path) -> Option<Table> {
    toml::from_str(&String::from_utf8_lossy(&reading::read_own_text(&folder.join(file::CONFIG)).ok()?)).ok()
}

/// The configuration with which the events of the metrics begin.
fn config_of_events(folder: &Path) -> Option<Table> {
    let mut events = Records::new(open(&folder.join(file::EVENTS), 0).ok()??, 0);
    events.next_event().ok()??;
    let text = tfevents::text_of(&events.next_event().ok()??)?;
    toml::from_str(text.strip_prefix("```toml\n")?.strip_suffix("\n```")?).ok()
}

/// Checks that rows of the metrics are those of a run that has come so far, and that all files have the same.
fn check_rows(
    folder: &Path,
    (iterations, steps): (u64, Option<u64>),
    unlike: &dyn Fn(&str, &str, &str) -> Stop,
) -> Result<(), Stop> {
    let columns = columns_of(&folder.join(file::CSV)).unwrap_or_default();
    let first = |name: &str, format| -> Vec<TextRow> {
        let rows = Rows::open(&folder.join(name), format, 0).into_iter().flatten();
        rows.map_while(Result::ok).filter(|row| row.steps > 0).take(ROWS).collect()
    };
    let csv = first(file::CSV, RowFormat::Csv(&columns));
    let json = first(file::JSONL, RowFormat::Json);
    let events = first(file::EVENTS, RowFormat::Events);
    for (name, rows) in [(file::CSV, &csv), (file::JSONL, &json), (file::EVENTS, &events)] {
        for row in rows {
            let at = row.value(ITERATIONS);
            let other = match steps.map(|made| row.steps.cmp(&made)) {
                Some(std::cmp::Ordering::Less) => at > iterations as f64,
                Some(std::cmp::Ordering::Equal) => at != iterations as f64 && at.is_finite(),
                Some(std::cmp::Ordering::Greater) => at < iterations as f64,
                None => false,
            };
            if other {
                let has = format!("iteration {at} at environment step {}", row.steps);
                let own = format!("iteration {iterations} at {}", steps.unwrap_or(0));
                return Err(unlike(name, &has, &own));
            }
        }
    }
    // The events have checksums; without them nobody knows which of the others is right.
    let believed = if events.is_empty() { &json } else { &events };
    for (name, rows) in [(file::CSV, &csv), (file::JSONL, &json)] {
        if let Some(steps) = first_unlike(rows, believed) {
            let message = format!("{} is of another run than the other metrics", folder.join(name).display());
            return Err(Stop::user(format!("{message}: no row is the same, from environment step {steps} on"))
                .hint("put the run's own file back, or move the other one away: a resume makes it from the others"));
        }
    }
    Ok(())
}

/// The first row that both have, if of several such rows all are different. A row or two may be damaged.
fn first_unlike(rows: &[TextRow], others: &[TextRow]) -> Option<u64> {
    let common: Vec<(&TextRow, &TextRow)> =
        rows.iter().filter_map(|row| Some((row, others.iter().find(|other| other.steps == row.steps)?))).collect();
    // Events have numbers of 32 bits.
    #[allow(clippy::cast_possible_truncation)]
    let is_same = |(row, other): &(&TextRow, &TextRow)| {
        row.cells.iter().filter(|(name, _)| !name.starts_with("time/")).all(|(name, _)| {
            let (a, b) = (row.value(name) as f32, other.value(name) as f32);
            a == b || a.is_nan() || b.is_nan()
        })
    };
    (common.len() > 2 && !common.iter().any(is_same)).then(|| common[0].0.steps)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn environments_of_python_have_the_same_arguments_in_any_order() {
        let own = "gymnasium:Pendulum-v1?g=5.0&max_episode_steps=100";
        for (other, same) in [
            (own, true),
            ("gymnasium:Pendulum-v1?max_episode_steps=100&g=5.0", true),
            ("gymnasium:Pendulum-v1?&g=5.0&max_episode_steps=100&", true),
            ("gymnasium:Pendulum-v1", false),
            ("gymnasium:Pendulum-v1?g=5.0", false),
            ("gymnasium:Pendulum-v1?g=6.0&max_episode_steps=100", false),
            ("gymnasium:Pendulum-v0?g=5.0&max_episode_steps=100", false),
            ("metaworld:Pendulum-v1?g=5.0&max_episode_steps=100", false),
            ("pendulum", false),
        ] {
            assert_eq!(is_environment(own, other), same, "{other}");
            assert_eq!(is_environment(other, own), same, "{other}");
        }
        assert!(is_environment("gymnasium:CartPole-v1", "gymnasium:CartPole-v1?"));
    }

    #[test]
    fn other_arguments_in_a_configuration_are_named() {
        let settings = |env: &str| Table::from_iter([("env".to_owned(), Value::from(env))]);
        let run = SnapshotRun { settings: settings("gymnasium:Pendulum-v1?g=5"), made: (0, None) };
        assert!(run.differing(&settings("gymnasium:Pendulum-v1?g=5")).is_empty());
        let differing = run.differing(&settings("gymnasium:Pendulum-v1?g=9"));
        let found: Vec<_> =
            differing.iter().map(|(key, own, other)| (key.as_str(), own.as_str(), other.as_str())).collect();
        assert_eq!(found, [("env", Some("gymnasium:Pendulum-v1?g=5"), Some("gymnasium:Pendulum-v1?g=9"))]);
    }
}
