//! Files of sweeps: the settings of all trials, and those that are tried.
//!
//! ```toml
//! algorithm = "ppo"           # any key of a configuration: all trials have it
//! env = "cartpole"
//! seed = "0..3"
//! metric = "eval/return_mean" # its last value is a trial's score
//! goal = "max"                # or min
//!
//! [grid]                      # each value with each other one
//! learning_rate = [1e-4, 3e-4, 1e-3]
//!
//! [random]                    # so many draws
//! trials = 24
//! seed = 0
//! gamma = { low = 0.9, high = 0.999 }
//! entropy_coef = { low = 1e-4, high = 1e-1, scale = "log" }
//! activation = ["tanh", "relu"]
//!
//! [halving]                   # the best 1 of eta goes on, with eta times as many steps
//! eta = 3
//! first_steps = "10k"
//! ```

use super::halving::Halving;
use super::random::{MOST_TRIALS, RandomSearch};
use crate::files::reading::read_text;
use crate::outcome::Stop;
use crate::settings::parse;
use crate::settings::request::Request;
use crate::settings::run_settings::RunSettings;
use crate::studies::study::parts::{Pair, pairs, split};
use crate::studies::sweep::score::Goal;
use crate::text::numbers::grouped;
use std::collections::HashSet;
use std::path::Path;
use toml::{Table, Value};

/// A sweep as it was asked for.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct SweepFile {
    /// Settings of all trials.
    pub fixed: Table,
    /// Settings with the values that are tried.
    pub grid: Vec<(String, Vec<Value>)>,
    /// Settings that are drawn.
    pub random: Option<RandomSearch>,
    /// The rule by which trials end early.
    pub halving: Option<Halving>,
    /// The metric whose last value is the score, if it is named.
    pub metric: Option<String>,
    /// The better scores.
    pub goal: Goal,
}

impl SweepFile {
    /// Reads a file, and returns its text too.
    pub(crate) fn read(path: &Path) -> Result<(Self, String), Stop> {
        let text = String::from_utf8(read_text(path)?);
        let text = text.map_err(|_| Stop::user(format!("{} is no text file", path.display())))?;
        let file = Self::parse(&text).map_err(|problem| Stop::user(problem).about(path.display()))?;
        Ok((file, text))
    }

    /// Reads the text of a file.
    fn parse(text: &str) -> Result<Self, String> {
        let mut table: Table = toml::from_str(text).map_err(|error| {
            let start = error.span().map_or(0, |span| span.start.min(text.len()));
            format!("line {}: {}", text[..start].matches('\n').count() + 1, error.message())
        })?;
        let mut section = |name: &str| match table.remove(name) {
            None => Ok(None),
            Some(Value::Table(section)) => Ok(Some(section)),
            Some(_) => Err(format!("{name} is no table; write [{name}] and its settings below it")),
        };
        let (grid, random, halving) = (section("grid")?, section("random")?, section("halving")?);
        let mut grid: Vec<(String, Value)> = grid.into_iter().flatten().collect();
        grid.sort_by(|one, other| one.0.cmp(&other.0));
        let grid = grid.into_iter().map(|(key, values)| grid_values(key, values)).collect::<Result<_, _>>()?;
        let metric = match table.remove("metric") {
            None => None,
            Some(Value::String(name)) => Some(name),
            Some(other) => return Err(format!("metric: expected the name of a metric in quotes, got {other}")),
        };
        let goal = match table.remove("goal").as_ref().map(Value::as_str) {
            None => Goal::Max,
            Some(Some("max")) => Goal::Max,
            Some(Some("min")) => Goal::Min,
            Some(_) => return Err("goal: expected \"max\" or \"min\"".to_owned()),
        };
        if let Some((key, _)) = table.iter().find(|(_, value)| value.is_table()) {
            let near = quickstudy_core::closest(key, ["grid", "random", "halving"]);
            let near = near.map_or_else(String::new, |near| format!(", did you mean [{near}]?"));
            return Err(format!("unknown table [{key}]{near}; there are [grid], [random] and [halving]"));
        }
        let random = random.map(RandomSearch::read).transpose()?;
        let halving = halving.map(Halving::read).transpose()?;
        let file = Self { fixed: table, grid, random, halving, metric, goal };
        file.check()?;
        Ok(file)
    }

    /// Puts settings that flags give in place of its own, and those of `--set`.
    pub(crate) fn put(&mut self, flags: Table, settings: &[String]) -> Result<(), Stop> {
        let lengths = ["steps", "iterations"];
        if lengths.iter().any(|key| flags.contains_key(*key)) {
            self.fixed.retain(|key, _| !lengths.contains(&key));
        }
        self.fixed.extend(flags);
        settings.iter().try_for_each(|setting| self.set(setting))?;
        if let (Some(halving), false) = (self.halving, self.fixed.contains_key("eval_every")) {
            // Each rung ends with an evaluation.
            let steps = i64::try_from(halving.first_steps).unwrap_or(i64::MAX);
            self.fixed.insert("eval_every".to_owned(), Value::Integer(steps));
        }
        Ok(())
    }

    /// The algorithm and the environment of all trials.
    pub(crate) fn pair(&self) -> Result<Pair, Stop> {
        let settings = self.fixed.iter().map(|(key, value)| (key.clone(), value.clone())).collect();
        let [message, hint] = match pairs(&Request { settings, ..Request::default() })?.as_slice() {
            [pair] => return Ok(pair.clone()),
            [] => {
                ["a sweep needs an algorithm and an environment", "name them in the file, or by --algorithm and --env"]
            }
            _ => ["a sweep has one algorithm and one environment", "make a sweep for each of them"],
        };
        Err(Stop::user(message).hint(hint))
    }

    /// Adds `key=value` of `--set`; a value with commas is a list of the values that are tried.
    fn set(&mut self, text: &str) -> Result<(), Stop> {
        let wrong = |problem: String| Stop::user(format!("--set {problem}"));
        let (key, list) = text.split_once('=').unwrap_or((text, ""));
        let values = split(list);
        let one = |value: &&str| parse::setting(&format!("{key}={value}")).map_err(wrong);
        let mut parsed = match values.len() {
            0 | 1 => vec![parse::setting(text).map_err(wrong)?],
            _ => values.iter().map(one).collect::<Result<Vec<_>, _>>()?,
        };
        let key = parsed[0].0.clone();
        self.grid.retain(|(other, _)| *other != key);
        self.fixed.remove(&key);
        if let Some(random) = &mut self.random {
            random.ranges.retain(|(other, _)| *other != key);
        }
        match parsed.len() {
            1 => drop(self.fixed.insert(key, parsed.remove(0).1)),
            _ => {
                let values = Value::Array(parsed.into_iter().map(|(_, value)| value).collect());
                self.grid.push(grid_values(key, values).map_err(wrong)?);
            }
        }
        self.check().map_err(wrong)
    }

    /// Checks that each setting is there once, that those which are tried are settings of an algorithm, and that there
    /// are not too many trials to be made.
    fn check(&self) -> Result<(), String> {
        let ranges = self.random.iter().flat_map(|random| random.ranges.iter().map(|(key, _)| key));
        let tried: Vec<&String> = self.grid.iter().map(|(key, _)| key).chain(ranges).collect();
        for (number, key) in tried.iter().enumerate() {
            if RunSettings::KEYS.contains(&key.as_str()) {
                return Err(format!("{key} is no setting of an algorithm, and cannot be tried; a sweep has one {key}"));
            }
            if tried[..number].contains(key) || self.fixed.contains_key(key.as_str()) {
                return Err(format!("{key} is there twice"));
            }
        }
        let draws = self.random.as_ref().map_or(1, |random| random.trials);
        let sizes = self.grid.iter().map(|(_, values)| values.len());
        let trials = sizes.fold(draws, usize::saturating_mul);
        if trials > MOST_TRIALS {
            let trials = if trials == usize::MAX { "too many".to_owned() } else { grouped(trials as u64) };
            let most = grouped(MOST_TRIALS as u64);
            return Err(format!(
                "each value with each other one makes {trials} trials, and a sweep has at most {most}; try fewer \
                 values, or draw some of them by [random]"
            ));
        }
        Ok(())
    }

    /// The settings of each trial, in order: each draw with each combination of the grid.
    pub(crate) fn trials(&self) -> Vec<Vec<(String, Value)>> {
        let mut all = vec![Vec::new()];
        if let Some(random) = &self.random {
            all = random.draws();
        }
        for (key, values) in &self.grid {
            let with = |settings: Vec<(String, Value)>| {
                let one = move |value: &Value| [settings.clone(), vec![(key.clone(), value.clone())]].concat();
                values.iter().map(one)
            };
            all = all.into_iter().flat_map(with).collect();
        }
        all
    }
}

/// The values of a setting in a grid.
fn grid_values(key: String, values: Value) -> Result<(String, Vec<Value>), String> {
    let Value::Array(values) = values else {
        return Err(format!("{key}: expected a list of values to try, such as [{values}, …]; got {values}"));
    };
    if values.is_empty() {
        return Err(format!("{key}: the list of values to try is empty"));
    }
    if values.len() > MOST_TRIALS {
        let (values, most) = (grouped(values.len() as u64), grouped(MOST_TRIALS as u64));
        return Err(format!("{key}: {values} values to try, and a sweep has at most {most} trials"));
    }
    let mut seen = HashSet::new();
    if let Some(twice) = values.iter().find(|value| !seen.insert(value.to_string())) {
        return Err(format!("{key}: the value {twice} is there twice"));
    }
    Ok((key, values))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(text: &str) -> String {
        SweepFile::parse(text).unwrap_err()
    }

    #[test]
    fn each_value_of_a_grid_meets_each_draw() {
        let file = SweepFile::parse(
            "algorithm = \"ppo\"\ngamma = 0.9\n[grid]\nepochs = [1, 2]\n[random]\ntrials = 3\n\
             clip_eps = { low = 0.1, high = 0.3 }",
        )
        .unwrap();
        assert_eq!(file.fixed.len(), 2);
        let trials = file.trials();
        assert_eq!(trials.len(), 6);
        let keys = |trial: &[(String, Value)]| trial.iter().map(|(key, _)| key.clone()).collect::<Vec<_>>();
        assert!(trials.iter().all(|trial| keys(trial) == ["clip_eps", "epochs"]));
        assert!(trials[0][0] == trials[1][0] && trials[0][1] != trials[1][1] && trials[1][0] != trials[2][0]);
        assert_eq!(SweepFile::default().trials(), [vec![]]);
    }

    #[test]
    fn values_with_commas_are_a_grid_that_wins_over_the_file() {
        let mut file = SweepFile::parse("learning_rate = 0.1\n[grid]\nepochs = [1, 2]").unwrap();
        file.set("learning_rate=1e-4,3e-4").unwrap();
        file.set("epochs=5").unwrap();
        file.set("hidden=[64,64],[8]").unwrap();
        let list = |text: &str| toml::from_str::<Table>(&format!("v = {text}")).unwrap()["v"].clone();
        let values = |text: &str| list(text).as_array().unwrap().clone();
        assert_eq!(
            file.grid,
            [("learning_rate".into(), values("[1e-4, 3e-4]")), ("hidden".into(), values("[[64, 64], [8]]"))]
        );
        assert_eq!(file.fixed, toml::from_str("epochs = 5").unwrap());
        assert!(file.set("epochs").unwrap_err().message.contains("key=value"));
        assert!(file.set("seed=1,2").unwrap_err().message.contains("seed is no setting of an algorithm"));
        assert!(file.set("gamma=0.9,0.9").unwrap_err().message.contains("0.9 is there twice"));
    }

    #[test]
    fn more_trials_than_a_sweep_has_are_refused_before_they_are_made() {
        let list = |count: usize| (0..count).map(|i| i.to_string()).collect::<Vec<_>>().join(", ");
        let ten = list(10);
        let grid = |keys: usize| (0..keys).map(|i| format!("key{i} = [{ten}]\n")).collect::<String>();
        assert_eq!(SweepFile::parse(&format!("[grid]\n{}", grid(4))).unwrap().trials().len(), MOST_TRIALS);
        for (keys, trials) in [(5, "100 000"), (7, "10 000 000"), (40, "too many")] {
            let problem = problem(&format!("[grid]\n{}", grid(keys)));
            assert!(problem.contains(&format!("makes {trials} trials, and a sweep has at most 10 000")), "{problem}");
        }
        // Draws count with the grid, and values of the command line with those of the file.
        let random = "[random]\ntrials = 2000\ngamma = [0.9, 0.99]\n";
        assert!(problem(&format!("{random}[grid]\n{}", grid(1))).contains("makes 20 000 trials"));
        let mut file = SweepFile::parse(&format!("{random}[grid]\nepochs = [1, 2]")).unwrap();
        assert!(file.set(&format!("clip_eps={}", ten.replace(' ', ""))).unwrap_err().message.contains("40 000 trials"));
        assert!(problem("[random]\ntrials = 10001\ngamma = [0.9]").contains("from 1 to 10000, got 10001"));
        assert!(problem(&format!("[grid]\nkey = [{}]", list(10_001))).starts_with("key: 10 001 values to try"));
    }

    #[test]
    fn mistakes_are_named() {
        assert_eq!(
            problem("[grid]\ngamma = 0.9"),
            "gamma: expected a list of values to try, such as [0.9, …]; got 0.9"
        );
        assert_eq!(problem("[grid]\ngamma = []"), "gamma: the list of values to try is empty");
        assert_eq!(problem("gamma = 0.9\n[grid]\ngamma = [0.8, 0.9]"), "gamma is there twice");
        assert!(problem("[grid]\nseed = [1, 2]").starts_with("seed is no setting of an algorithm"));
        assert!(problem("[grids]\ngamma = [1.0]").starts_with("unknown table [grids], did you mean [grid]?"));
        assert_eq!(problem("goal = \"best\""), "goal: expected \"max\" or \"min\"");
        assert!(problem("a = \n").starts_with("line 1: "));
        assert!(problem("grid = 3").starts_with("grid is no table"));
    }
}
