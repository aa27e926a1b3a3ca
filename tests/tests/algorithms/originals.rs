//! The originals' own defaults: a file of settings for each of their classes that trains, and a table of all parameters
//! of their constructors, typed from their sources. Each parameter is a key of the file, or has the reason why it is
//! none.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::path::Path;

use quickstudy_core::Device;
use quickstudy_core::env::builtin;
use quickstudy_core::train::{Layer, Session, Setup};
use toml::{Table, Value};

mod garage;
mod metarl;
mod promp;
mod pyrado;

/// The place of a parameter of theirs here.
enum Ours {
    /// The setting of this name, with the same number.
    Same(&'static str),
    /// The setting of this name, with this value, and why it is not written as theirs.
    As(&'static str, &'static str, &'static str),
    /// No setting, and why.
    Not(&'static str),
}

use Ours::{As, Not, Same};

/// A class of an original: its name, and its constructor's parameters with their defaults, `name=default` or `name`.
type Class = (&'static str, &'static [(&'static str, Ours)]);

/// Defaults as a file of settings, and a training that begins with it.
struct Defaults {
    /// The file's name in `tests/originals`, without its ending; none for classes that have no settings here.
    file: Option<&'static str>,
    /// The algorithm and the environment of the training.
    train: [&'static str; 2],
    /// Environment steps of the training: the fewest in which something is learned.
    steps: u64,
    /// Settings that are lowered for the training: numbers of steps, and no others.
    shortened: &'static str,
    /// Whose parameters the file has.
    classes: &'static [Class],
}

const ALL: [&[Defaults]; 4] = [garage::ALL, metarl::ALL, pyrado::ALL, promp::ALL];

/// Settings that count steps, which a test may lower.
const STEPS: [&str; 2] = ["num_steps_per_epoch", "learning_starts"];

fn all() -> impl Iterator<Item = &'static Defaults> {
    ALL.into_iter().flatten()
}

fn read(file: &str) -> Table {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("originals").join(format!("{file}.toml"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    toml::from_str(&text).unwrap_or_else(|error| panic!("{file}: {error}"))
}

/// A value as it is written in Python or TOML, where numbers are equal if they have the same value.
fn value(text: &str) -> Value {
    let text = match text {
        "True" => "true",
        "False" => "false",
        other => other,
    };
    match text.replace('_', "").parse::<f64>() {
        Ok(number) => Value::Float(number),
        Err(_) => {
            toml::from_str::<Table>(&format!("x = {text}")).unwrap_or_else(|error| panic!("{text}: {error}"))["x"]
                .clone()
        }
    }
}

/// A value whose numbers are all floats.
fn plain(value: &Value) -> Value {
    match value {
        Value::Integer(number) => Value::Float(*number as f64),
        Value::Array(numbers) => Value::Array(numbers.iter().map(plain).collect()),
        other => other.clone(),
    }
}

#[test]
fn files_have_the_originals_numbers_and_all_of_their_parameters() {
    let mut faults = Vec::new();
    for Defaults { file, classes, .. } in all() {
        let mut wanted: BTreeMap<&str, Value> = BTreeMap::new();
        for (class, (parameter, ours)) in
            classes.iter().flat_map(|(class, parameters)| parameters.iter().map(move |one| (class, one)))
        {
            let (name, default) = parameter.split_once('=').unwrap_or((parameter, ""));
            let (key, want) = match ours {
                Same(key) => (*key, value(default)),
                As(key, text, why) => {
                    assert!(!why.is_empty(), "{class}: {name}");
                    (*key, value(text))
                }
                Not(why) => {
                    assert!(!why.is_empty(), "{class}: {name}");
                    continue;
                }
            };
            if let Some(before) = wanted.insert(key, plain(&want)).filter(|before| *before != plain(&want)) {
                faults.push(format!("{class}: {name} gives {key} two values, {before} and {want}"));
            }
        }
        let Some(file) = file else {
            assert!(wanted.is_empty(), "{wanted:?} have no file");
            continue;
        };
        let found: BTreeMap<String, Value> = read(file).into_iter().map(|(key, value)| (key, plain(&value))).collect();
        for (key, want) in &wanted {
            match found.get(*key) {
                Some(got) if got == want => {}
                Some(got) => faults.push(format!("{file}: {key} = {got}, expected {want}")),
                None => faults.push(format!("{file}: {key} = {want} is missing")),
            }
        }
        let foreign = found.keys().filter(|key| !wanted.contains_key(key.as_str()));
        faults.extend(foreign.map(|key| format!("{file}: {key} is of no parameter")));
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn each_parameter_is_there_once() {
    for (class, parameters) in all().flat_map(|defaults| defaults.classes) {
        let mut names: Vec<&str> =
            parameters.iter().map(|(one, _)| one.split_once('=').map_or(*one, |(name, _)| name)).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count, "{class}");
    }
}

/// Each file with the training that its table names.
fn trainings() -> impl Iterator<Item = (&'static str, Setup)> {
    all().filter_map(|Defaults { file, train: [algorithm, env], steps, shortened, .. }| {
        let file = (*file)?;
        let shortened: Table = toml::from_str(shortened).unwrap();
        assert!(shortened.keys().all(|key| STEPS.contains(&key.as_str())), "{file}: {shortened}");
        let layers = [("file", read(file)), ("shortened", shortened)]
            .map(|(origin, settings)| Layer { origin: origin.into(), settings });
        let setup = Setup::resolve(*algorithm, builtin(env).unwrap(), &[1], Some(*steps), &layers);
        Some((file, setup.unwrap_or_else(|error| panic!("{file}: {error}"))))
    })
}

#[test]
fn all_defaults_are_accepted() {
    assert_eq!(trainings().count(), all().filter(|defaults| defaults.file.is_some()).count());
}

#[test]
#[ignore = "a minute: scripts/second-tier.sh"]
fn all_defaults_train_and_learn_something() {
    let device = Device::cpu(2);
    for (file, setup) in trainings() {
        let mut session = Session::new(&device, &setup).unwrap_or_else(|error| panic!("{file}: {error}"));
        let first = pollster::block_on(session.parameters(0)).unwrap();
        while !session.done() {
            pollster::block_on(session.step()).unwrap_or_else(|error| panic!("{file}: {error}"));
        }
        let last = pollster::block_on(session.parameters(0)).unwrap();
        assert!(last.iter().all(|x| x.is_finite()) && first != last, "{file}: nothing was learned");
        println!("{file}: {} iterations, {} steps", session.iterations_made(0), session.steps_made(0));
    }
}
