//! Presets and defaults that name an origin, against its numbers.
//!
//! The tables in `origins/` are typed from the sources that they cite, in the words of this library's settings. So a
//! preset that is not what it says fails here; where it differs on purpose, the table holds that by name, and the
//! preset's comments say why.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod authors;
mod baselines3;
mod garage;
mod own;

use std::collections::BTreeMap;

use quickstudy_core::settings::{Table, Value};
use quickstudy_core::train::{algorithm, presets};

/// A setting in which a preset differs from its origin on purpose.
struct Departure {
    key: &'static str,
    theirs: &'static str,
    ours: &'static str,
    /// The reason, as the preset's comments say it.
    why: &'static str,
}

const fn departs(key: &'static str, theirs: &'static str, ours: &'static str, why: &'static str) -> Departure {
    Departure { key, theirs, ours, why }
}

/// The origin of some presets, or of an algorithm's defaults.
struct Origin {
    /// Names of presets, or of an algorithm.
    of: &'static [&'static str],
    /// Where its numbers are found.
    source: &'static str,
    /// Defaults that the origin leaves as they are, then its own numbers: `key=value`, as settings have them.
    numbers: &'static [&'static str],
    /// Settings in the presets of which the origin says nothing.
    own: &'static str,
    departures: &'static [Departure],
}

/// The value of a setting as it is typed in a table; words have no quotes.
fn value(text: &str) -> Value {
    let parsed = toml::from_str::<Table>(&format!("x = {text}")).ok().and_then(|mut table| table.remove("x"));
    parsed.unwrap_or_else(|| Value::String(text.to_owned()))
}

/// Numbers are equal as whole numbers and as others.
fn same(a: &Value, b: &Value) -> bool {
    let number = |value: &Value| value.as_float().or_else(|| value.as_integer().map(|n| n as f64));
    match (number(a), number(b)) {
        (Some(a), Some(b)) => a == b,
        _ => a == b,
    }
}

impl Origin {
    /// Its numbers, the later ones of a key.
    fn table(&self) -> BTreeMap<&'static str, Value> {
        let words = self.numbers.iter().flat_map(|text| text.split_whitespace());
        words
            .map(|word| word.split_once('=').unwrap_or_else(|| panic!("{}: {word}", self.source)))
            .map(as_value)
            .collect()
    }

    /// Each problem of a preset, or of an algorithm's defaults.
    fn problems(&self, name: &str) -> Vec<String> {
        let preset = presets().unwrap().into_iter().find(|preset| preset.name == name);
        let def = algorithm(preset.as_ref().map_or(name, |preset| preset.algorithm)).unwrap();
        let mut all = (def.defaults)();
        let (mut written, mut comments) = (Vec::new(), String::new());
        if let Some(preset) = preset {
            written.push("steps".to_owned());
            written.extend(preset.settings.keys().cloned());
            all.extend(preset.settings);
            all.insert("steps".to_owned(), Value::Integer(preset.steps as i64));
            let said = preset.text.lines().filter_map(|line| line.split_once('#')).map(|(_, comment)| comment);
            let words = preset.origin.split_whitespace().chain(said.flat_map(str::split_whitespace));
            comments = words.collect::<Vec<_>>().join(" ");
        }
        let mut problems = Vec::new();
        let mut wrong = |problem: String| problems.push(format!("{name}: {problem} ({})", self.source));
        let theirs = self.table();
        for (key, theirs) in &theirs {
            let Some(ours) = all.get(*key) else {
                wrong(format!("there is no setting {key}"));
                continue;
            };
            match self.departures.iter().find(|departure| departure.key == *key) {
                None if same(ours, theirs) => (),
                None => wrong(format!("{key} is {ours}, and {theirs} in the origin")),
                Some(departure) => {
                    let Departure { theirs: named, ours: other, why, .. } = departure;
                    if !same(&value(named), theirs) || !same(&value(other), ours) || same(ours, theirs) {
                        wrong(format!("{key} is {ours} for {theirs}, and the table says {other} for {named}"));
                    }
                    if !comments.contains(why) {
                        wrong(format!("no comment says why {key} is {ours} for {theirs}: {why}"));
                    }
                }
            }
        }
        for departure in self.departures.iter().filter(|departure| !theirs.contains_key(departure.key)) {
            wrong(format!("the origin's {} is missing", departure.key));
        }
        for key in &written {
            if theirs.contains_key(key.as_str()) == self.own.split_whitespace().any(|own| own == key) {
                wrong(format!("{key} is to be either the origin's or our own"));
            }
        }
        problems
    }
}

fn as_value((key, text): (&'static str, &'static str)) -> (&'static str, Value) {
    (key, value(text))
}

fn origins() -> impl Iterator<Item = &'static Origin> {
    [baselines3::ORIGINS, garage::ORIGINS, authors::ORIGINS].into_iter().flatten()
}

#[test]
fn presets_and_defaults_are_those_of_their_origins() {
    let problems: Vec<String> =
        origins().flat_map(|origin| origin.of.iter().flat_map(|name| origin.problems(name))).collect();
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn each_preset_has_an_origin_or_says_that_its_numbers_are_its_own() {
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    origins().flat_map(|origin| origin.of).for_each(|name| *places.entry(name).or_default() += 1);
    let all = presets().unwrap();
    for preset in &all {
        let Some(count) = places.get(preset.name.as_str()) else {
            let (header, _) = preset.text.split_once("\nsteps").unwrap();
            assert!(own::SAID.iter().any(|said| header.contains(said)), "{}: {header}", preset.name);
            let named = own::ORIGINS.iter().find(|origin| preset.text.contains(*origin));
            assert_eq!(named, None, "{} names an origin: hold it to its numbers", preset.name);
            continue;
        };
        assert_eq!(*count, 1, "{} is to be in one table of `origins`", preset.name);
    }
    for name in places.keys() {
        assert!(all.iter().any(|preset| preset.name == *name) || algorithm(name).is_ok(), "{name} is no preset");
    }
}

#[test]
fn the_presets_of_one_point_robot_are_the_same() {
    let of = |name: &str| presets().unwrap().into_iter().find(|preset| preset.name == name).unwrap();
    let (dense, robot) = (of("pearl-point-half-circle-dense"), of("pearl-point-robot"));
    assert_eq!((dense.steps, dense.settings), (robot.steps, robot.settings));
}
