//! Run folders as experiments: which folders hold the same run, which runs share a line, and what the line is called.

mod run;

use crate::folder::find_runs;
use crate::metrics::{self, EPISODE_RETURN, EVAL_RETURN};
use crate::outcome::Stop;
use run::NAMES;
pub(crate) use run::believe_snapshot;
pub(crate) use run::{ENV, Run, show, unique};
use std::collections::{BTreeSet, HashSet};
use std::path::PathBuf;
use toml::{Table, Value};

/// Settings in a label at most, unless fewer do not tell lines apart.
const SHOWN: usize = 3;

/// Runs that share a line.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Experiment {
    /// The settings that they share: all but the seed, or the keys that were asked for.
    pub config: Table,
    /// At least one.
    pub runs: Vec<Run>,
}

impl Experiment {
    /// Its environment, if that is recorded.
    pub(crate) fn env(&self) -> Option<&Value> {
        self.runs.first().and_then(|run| run.config.get(ENV))
    }
}

/// Sorts runs into experiments: those that differ in nothing but the seed or, with `by`, those on one environment
/// that have the same values of these keys.
pub(crate) fn group(runs: Vec<Run>, by: &[String]) -> Result<Vec<Experiment>, Stop> {
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
        let env = ENV.to_owned();
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
pub(crate) fn shared(all: &[Experiment]) -> Vec<String> {
    let mut runs = all.iter().flat_map(|one| &one.runs);
    let Some(first) = runs.next() else { return Vec::new() };
    let rest: Vec<&Run> = runs.collect();
    let common = |key: &&str| rest.iter().all(|run| run.config.get(*key) == first.config.get(*key));
    NAMES[..2].iter().filter(|key| common(key)).filter_map(|key| first.config.get(*key).map(show)).collect()
}

/// The environments of experiments, in order, as they are shown; none stands for runs without a record of it.
pub(crate) fn environments(all: &[Experiment]) -> Vec<Option<&Value>> {
    let mut found = Vec::new();
    for one in all {
        if !found.contains(&one.env()) {
            found.push(one.env());
        }
    }
    found
}

/// The name of an environment, as it is shown.
pub(crate) fn env_name(env: Option<&Value>) -> String {
    env.map_or_else(|| "environment not recorded".to_owned(), show)
}

/// A label for each experiment: the algorithm where algorithms differ, then the settings that tell it from others of
/// the same algorithm and environment; and the settings in which such experiments differ without a label that says so.
/// Environments are named only where they are asked for, as each has a panel, or where nothing else is.
pub(crate) fn labels(all: &[Experiment], by: &[String]) -> (Vec<String>, Vec<String>) {
    let names = |one: &Experiment| NAMES.map(|key| one.config.get(key).cloned());
    let alone = environments(all).len() < 2;
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
            |key: &&str| by.iter().any(|asked| asked == key) || (differs(key) && by.is_empty() && *key != ENV);
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
            let shown = NAMES.iter().filter(|key| alone || **key != ENV);
            named = shown.filter_map(|key| one.config.get(*key).map(show)).collect();
            if named.is_empty() {
                named = one.env().map(show).into_iter().collect();
            }
        }
        let named = named.join(" · ");
        [vec![named], settings].concat().into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
    };
    let labels = all.iter().map(label).collect();
    (labels, hidden.into_iter().collect())
}

/// Finds those of `keys` that tell experiments apart: all of a few, otherwise as few as do, the most telling first.
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

/// Reads all runs in these folders, as [`Run::read`] and [`unique`], and returns them with notes.
pub(crate) fn collect(folders: &[PathBuf], over: &str, metrics: &[String]) -> Result<(Vec<Run>, Vec<String>), Stop> {
    let mut found = Vec::new();
    let mut seen = HashSet::new();
    for folder in folders {
        // However a folder is named, it is there once.
        let new = |found: &PathBuf| seen.insert(found.canonicalize().unwrap_or_else(|_| found.clone()));
        found.extend(find_runs(folder)?.into_iter().filter(new));
    }
    let runs = found.iter().map(|folder| Run::read(folder, over, metrics)).collect::<Result<Vec<_>, _>>()?;
    unique(runs, &metrics::Table::read)
}

/// Returns the metric of returns that all runs on an environment have, and a note where only some have evaluations.
/// `verb` has the forms of what is done with them, such as `drawn` and `draws`.
pub(crate) fn returns(all: &[Experiment], env: Option<&Value>, verb: [&str; 2]) -> (&'static str, Option<String>) {
    let runs = || all.iter().filter(|one| one.env() == env).flat_map(|one| &one.runs);
    let evaluated = runs().filter(|run| !run.curve(EVAL_RETURN).is_empty()).count();
    let has_points = |run: &&Run| run.curves.iter().any(|(_, points)| !points.is_empty());
    let measured = runs().filter(has_points).count();
    if evaluated > 0 && evaluated == measured {
        return (EVAL_RETURN, None);
    }
    let on = env.map_or_else(String::new, |env| format!(" on {}", show(env)));
    let [done, does] = verb;
    let note = format!(
        "note: {evaluated} of {measured} runs{on} have evaluations, so returns of training are {done}; \
         --metric {EVAL_RETURN} {does} those"
    );
    (EPISODE_RETURN, (evaluated > 0).then_some(note))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(folder: &str, config: &str) -> Run {
        let mut config: Table = toml::from_str(config).unwrap();
        let seed = config.remove("seed");
        Run { folder: folder.into(), seed, config, ..Run::default() }
    }

    fn labelled(configs: &[&str], by: &[&str]) -> (Vec<String>, Vec<String>) {
        let by: Vec<String> = by.iter().map(|key| (*key).to_owned()).collect();
        let runs = configs.iter().enumerate().map(|(i, config)| run(&format!("r{i}"), config)).collect();
        labels(&group(runs, &by).unwrap(), &by)
    }

    #[test]
    fn labels_begin_with_algorithm_and_environment_and_stay_short() {
        let ppo = "algorithm = \"ppo\"\nenv = \"cartpole\"\ngamma = 0.98\nhidden = [64, 64]\n";
        let trpo = "algorithm = \"trpo\"\nenv = \"cartpole\"\ngamma = 0.99\nmax_kl = 0.01\n";
        let rl2 = "algorithm = \"rl2-ppo\"\nenv = \"bandit:arms=5\"\nunits = 64\nepisodes = 3\n";
        assert_eq!(
            labelled(&[ppo, trpo, rl2], &[]).0,
            ["ppo", "trpo", "rl2-ppo"],
            "each environment has a panel, which names it"
        );
        assert_eq!(labelled(&[ppo, trpo], &[]).0, ["ppo", "trpo"]);
        assert_eq!(labelled(&[ppo], &[]).0, ["ppo · cartpole"]);
        let wide = ppo.replace("[64, 64]", "[128, 128]").replace("cartpole", "pendulum");
        let narrow = ppo.replace("cartpole", "pendulum");
        assert_eq!(labelled(&[ppo, &wide, &narrow], &[]).0, ["ppo", "hidden=[128,128]", "hidden=[64,64]"]);
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
        assert_eq!(labelled(&[all[0], all[1], &other], &["gamma"]).0, ["gamma=0.9", "gamma=0.9"]);
        assert_eq!(labelled(&all, &["folder"]).0, ["r0", "r1", "r2", "r3"]);
        let runs = vec![run("a", "gamma = 0.9")];
        let stop = group(runs, &["gama".to_owned()]).unwrap_err();
        assert_eq!((stop.code, stop.hint.as_str()), (2, "did you mean `gamma`?"));
    }
}
