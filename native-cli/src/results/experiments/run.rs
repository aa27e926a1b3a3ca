//! Runs as they are read from their folders, each once.

use crate::files::reading;
use crate::folder::file;
use crate::metrics::agreement::SnapshotRun;
use crate::metrics::{ENV_STEPS, EPISODE_RETURN, EVAL_RETURN, Table as Metrics};
use crate::outcome::Stop;
use crate::results::score::{self, points};
use crate::settings::run_settings::RunSettings;
use crate::terminal::output::say;
use std::cmp::Ordering;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use toml::{Table, Value};

/// Names of an experiment, which come first in a label and without their key.
pub(super) const NAMES: [&str; 3] = ["algorithm", ENV, "folder"];
/// The key of the environment.
pub(crate) const ENV: &str = "env";
/// Letters of a value in a label at most.
const LETTERS: usize = 48;

/// Notes about folders of the same run that are written out.
const NOTES: usize = 5;

/// A run: its settings, and some of its metrics.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Run {
    /// Its folder.
    pub folder: PathBuf,
    /// Its seed, if it is recorded.
    pub seed: Option<Value>,
    /// Resolved settings that change what is trained, without the seed.
    pub config: Table,
    /// Environment steps of its last row.
    pub length: f64,
    /// Environment steps of an iteration.
    pub iteration: f64,
    /// For each metric its name and its points: `(environment steps, value)`, or another column's numbers for the
    /// steps.
    pub curves: Vec<(String, Vec<(f64, f64)>)>,
}

impl Run {
    /// Reads columns of `metrics` over the column `over` from a run folder; without any, returns of evaluations and of
    /// training, as far as they are there. Without a configuration the folder's name stands for that.
    pub(crate) fn read(folder: &Path, over: &str, metrics: &[String]) -> Result<Self, Stop> {
        let table = Metrics::read(folder)?;
        table.notes.iter().for_each(|note| say(note));
        let evaluated = table.column(EVAL_RETURN).is_some();
        let default = [EPISODE_RETURN].into_iter().filter(|name| !evaluated || table.column(name).is_some());
        let default: Vec<String> = default.chain(evaluated.then_some(EVAL_RETURN)).map(str::to_owned).collect();
        let wanted = if metrics.is_empty() { &default } else { metrics };
        score::expect_columns(&table, folder, [over].into_iter().chain(wanted.iter().map(String::as_str)))?;
        let mut config = read_config(folder)?;
        believe_snapshot(folder, &mut config, say);
        let seed = config.remove("seed");
        config.retain(|key, _| {
            !RunSettings::KEYS.contains(&key) || ["steps", "iterations", "from"].contains(&key) || NAMES.contains(&key)
        });
        let curves = wanted.iter().map(|metric| (metric.clone(), points(&table, over, metric))).collect();
        let length = table.column(ENV_STEPS).and_then(|steps| steps.last().copied()).unwrap_or(0.0);
        let iteration = score::iteration(&table);
        Ok(Self { folder: folder.to_owned(), seed, config, length, iteration, curves })
    }

    /// The points of a metric; none if it was not read.
    pub(crate) fn curve(&self, metric: &str) -> &[(f64, f64)] {
        self.curves.iter().find(|(name, _)| name == metric).map_or(&[], |(_, points)| points)
    }

    /// True if the settings and the seed are those of the other run, which may be longer.
    fn is_set_as(&self, other: &Self) -> bool {
        let but_steps = |run: &Self| -> Table {
            run.config
                .iter()
                .filter(|(key, _)| !["steps", "iterations"].contains(&key.as_str()))
                .map(|(k, v)| (k.clone(), v.clone()))
                .collect()
        };
        self.seed.is_some() && self.seed == other.seed && but_steps(self) == but_steps(other)
    }
}

fn read_config(folder: &Path) -> Result<Table, Stop> {
    let path = folder.join(file::CONFIG);
    if !path.exists() {
        let name = folder.file_name().unwrap_or(folder.as_os_str()).to_string_lossy().into_owned();
        return Ok(Table::from_iter([("folder".to_owned(), name.into())]));
    }
    let bytes = reading::read_own_text(&path)?;
    toml::from_str(&String::from_utf8_lossy(&bytes))
        .map_err(|error| Stop::user(format!("{} is no TOML: {}", path.display(), error.message())))
}

/// Puts the values of the folder's snapshot in place of those that the configuration has otherwise, as the snapshot is
/// what was trained, and tells `say` of each.
pub(crate) fn believe_snapshot(folder: &Path, config: &mut Table, say: fn(&str)) {
    let found = [file::LAST, file::BEST].into_iter().find_map(|name| Some((name, folder.join(name))).filter(exists));
    let Some((name, run)) = found.and_then(|(name, path)| Some((name, SnapshotRun::read(&path)?))) else { return };
    for (key, own, other) in run.differing(config) {
        let path = folder.join(file::CONFIG);
        say(&format!("note: {} has {key} = {other}, and {name} {key} = {own}: the snapshot counts", path.display()));
        config.insert(key, own);
    }
}

fn exists((_, path): &(&str, PathBuf)) -> bool {
    path.is_file()
}

/// Tells whether one of two tables of metrics continues the other: over the steps that both have come to,
/// the rows of one are rows of the other, with the same columns and the same numbers, but for time and
/// for evaluations that only one of them made.
fn continues(a: &Metrics, b: &Metrics) -> bool {
    let (Some(steps), Some(other_steps)) = (a.column(ENV_STEPS), b.column(ENV_STEPS)) else { return false };
    let until = steps.last().copied().unwrap_or(0.0).min(other_steps.last().copied().unwrap_or(0.0));
    let mut columns: Vec<(usize, usize, bool)> = Vec::new();
    for (i, name) in a.columns.iter().enumerate().filter(|(_, name)| !is_time(name)) {
        let Some(j) = b.columns.iter().position(|other| other == name) else { return false };
        columns.push((i, j, ["eval/", "MetaTest/"].iter().any(|of| name.starts_with(of))));
    }
    if b.columns.iter().filter(|name| !is_time(name)).count() != columns.len() {
        return false;
    }
    let places: HashMap<u64, usize> = other_steps.iter().enumerate().map(|(row, x)| (x.to_bits(), row)).collect();
    let common: Vec<(usize, usize)> =
        steps.iter().enumerate().filter_map(|(row, x)| Some((row, *places.get(&x.to_bits())?))).collect();
    let fewest = [&steps, &other_steps].map(|all| all.iter().filter(|x| **x <= until).count()).into_iter().min();
    let equal = |(row, other): &(usize, usize)| {
        columns.iter().all(|(i, j, evaluation)| {
            let (x, y) = (a.rows[*row][*i], b.rows[*other][*j]);
            x == y || if *evaluation { x.is_nan() || y.is_nan() } else { x.is_nan() && y.is_nan() }
        })
    };
    !common.is_empty() && Some(common.len()) == fewest && common.iter().all(equal)
}

/// Tells whether a column is about the clock, or about what follows from it.
fn is_time(column: &str) -> bool {
    column.starts_with("time/") && column != ENV_STEPS
}

/// Each run once, in order, and notes that name folders that hold it too: the same run has the same settings, the same
/// seed and the same rows of all metrics, as far as both have come. The longest one counts.
pub(crate) fn unique(
    all: Vec<Run>,
    read: &dyn Fn(&Path) -> Result<Metrics, Stop>,
) -> Result<(Vec<Run>, Vec<String>), Stop> {
    let mut kept: Vec<Run> = Vec::new();
    let mut notes = Vec::new();
    let mut more = 0;
    for run in all {
        let mut same = None;
        let mut other = None;
        // Tables are large, so they are read only where settings and seed are the same, and one at a time beside the
        // run's own.
        if let Some(first) = kept.iter().position(|known| known.is_set_as(&run)) {
            let table = read(&run.folder)?;
            for (at, known) in kept.iter().enumerate().skip(first).filter(|(_, known)| known.is_set_as(&run)) {
                // A run that has just begun has no rows, and none that differ.
                if known.length == 0.0 || run.length == 0.0 || continues(&read(&known.folder)?, &table) {
                    same = Some(at);
                    break;
                }
                other = other.or(Some(at).filter(|_| known.config == run.config));
            }
        }
        let seed = run.seed.as_ref().map_or(String::new(), show);
        let folders = |known: &Run| [known, &run].map(|run| run.folder.display().to_string());
        let note = match (same, other) {
            (None, None) => None,
            (None, Some(at)) => {
                let [a, b] = folders(&kept[at]);
                Some(format!(
                    "note: {a} and {b} have the same settings and seed {seed}, and not the same numbers (made \
                     on another device?): both count"
                ))
            }
            (Some(at), _) => {
                let [a, b] = folders(&kept[at]);
                let why = match run.length.total_cmp(&kept[at].length) {
                    Ordering::Equal => format!("{a} counts"),
                    Ordering::Less => format!("{a} counts, which is longer"),
                    Ordering::Greater => format!("{b} counts, which is longer"),
                };
                Some(format!("note: {a} and {b} hold the same run with seed {seed}: {why}"))
            }
        };
        match same {
            None => kept.push(run),
            Some(at) if run.length > kept[at].length => kept[at] = run,
            Some(_) => {}
        }
        match note {
            Some(note) if notes.len() < NOTES => notes.push(note),
            Some(_) => more += 1,
            None => {}
        }
    }
    if more > 0 {
        notes.push(format!("note: {more} more folders have the settings and the seed of another one"));
    }
    Ok((kept, notes))
}

/// A value in few letters, all of which can be printed.
pub(crate) fn show(value: &Value) -> String {
    let text = match value {
        Value::String(text) => text.clone(),
        other => other.to_string().replace(", ", ","),
    };
    let mut shown: String = text.chars().filter(|c| !c.is_control()).take(LETTERS).collect();
    if text.chars().count() > LETTERS {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(folder: &str, config: &str, rows: usize) -> Run {
        let mut config: Table = toml::from_str(config).unwrap();
        let seed = config.remove("seed");
        Run { folder: folder.into(), seed, config, length: 100.0 * rows as f64, ..Run::default() }
    }

    /// A row for each loss; the return is saturated.
    fn metrics(losses: &[f64]) -> Metrics {
        let columns =
            [ENV_STEPS, EPISODE_RETURN, "train/value_loss", "time/seconds", EVAL_RETURN].map(str::to_owned).to_vec();
        let row = |(i, loss): (usize, &f64)| vec![100.0 * (i + 1) as f64, 500.0, *loss, loss.sin(), f64::NAN];
        Metrics { columns, rows: losses.iter().enumerate().map(row).collect(), ..Metrics::default() }
    }

    #[test]
    fn the_same_run_counts_once_and_the_longer_folder_stands_for_it() {
        let config = |seed: u8, steps: u32| format!("env = \"x\"\nsteps = {steps}\nseed = {seed}");
        let found: Vec<(&str, u8, u32, &[f64])> = vec![
            ("a", 0, 300, &[1.0, 2.0]),
            ("copy", 0, 300, &[1.0, 2.0]),
            ("finished", 0, 300, &[1.0, 2.0, 3.0]),
            ("other seed", 1, 300, &[1.0, 2.0, 3.0]),
            ("extended", 0, 900, &[1.0, 2.0, 3.0, 4.0]),
            ("another schedule", 1, 900, &[1.5, 2.5]),
            ("another device", 1, 300, &[1.0, 2.1]),
        ];
        let read = |folder: &Path| {
            let rows = found.iter().find(|(name, ..)| Path::new(name) == folder).map(|(.., rows)| *rows);
            Ok(metrics(rows.unwrap()))
        };
        let all = found.iter().map(|(name, seed, steps, rows)| run(name, &config(*seed, *steps), rows.len())).collect();
        let (kept, notes) = unique(all, &read).unwrap();
        let folders: Vec<String> = kept.iter().map(|run| run.folder.display().to_string()).collect();
        // All have the same return, which is saturated: what they learned tells them apart.
        assert_eq!(folders, ["extended", "other seed", "another schedule", "another device"]);
        assert_eq!(notes[0], "note: a and copy hold the same run with seed 0: a counts");
        assert_eq!(notes[1], "note: a and finished hold the same run with seed 0: finished counts, which is longer");
        assert_eq!(
            notes[2],
            "note: finished and extended hold the same run with seed 0: extended counts, which is longer"
        );
        assert!(notes[3].contains("other seed and another device") && notes[3].ends_with("both count"), "{notes:?}");
        assert_eq!(notes.len(), 4);
        // Without a seed nobody knows.
        let anybody = vec![run("a", "", 2), run("copy", "", 2)];
        assert_eq!(unique(anybody, &read).unwrap().0.len(), 2);
        let many = (0..9).map(|_| run("a", "seed = 0", 2)).collect();
        let (kept, notes) = unique(many, &read).unwrap();
        assert_eq!((kept.len(), notes.len()), (1, 6));
        assert_eq!(notes[5], "note: 3 more folders have the settings and the seed of another one");
    }

    #[test]
    fn rows_are_the_same_where_one_table_continues_the_other() {
        let (long, short) = (metrics(&[1.0, 2.0, 3.0, 4.0]), metrics(&[1.0, 2.0]));
        assert!(continues(&long, &short) && continues(&short, &long));
        // Rows that were written less often, as by --log-every, and evaluations that only one of them made.
        let mut rare = long.clone();
        rare.rows.remove(0);
        rare.rows[1][4] = 480.0;
        assert!(continues(&long, &rare) && continues(&rare, &long));
        rare.rows[1][4] = f64::NAN;
        rare.rows[1][2] = 3.5;
        assert!(!continues(&long, &rare));
        // Rows at other steps, in either, are other rows.
        let mut shifted = long.clone();
        shifted.rows[2][0] = 301.0;
        assert!(!continues(&long, &shifted) && !continues(&short, &metrics(&[])));
        let mut old = long.clone();
        old.columns[2] = "train/loss".into();
        assert!(!continues(&old, &short) && !continues(&short, &old));
    }
}
