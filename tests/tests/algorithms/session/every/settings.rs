//! Every algorithm declares settings whose ranges are those that are checked, and schedules that say all their shapes.

use std::collections::BTreeSet;

use quickstudy_core::Error;
use quickstudy_core::algo::AlgorithmDef;
use quickstudy_core::env::{EnvDef, builtin, builtin_names};
use quickstudy_core::optim::Progress;
use quickstudy_core::settings::{Range, SettingDoc};
use quickstudy_core::train::ALGORITHMS;
use quickstudy_tests::every::every;
use toml::Table;

use super::SmallRun;

fn table(text: &str) -> Table {
    toml::from_str(text).unwrap()
}

/// An environment that the algorithm takes with its defaults.
fn env_of(def: &'static AlgorithmDef) -> EnvDef {
    let env = SmallRun::of(def).env;
    def.fit(&Table::new(), env.spec()).unwrap_or_else(|error| panic!("{} by its defaults: {error}", def.name));
    env
}

#[test]
fn each_has_a_name_of_its_own_a_line_and_described_settings_with_defaults_that_work() {
    let (mut names, environments) = (BTreeSet::new(), builtin_names());
    for def in every() {
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        assert!(def.name.chars().all(plain) && !environments.contains(&def.name), "{}", def.name);
        assert!(names.insert(def.name), "{} is there twice", def.name);
        assert!(!def.line.is_empty() && !def.line.contains('\n'), "{}: {}", def.name, def.line);
        env_of(def);
        assert!(def.settings().all(|doc| !doc.meaning.is_empty()), "{}", def.name);
        assert_eq!((def.defaults)().len(), def.declared.len(), "{}: groups share a key", def.name);
    }
}

#[test]
fn each_declared_setting_is_used_by_an_algorithm_that_declares_it() {
    for def in every() {
        for doc in def.declared {
            let uses = |other: &&&AlgorithmDef| other.declared.contains(doc) && (other.uses)(doc.key);
            assert!((def.uses)(doc.key) || ALGORITHMS.iter().any(|other| uses(&other)), "{}: {}", def.name, doc.key);
        }
    }
}

/// Values that a range takes, and some that it does not.
fn values(range: &Range) -> [Vec<String>; 2] {
    let of = |all: &[&str]| all.iter().map(|one| (*one).to_owned()).collect::<Vec<_>>();
    match range {
        Range::Positive => [of(&["1e-6"]), of(&["0", "-1", "nan"])],
        Range::NotNegative => [of(&["0", "7"]), of(&["-1", "inf"])],
        Range::Unit => [of(&["0", "1"]), of(&["-0.1", "1.1"])],
        Range::Share => [of(&["1e-6", "1"]), of(&["0", "-1", "1.1", "nan"])],
        Range::Fraction => [of(&["1e-6", "0.999"]), of(&["0", "1", "1.1"])],
        Range::Between(low, high) => {
            [vec![low.to_string(), high.to_string()], vec![(low - 1.0).to_string(), (high + 1.0).to_string()]]
        }
        Range::Count(least, most) if *most <= 100 => {
            [vec![least.to_string(), most.to_string()], vec![(most + 1).to_string(), "-1".to_owned()]]
        }
        Range::Count(least, _) => [vec![(least + 1).to_string(), "64".to_owned()], of(&["-1", "1.5"])],
        Range::Flag => [of(&["true", "false"]), of(&["1", "\"true\""])],
        Range::Words(words) => {
            [words.iter().map(|word| format!("\"{word}\"")).collect(), of(&["\"no_such_word\"", "1"])]
        }
        Range::Widths => [of(&["[]", "[8]", "[8, 16, 32]"]), of(&["[0]", "8", "[-1]"])],
        Range::Shown(range, _) => values(range),
    }
}

/// Tells whether a refusal of a value in its range says what else to change, or why the range is wider than what is
/// taken.
fn says_why(def: &AlgorithmDef, env: &EnvDef, doc: &SettingDoc, error: &Error) -> bool {
    let text = error.to_string();
    let words: Vec<&str> = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').collect();
    // Another setting, or the environment.
    let another = |word: &&str| *word != doc.key && def.settings().any(|doc| doc.key == *word);
    if words.iter().any(another) || text.contains(&format!("`{}`", env.spec().name)) {
        return true;
    }
    // The range is that of a group, and others take what this one does not.
    let shared = ALGORITHMS.iter().any(|other| other.name != def.name && other.declared.contains(doc));
    let range = if let Range::Shown(range, _) = doc.range { *range } else { doc.range };
    let instead = match range {
        Range::Words(all) => all.iter().any(|word| words.contains(word)),
        _ => text.contains("set it to"),
    };
    shared && instead
}

#[test]
fn the_ranges_are_those_that_are_checked() {
    let mut problems = Vec::new();
    for def in every() {
        let env = env_of(def);
        for doc in def.settings() {
            let [good, bad] = values(&doc.range);
            let given = |value: &str| table(&format!("{} = {value}", doc.key));
            for value in good {
                if let Err(error) = def.checked(&given(&value)) {
                    problems.push(format!("{} {} {}: {value} refused alone: {error}", def.name, doc.key, doc.range));
                }
                // What works only with another setting is refused by a line that names it.
                let fitted = def.fit(&given(&value), env.spec());
                if let Some(error) = fitted.err().filter(|error| !says_why(def, &env, doc, error)) {
                    problems.push(format!("{} {} {}: {value}: {error}", def.name, doc.key, doc.range));
                }
            }
            for value in bad.iter().filter(|value| def.fit(&given(value), env.spec()).is_ok()) {
                problems.push(format!("{} {} {}: {value} taken", def.name, doc.key, doc.range));
            }
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

/// A share of a scheduled rate that is left in the last of ten iterations, if the algorithm has that rate with these
/// settings.
fn left(def: &AlgorithmDef, env: &EnvDef, settings: &str, rate: &str) -> Option<f64> {
    let fitted = def.fit(&table(settings), env.spec()).ok()?;
    let at = |done| {
        let at: Progress = fitted.as_planned(done, 10);
        fitted.schedules(at).into_iter().find(|(name, _)| name.trim_start_matches("train/") == rate).map(|(_, x)| x)
    };
    Some(at(9)? / at(0)?)
}

#[test]
fn every_schedule_says_all_its_shapes_and_has_the_parameters_of_its_fall() {
    let mut schedules = 0;
    for def in every() {
        let (env, find) = (env_of(def), |key: &str| def.settings().find(|doc| doc.key == key));
        // Words of other settings, one of which may ask for the rate.
        let words = def.settings().filter_map(|doc| match doc.range {
            Range::Words(words) => Some(words.iter().map(|word| format!("{} = \"{word}\"\n", doc.key))),
            _ => None,
        });
        let others: Vec<String> = std::iter::once(String::new()).chain(words.flatten()).collect();
        for doc in def.settings().filter(|doc| doc.key.ends_with("_schedule")) {
            schedules += 1;
            let what = doc.key.trim_end_matches("_schedule");
            let fall = format!("{what}_fall");
            let shapes = format!("linear, cosine: towards 0 at the end of the run; exponential, step: to {fall}");
            assert!(doc.meaning.ends_with(&shapes), "{} {}: {}", def.name, doc.key, doc.meaning);
            assert!(find(&fall).is_some() && find(&format!("{what}_falls")).is_some(), "{} {fall}", def.name);
            // The rate follows them.
            let text = format!("{} = \"step\"\n{fall} = 0.25\n{what}_falls = 1\n", doc.key);
            let with = others.iter().filter(|other| !other.starts_with(doc.key));
            let share = with.map(|other| left(def, &env, &format!("{text}{other}"), what)).find_map(|share| share);
            assert!(share.is_some_and(|share| (share - 0.25).abs() < 1e-12), "{} {}: {share:?}", def.name, doc.key);
        }
    }
    assert!(schedules > 15, "{schedules}");
}

#[test]
fn environments_that_do_not_fit_are_refused_by_name() {
    for def in every() {
        let refused = |name: &&str| {
            let env = builtin(name).unwrap();
            def.fit(&Table::new(), env.spec()).err().map(|error| error.to_string())
        };
        for error in builtin_names().iter().filter_map(refused) {
            assert!(error.starts_with("env: "), "{}: {error}", def.name);
        }
    }
}
