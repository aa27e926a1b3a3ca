//! A new algorithm touches four places: its room, with its presets, its `mod` line, one line of the register, and one
//! page. A new environment touches its file, the list, and a line of that page.
//! Any other file that names an algorithm tells of that one in particular, and needs no line for a new one.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may")]

use std::collections::BTreeMap;
use std::fs;

use quickstudy_core::algo::AlgorithmDef;
use quickstudy_core::env::builtin_names;
use quickstudy_core::train::ALGORITHMS;
use quickstudy_tests::rooms::{Room, files_below, repository, rooms};

/// The page that lists all algorithms.
const PAGE: &str = "README.md";

/// Files and folders that name algorithms for a reason of their own.
const ELSEWHERE: &[(&str, &str)] = &[
    (".ci/run", "runs an example by one"),
    ("BENCHMARKS.md", "has measurements of some"),
    ("ARCHITECTURE.md", "takes some as examples"),
    ("CONTRIBUTING.md", "takes some as examples"),
    ("docs/", "takes some as examples, measures them, or compares their settings with those of other libraries"),
    ("tests/", "tests particular ones; what holds for all of them is tested by the register"),
    ("core/benches/", "measures some"),
    ("gpu/benches/", "measures some"),
    ("core/examples/", "measures some"),
    ("core/Cargo.toml", "has benchmarks of some"),
    ("scripts/", "has cases beside those that it makes of each algorithm that is listed"),
    ("web-demo/", "shows some"),
    ("python/", "takes some as examples, and has tests of particular ones"),
    ("wasm/README.md", "takes some as examples"),
    ("wasm/js/", "takes some as examples in comments"),
    ("core/README.md", "takes some as examples"),
    ("gpu/README.md", "takes some as examples"),
    ("native-cli/README.md", "takes some as examples"),
    ("native-cli/src/", "has commands as examples in help, and tests of particular ones"),
    ("native-cli/examples/", "takes some as examples"),
    ("wasm/src/", "has tests of particular ones"),
    ("core/src/algo/on_policy/shared/", "has tests by the settings of some"),
    ("core/src/lib.rs", "has an example"),
    ("kernels/src/error.rs", "has a test"),
    ("wasm/package.json", "has keywords"),
    ("core/src/train.rs", "takes some as examples in documentation"),
    ("core/src/train/", "has tests of particular ones, examples in documentation, and metrics that several share"),
];

/// Files that name most algorithms, for a reason of their own: whoever adds one need not look at them.
const LISTS: &[(&str, &str)] = &[
    ("docs/names.md", "compares those that other libraries have too"),
    ("docs/ranks.md", "says which can be trained by several ranks, as each says by itself"),
    ("scripts/same-policies.py", "has cases with settings of their own; each other algorithm is run by its preset"),
    ("tests/golden/snapshots/make.sh", "has the settings of golden runs; each other algorithm is run by its preset"),
    ("tests/tests/algorithms/session/budgets.rs", "has runs whose episodes end apart; `every` has each algorithm"),
    ("python/tests/test_actions.py", "has further kinds of policies; each algorithm is trained by small settings"),
    ("core/src/train/saved/rules/tests.rs", "has settings that count more; each algorithm is forged by small ones"),
];

/// Files that name many environments, for a reason of their own.
const LISTS_OF_ENVIRONMENTS: &[(&str, &str)] = &[("web-demo/src/worlds.ts", "shows some")];

/// Tells whether a text has a word of this name, in whatever it is quoted.
fn says(text: &str, name: &str) -> bool {
    let inside = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || "-_".contains(c));
    text.match_indices(name)
        .any(|(at, _)| !inside(text[..at].chars().next_back()) && !inside(text[at + name.len()..].chars().next()))
}

/// Every text of the repository by its path.
fn texts() -> BTreeMap<String, String> {
    let mut files = Vec::new();
    let folders = [
        ".ci",
        "core",
        "docs",
        "fuzz",
        "gpu",
        "kernels",
        "native-cli",
        "python",
        "scripts",
        "tests/browser",
        "tests/golden",
        "tests/src",
        "tests/tests",
        "wasm",
        "web-demo",
    ];
    folders.iter().for_each(|folder| files_below(&repository().join(folder), &mut files));
    let pages = ["README.md", "ARCHITECTURE.md", "BENCHMARKS.md", "CHANGELOG.md", "CONTRIBUTING.md", "Cargo.toml"];
    files.extend(pages.map(|page| repository().join(page)));
    let path = |file: &std::path::Path| file.strip_prefix(repository()).unwrap().to_string_lossy().into_owned();
    // Pictures and snapshots are no texts.
    files.iter().filter_map(|file| Some((path(file), fs::read_to_string(file).ok()?))).collect()
}

fn room_of<'a>(all: &'a [Room], def: &AlgorithmDef) -> &'a Room {
    let own: Vec<&Room> = all.iter().filter(|room| room.names(def)).collect();
    // Some say the name of another in an error.
    let by_module = |room: &&&Room| room.module == def.name.replace('-', "_");
    own.iter().find(by_module).or(own.first()).unwrap_or_else(|| panic!("{} has no room", def.name))
}

#[test]
fn an_algorithm_is_named_in_its_places_and_nowhere_else() {
    let (texts, rooms) = (texts(), rooms());
    let elsewhere = |file: &str| ELSEWHERE.iter().any(|(begin, _)| file.starts_with(begin));
    let mut wrong = Vec::new();
    for def in ALGORITHMS {
        let room = room_of(&rooms, def);
        let family = format!("{}.rs", room.family);
        let of = |file: &String| says(&texts[file], def.name) || *file == family && says(&texts[file], &room.module);
        let found: Vec<&String> = texts.keys().filter(|file| of(file) && !room.has(file)).collect();
        let places = [family.as_str(), PAGE];
        assert!(texts.contains_key(&format!("{}/{}/presets.toml", room.family, room.module)), "{}", def.name);
        for place in &places {
            if !found.iter().any(|file| file == place) {
                wrong.push(format!("{} is missing in {place}", def.name));
            }
        }
        for file in found.into_iter().filter(|file| !places.contains(&file.as_str())) {
            // A variant's name may be said by the room of another, where an error leads there.
            let another = rooms.iter().any(|room| room.has(file));
            if !(another || elsewhere(file)) {
                wrong.push(format!(
                    "{file} names {}: let it ask the register, or list it here with its reason",
                    def.name
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Checks that files with most of these names are those that are known, or have a reason.
fn check_lists(names: &[&str], share: f64, known: &[&str], reasons: &[(&str, &str)]) {
    let named = |text: &str| names.iter().filter(|name| says(text, name)).count() as f64;
    let most = |text: &str| named(text) > share * names.len() as f64;
    let mut lists: Vec<String> = texts().into_iter().filter(|(_, text)| most(text)).map(|(file, _)| file).collect();
    lists.retain(|file| !known.contains(&file.as_str()));
    let has_reason = |file: &&String| reasons.iter().any(|(reason, _)| reason == file);
    let new: Vec<_> = lists.iter().filter(|file| !has_reason(file)).collect();
    assert!(new.is_empty(), "let these lists ask the register, or list them here with a reason: {new:?}");
    let gone = |file: &&str| !lists.iter().any(|list| list == file);
    let gone: Vec<_> = reasons.iter().map(|(file, _)| *file).filter(gone).collect();
    assert!(gone.is_empty(), "these are no such lists any more: {gone:?}");
}

#[test]
fn lists_of_all_algorithms_are_the_register_the_page_and_those_with_a_reason() {
    let names: Vec<&str> = ALGORITHMS.iter().map(|def| def.name).collect();
    check_lists(&names, 2.0 / 3.0, &[PAGE], LISTS);
}

#[test]
fn lists_of_environments_are_the_built_in_one_the_page_and_those_with_a_reason() {
    // Half of a list may be elsewhere, as that of bodies and machines.
    check_lists(&builtin_names(), 0.4, &[PAGE, "kernels/src/env/builtin.rs"], LISTS_OF_ENVIRONMENTS);
    // `point-corner-sparse` is one of the page's `point-corner`.
    let page = fs::read_to_string(repository().join(PAGE)).unwrap();
    let quoted = |name: &str| page.contains(&format!("`{name}`"));
    let on_page = |name: &&str| quoted(name) || name.match_indices('-').any(|(end, _)| quoted(&name[..end]));
    let missing: Vec<&str> = builtin_names().into_iter().filter(|name| !on_page(name)).collect();
    assert_eq!(missing, Vec::<&str>::new(), "{PAGE} is to name them");
}

#[test]
fn names_are_found_as_whole_words() {
    assert!(says("train `vpg`", "vpg") && says("\"vpg\"", "vpg") && says("vpg: no", "vpg"));
    assert!(!says("maml-vpg", "vpg") && !says("vpg_loss", "vpg") && !says("vpgs", "vpg"));
}
