//! Run folders as experiments: which folders hold the same run, which runs share a line, and what the line is called.

use crate::config::RUN_KEYS;
use crate::metrics::Table as Metrics;
use crate::outcome::Stop;
use crate::progress::say;
use crate::run::points;
use crate::run_folder::{self, file};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use toml::{Table, Value};

/// Names of an experiment, which come first in a label and without their key.
const NAMES: [&str; 3] = ["algorithm", "env", "folder"];
/// Settings in a label at most, unless fewer do not tell lines apart.
const SHOWN: usize = 3;
/// Letters of a value in a label at most.
const LETTERS: usize = 48;
/// Notes about folders of the same run that are written out.
const NOTES: usize = 5;

/// The metric of one run.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// Its folder.
    pub folder: PathBuf,
    /// Its seed, if it is recorded.
    pub seed: Option<Value>,
    /// Resolved settings that change what is trained, without the seed.
    pub config: Table,
    /// `(environment steps, value)`, or another column's numbers for the steps.
    pub points: Vec<(f64, f64)>,
}

impl Run {
    /// Reads the column `metric` over the column `over` of a run folder; without a configuration its name stands for that.
    ///
    /// # Errors
    /// [`Stop`] with code 2 if its files cannot be read, or its metrics lack a column.
    pub fn read(folder: &Path, over: &str, metric: &str) -> Result<Self, Stop> {
        let path = folder.join(file::CSV);
        let table = Metrics::read(&path)?;
        if table.damaged > 0 {
            let path = path.display();
            say(&format!("note: {path} has {} damaged lines, left out; a resume mends them", table.damaged));
        }
        let missing = [over, metric].into_iter().find(|name| table.column(name).is_none());
        if let Some(metric) = missing.filter(|_| !table.columns.is_empty()) {
            let near = quickstudy_core::closest(metric, table.columns.iter().map(String::as_str));
            let hint = near.map_or_else(
                || format!("it has: {}", table.columns.join(", ")),
                |near| format!("did you mean `{near}`?"),
            );
            return Err(Stop::user(format!("{} has no metric `{metric}`", folder.display())).hint(hint));
        }
        let mut config = read_config(folder)?;
        let seed = config.remove("seed");
        config.retain(|key, _| !RUN_KEYS.contains(&key) || ["steps", "from"].contains(&key) || NAMES.contains(&key));
        Ok(Self { folder: folder.to_owned(), seed, config, points: points(&table, over, metric) })
    }

    /// True if the other run has the same settings and seed. Runs whose `steps` differ are the same run, made longer, if they
    /// agree where both measured.
    fn same(&self, other: &Self) -> bool {
        if self.seed.is_none() || self.seed != other.seed {
            return false;
        }
        let but_steps = |run: &Self| -> Table {
            run.config.iter().filter(|(key, _)| *key != "steps").map(|(k, v)| (k.clone(), v.clone())).collect()
        };
        self.config == other.config || (but_steps(self) == but_steps(other) && self.agrees(other))
    }

    /// True if there are steps at which both measured, and both measured the same there.
    fn agrees(&self, other: &Self) -> bool {
        let at = |x: f64| other.points.binary_search_by(|(step, _)| step.total_cmp(&x)).ok().map(|i| other.points[i].1);
        let mut common = self.points.iter().filter_map(|(x, y)| Some((*y, at(*x)?))).peekable();
        common.peek().is_some() && common.all(|(a, b)| a == b)
    }

    fn length(&self) -> f64 {
        self.points.last().map_or(0.0, |(x, _)| *x)
    }
}

fn read_config(folder: &Path) -> Result<Table, Stop> {
    let path = folder.join(file::CONFIG);
    if !path.exists() {
        return Ok(Table::from_iter([("folder".to_owned(), name(folder).into())]));
    }
    let bytes = run_folder::read_own_text(&path)?;
    toml::from_str(&String::from_utf8_lossy(&bytes))
        .map_err(|error| Stop::user(format!("{} is no TOML: {}", path.display(), error.message())))
}

/// The last part of a folder's path.
fn name(folder: &Path) -> String {
    folder.file_name().unwrap_or(folder.as_os_str()).to_string_lossy().into_owned()
}

/// Each run once, the longest of the folders that hold it, in order; and notes that name the others.
#[must_use]
pub fn unique(all: Vec<Run>) -> (Vec<Run>, Vec<String>) {
    let mut kept: Vec<Run> = Vec::new();
    let mut notes = Vec::new();
    let mut left_out = 0;
    for run in all {
        let Some(known) = kept.iter_mut().find(|known| known.same(&run)) else {
            kept.push(run);
            continue;
        };
        left_out += 1;
        let seed = run.seed.as_ref().map_or(String::new(), Value::to_string);
        let [a, b] = [&*known, &run].map(|run| run.folder.display().to_string());
        let same = match known.points.is_empty() || known.agrees(&run) {
            true => "hold the same run",
            false => "hold runs of the same settings, though not the same numbers (made on another device?),",
        };
        let why = match run.length().total_cmp(&known.length()) {
            std::cmp::Ordering::Equal => format!("{a} counts"),
            std::cmp::Ordering::Less => format!("{a} counts, which is longer"),
            std::cmp::Ordering::Greater => format!("{b} counts, which is longer"),
        };
        if run.length() > known.length() {
            *known = run;
        }
        if left_out <= NOTES {
            notes.push(format!("note: {a} and {b} {same} with seed {seed}: {why}"));
        }
    }
    if left_out > NOTES {
        notes.push(format!("note: {} more folders hold runs that count already", left_out - NOTES));
    }
    (kept, notes)
}

/// Runs that share a line.
#[derive(Clone, Debug, PartialEq)]
pub struct Experiment {
    /// The settings that they share: all but the seed, or the keys that were asked for.
    pub config: Table,
    /// At least one.
    pub runs: Vec<Run>,
}

/// Sorts runs into experiments: those that differ in nothing but the seed or, with `by`, those on one environment that have
/// the same values of these keys.
///
/// # Errors
/// [`Stop`] with code 2 if no run has one of the keys.
pub fn group(runs: Vec<Run>, by: &[String]) -> Result<Vec<Experiment>, Stop> {
    let known: BTreeSet<&str> = runs.iter().flat_map(|run| run.config.keys().map(String::as_str)).collect();
    for key in by {
        let others = ["seed", "folder"];
        if !known.contains(key.as_str()) && !others.contains(&key.as_str()) {
            let all = known.iter().copied().chain(others);
            let hint = quickstudy_core::closest(key, all)
                .map_or_else(|| "config.toml names the keys".to_owned(), |near| format!("did you mean `{near}`?"));
            return Err(Stop::user(format!("--by {key}: no run has this setting")).hint(hint));
        }
    }
    let key_of = |run: &Run| -> Table {
        if by.is_empty() {
            return run.config.clone();
        }
        let value = |key: &String| match key.as_str() {
            "seed" => run.seed.clone(),
            "folder" => Some(Value::String(run.folder.display().to_string())),
            _ => run.config.get(key).cloned(),
        };
        // Returns of different environments have no mean.
        let env = "env".to_owned();
        by.iter().chain([&env]).filter_map(|key| Some((key.clone(), value(key)?))).collect()
    };
    let mut all: Vec<Experiment> = Vec::new();
    for run in runs {
        let config = key_of(&run);
        match all.iter_mut().find(|one| one.config == config) {
            Some(one) => one.runs.push(run),
            None => all.push(Experiment { config, runs: vec![run] }),
        }
    }
    Ok(all)
}

/// The names of algorithm and environment that all runs share, in that order.
#[must_use]
pub fn shared(all: &[Experiment]) -> Vec<String> {
    let mut runs = all.iter().flat_map(|one| &one.runs);
    let Some(first) = runs.next() else { return Vec::new() };
    let rest: Vec<&Run> = runs.collect();
    let common = |key: &&str| rest.iter().all(|run| run.config.get(*key) == first.config.get(*key));
    NAMES[..2].iter().filter(|key| common(key)).filter_map(|key| first.config.get(*key).map(show)).collect()
}

/// A label for each experiment: algorithm and environment where these differ, then the settings that tell it from others
/// of the same algorithm and environment; and the settings in which such experiments differ without a label that says so.
#[must_use]
pub fn labels(all: &[Experiment], by: &[String]) -> (Vec<String>, Vec<String>) {
    let names = |one: &Experiment| NAMES.map(|key| one.config.get(key).cloned());
    let mut hidden = BTreeSet::new();
    let label = |one: &Experiment| {
        let differs = |key: &str| all.iter().any(|other| other.config.get(key) != one.config.get(key));
        let alike: Vec<&Experiment> = all.iter().filter(|other| names(other) == names(one)).collect();
        let keys: BTreeSet<&String> = alike.iter().flat_map(|other| other.config.keys()).collect();
        let differing: Vec<&String> = keys
            .into_iter()
            .filter(|key| !NAMES.contains(&key.as_str()))
            .filter(|key| alike.iter().any(|other| other.config.get(*key) != one.config.get(*key)))
            .collect();
        let told = if by.is_empty() { telling(&alike, &differing) } else { by.iter().collect() };
        hidden.extend(differing.iter().filter(|key| !told.contains(key)).map(|key| (*key).clone()));
        let is_name =
            |key: &&str| by.iter().any(|asked| asked == key) || (differs(key) && (by.is_empty() || *key == "env"));
        let mut named: Vec<String> =
            NAMES.iter().filter(|key| is_name(key)).filter_map(|key| one.config.get(*key).map(show)).collect();
        let settings: Vec<String> = told
            .into_iter()
            .filter(|key| !NAMES.contains(&key.as_str()))
            .map(|key| {
                let key_shown = show(&Value::String(key.clone()));
                format!("{key_shown}={}", one.config.get(key).map_or_else(|| "–".to_owned(), show))
            })
            .collect();
        if named.is_empty() && settings.is_empty() {
            named = NAMES.iter().filter_map(|key| one.config.get(*key).map(show)).collect();
        }
        let named = named.join(" · ");
        [vec![named], settings].concat().into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
    };
    let labels = all.iter().map(label).collect();
    (labels, hidden.into_iter().collect())
}

/// Those of `keys` that tell experiments apart: all of a few, otherwise as few as do, the most telling first.
fn telling<'a>(alike: &[&Experiment], keys: &[&'a String]) -> Vec<&'a String> {
    if keys.len() <= SHOWN {
        return keys.to_vec();
    }
    let mut chosen: Vec<&String> = Vec::new();
    let kinds = |chosen: &[&String]| {
        let values = |one: &&Experiment| chosen.iter().map(|key| one.config.get(*key).map(show)).collect::<Vec<_>>();
        alike.iter().map(values).collect::<BTreeSet<_>>().len()
    };
    while kinds(&chosen) < alike.len() && chosen.len() < keys.len() {
        let with = |key: &&'a String| kinds(&[&chosen[..], &[*key]].concat());
        let rest = keys.iter().copied().filter(|key| !chosen.contains(key));
        // Of equally telling ones the first by name.
        let Some(best) = rest.rev().max_by_key(with) else { break };
        chosen.push(best);
    }
    chosen
}

/// A value in few letters, all of which can be printed.
fn show(value: &Value) -> String {
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

    fn run(folder: &str, config: &str, values: &[f64]) -> Run {
        let mut config: Table = toml::from_str(config).unwrap();
        let seed = config.remove("seed");
        let points = values.iter().enumerate().map(|(i, y)| (100.0 * (i + 1) as f64, *y)).collect();
        Run { folder: folder.into(), seed, config, points }
    }

    #[test]
    fn the_same_run_counts_once_and_the_longer_folder_stands_for_it() {
        let config = |seed: u8, steps: u32| format!("env = \"x\"\nsteps = {steps}\nseed = {seed}");
        let all = vec![
            run("a", &config(0, 300), &[1.0, 2.0]),
            run("copy", &config(0, 300), &[1.0, 2.0]),
            run("finished", &config(0, 300), &[1.0, 2.0, 3.0]),
            run("other seed", &config(1, 300), &[1.0, 2.0, 3.0]),
            run("extended", &config(0, 900), &[1.0, 2.0, 3.0, 4.0]),
            run("another schedule", &config(1, 900), &[1.5, 2.5]),
            run("another device", &config(1, 300), &[1.1, 2.1]),
        ];
        let (kept, notes) = unique(all);
        let folders: Vec<String> = kept.iter().map(|run| run.folder.display().to_string()).collect();
        assert_eq!(folders, ["extended", "other seed", "another schedule"]);
        assert_eq!(notes[0], "note: a and copy hold the same run with seed 0: a counts");
        assert_eq!(notes[1], "note: a and finished hold the same run with seed 0: finished counts, which is longer");
        assert_eq!(
            notes[2],
            "note: finished and extended hold the same run with seed 0: extended counts, which is longer"
        );
        assert!(notes[3].contains("another device") && notes[3].contains("not the same numbers"), "{notes:?}");
        assert_eq!(notes.len(), 4);
        // Without a seed nobody knows.
        assert_eq!(unique(vec![run("a", "", &[1.0]), run("b", "", &[1.0])]).0.len(), 2);
        let many = (0..9).map(|i| run(&format!("{i}"), "seed = 0", &[1.0])).collect();
        assert_eq!(unique(many).1.last().unwrap(), "note: 3 more folders hold runs that count already");
    }

    fn labelled(configs: &[&str], by: &[&str]) -> (Vec<String>, Vec<String>) {
        let by: Vec<String> = by.iter().map(|key| (*key).to_owned()).collect();
        let runs = configs.iter().enumerate().map(|(i, config)| run(&format!("r{i}"), config, &[1.0])).collect();
        labels(&group(runs, &by).unwrap(), &by)
    }

    #[test]
    fn labels_begin_with_algorithm_and_environment_and_stay_short() {
        let ppo = "algorithm = \"ppo\"\nenv = \"cartpole\"\ngamma = 0.98\nhidden = [64, 64]\n";
        let trpo = "algorithm = \"trpo\"\nenv = \"cartpole\"\ngamma = 0.99\nmax_kl = 0.01\n";
        let rl2 = "algorithm = \"rl2-ppo\"\nenv = \"bandit:arms=5\"\nunits = 64\nepisodes = 3\n";
        assert_eq!(
            labelled(&[ppo, trpo, rl2], &[]).0,
            ["ppo · cartpole", "trpo · cartpole", "rl2-ppo · bandit:arms=5"]
        );
        assert_eq!(labelled(&[ppo, trpo], &[]).0, ["ppo", "trpo"]);
        assert_eq!(labelled(&[ppo], &[]).0, ["ppo · cartpole"]);
        let wide = ppo.replace("[64, 64]", "[128, 128]").replace("cartpole", "pendulum");
        let narrow = ppo.replace("cartpole", "pendulum");
        assert_eq!(
            labelled(&[ppo, &wide, &narrow], &[]).0,
            ["cartpole", "pendulum hidden=[128,128]", "pendulum hidden=[64,64]"]
        );
        assert_eq!(labelled(&["folder = \"a\"", "folder = \"b\""], &[]).0, ["a", "b"]);
        let strange = format!("folder = \"\\u001b[31m{}\"", "x".repeat(100_000));
        assert_eq!(labelled(&[&strange], &[]).0, [format!("[31m{}…", "x".repeat(44))]);
    }

    #[test]
    fn of_many_settings_those_that_tell_apart_are_named() {
        let config = |gamma: f64, lr: f64| {
            format!("env = \"x\"\ngamma = {gamma}\nlr = {lr}\na = {gamma}\nb = {gamma}\nc = {lr}")
        };
        let all = [config(0.9, 1e-3), config(0.9, 1e-4), config(0.8, 1e-3), config(0.7, 1e-2)];
        let all: Vec<&str> = all.iter().map(String::as_str).collect();
        let (labels, hidden) = labelled(&all, &[]);
        assert_eq!(labels, ["a=0.9 c=0.001", "a=0.9 c=0.0001", "a=0.8 c=0.001", "a=0.7 c=0.01"]);
        assert_eq!(hidden, ["b", "gamma", "lr"]);
        let (labels, hidden) = labelled(&all, &["gamma"]);
        assert_eq!((labels, hidden.len()), (vec!["gamma=0.9".to_owned(), "gamma=0.8".into(), "gamma=0.7".into()], 0));
        assert_eq!(labelled(&all, &["seed"]).0.len(), 1);
        let other = config(0.9, 1e-3).replace("\"x\"", "\"y\"");
        assert_eq!(labelled(&[all[0], all[1], &other], &["gamma"]).0, ["x gamma=0.9", "y gamma=0.9"]);
        assert_eq!(labelled(&all, &["folder"]).0, ["r0", "r1", "r2", "r3"]);
        let runs = vec![run("a", "gamma = 0.9", &[1.0])];
        let stop = group(runs, &["gama".to_owned()]).unwrap_err();
        assert_eq!((stop.code, stop.hint.as_str()), (2, "did you mean `gamma`?"));
    }
}
