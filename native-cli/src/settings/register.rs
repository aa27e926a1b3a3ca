//! The environments and algorithms that names on the command line stand for: the built-in ones, and those that a
//! program of one's own adds with [`main_with`](crate::cli::main_with).

use std::cell::OnceCell;
use std::sync::OnceLock;

use quickstudy_core::algo::AlgorithmDef;
use quickstudy_core::env::builtin_names;
use quickstudy_core::host::EnvPlace;
use quickstudy_core::settings::SettingDoc;
use quickstudy_core::train::{ALGORITHMS, METRIC_DOCS, Own, PlaceBySpec};
use quickstudy_core::{Error, Result};

use crate::outcome::Stop;
use crate::settings::python;
use crate::text::program;

/// Algorithms that were added.
static ADDED: OnceLock<Vec<&'static AlgorithmDef>> = OnceLock::new();

thread_local! {
    /// Environments that were added. Only the thread that runs the command has them: no other needs those of the host.
    static ENVIRONMENTS: OnceCell<&'static [EnvPlace]> = const { OnceCell::new() };
}

fn environments() -> &'static [EnvPlace] {
    ENVIRONMENTS.with(|added| added.get().copied().unwrap_or_default())
}

fn added() -> &'static [&'static AlgorithmDef] {
    ADDED.get_or_init(Vec::new)
}

/// Adds environments and algorithms, once and before any is looked for.
pub(crate) fn add(
    environments: Vec<EnvPlace>,
    algorithms: Vec<&'static AlgorithmDef>,
) -> std::result::Result<(), Stop> {
    let mut names: Vec<&str> = builtin_names().to_vec();
    names.extend(ALGORITHMS.iter().map(|def| def.name));
    let own = environments.iter().map(|env| env.spec().name.as_str()).chain(algorithms.iter().map(|def| def.name));
    for name in own {
        if names.contains(&name) {
            return Err(Stop::user(format!("the name `{name}` is taken; give yours another")));
        }
        names.push(name);
    }
    // They live as long as the program, as the built-in ones do.
    let environments: &'static [EnvPlace] = Box::leak(environments.into_boxed_slice());
    let first = ENVIRONMENTS.with(|added| added.set(environments)).is_ok();
    program::set_own();
    match ADDED.set(algorithms) {
        Ok(()) if first => Ok(()),
        _ => Err(Stop::user("environments and algorithms were added before".to_owned())),
    }
}

/// All algorithms, the built-in ones first.
pub(crate) fn algorithms() -> impl Iterator<Item = &'static AlgorithmDef> {
    ALGORITHMS.iter().copied().chain(added().iter().copied())
}

/// Their names.
pub(crate) fn algorithm_names() -> Vec<&'static str> {
    algorithms().map(|def| def.name).collect()
}

/// The algorithm of that name.
pub(crate) fn algorithm(name: &str) -> Result<&'static AlgorithmDef> {
    algorithms().find(|def| def.name == name).ok_or_else(|| Error::unknown("algorithm", name, algorithm_names()))
}

/// A setting of an algorithm, by its key.
pub(crate) fn setting(key: &str) -> Option<&'static SettingDoc> {
    algorithms().flat_map(AlgorithmDef::settings).find(|doc| doc.key == key)
}

/// Name and meaning of all metrics: those that algorithms share in the order of the columns, then each one's own.
pub(crate) fn metrics() -> impl Iterator<Item = (&'static str, &'static str)> {
    metrics_with(added())
}

/// As above, with these added algorithms.
fn metrics_with(own: &[&'static AlgorithmDef]) -> impl Iterator<Item = (&'static str, &'static str)> {
    METRIC_DOCS.iter().chain(ALGORITHMS.iter().chain(own).flat_map(|def| def.metrics)).copied()
}

/// Names of all environments, the built-in ones first.
pub(crate) fn environment_names() -> Vec<&'static str> {
    let own = environments().iter().map(|env| env.spec().name.as_str());
    builtin_names().into_iter().chain(own).collect()
}

/// The environment of that name, with parameters after a colon: a built-in one's own, and `time_limit`, which all take.
/// For one of Python, `gymnasium:ID`, Python is started.
pub(crate) fn environment(name: &str) -> Result<EnvPlace> {
    if let Some(place) = python::place(name) {
        return place;
    }
    EnvPlace::find(name, environments()).map_err(|error| match error {
        Error::Unknown { kind: "environment", .. } => Error::unknown("environment", name, environment_names()),
        other => other,
    })
}

/// The added environments and algorithms, for whoever reads snapshots.
pub(crate) fn own() -> Own<'static> {
    let by_spec = Some(python::place_with as PlaceBySpec);
    Own { env: None, environments: environments(), algorithms: added(), by_spec }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_of_added_algorithms_follow_those_of_built_in_ones() {
        static OWN: AlgorithmDef = AlgorithmDef {
            name: "own",
            metrics: &[("train/own", "a number of its own")],
            ..quickstudy_core::algo::NOP
        };
        let all: Vec<_> = metrics_with(&[&OWN]).collect();
        assert_eq!(all.split_last(), Some((&("train/own", "a number of its own"), METRIC_DOCS)));
    }
}
