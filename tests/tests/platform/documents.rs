//! The pages for users say of algorithms and environments what there is, and those for contributors of crates and
//! files.

#![allow(clippy::unwrap_used, reason = "a test may")]

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use quickstudy_core::env::builtin_names;
use quickstudy_core::tensor::Unary;
use quickstudy_core::train::ALGORITHMS;
use quickstudy_tests::rooms::{files_below, repository as root};
use toml::Table;

/// The pages for users. The changelog tells of other times.
fn pages() -> Vec<PathBuf> {
    let names =
        ["README.md", "ARCHITECTURE.md", "BENCHMARKS.md", "core/README.md", "native-cli/README.md", "gpu/README.md"];
    let mut pages: Vec<PathBuf> =
        names.iter().chain(&["wasm/README.md", "web-demo/README.md"]).map(|name| root().join(name)).collect();
    for folder in ["docs", "docs/benchmarks", "docs/tutorials"] {
        let files = fs::read_dir(root().join(folder)).unwrap().map(|entry| entry.unwrap().path());
        pages.extend(files.filter(|path| path.extension().is_some_and(|end| end == "md")));
    }
    pages
}

#[test]
fn no_page_counts_the_environments() {
    // A new one would have to be counted there.
    let counts =
        |of: &[&str]| of[0].parse::<usize>().is_ok() && of[1] == "built-in" && of[2].starts_with("environments");
    for page in pages() {
        let text = fs::read_to_string(&page).unwrap();
        let words: Vec<&str> = text.split_whitespace().collect();
        assert!(!words.windows(3).any(counts), "{} counts the built-in environments", page.display());
    }
}

#[test]
fn the_readme_lists_the_algorithms() {
    let text = fs::read_to_string(root().join("README.md")).unwrap();
    // In the first cells of the table, so that an example is no entry of the list.
    let rows = text.lines().skip_while(|line| !line.starts_with("| algorithm |")).take_while(|line| !line.is_empty());
    let list: String = rows.filter_map(|row| row.split('|').nth(1)).collect();
    for def in ALGORITHMS {
        assert!(list.contains(&format!("`{}`", def.name)), "the table of README.md does not name `{}`", def.name);
    }
}

#[test]
fn the_readme_names_the_environments() {
    let text = fs::read_to_string(root().join("README.md")).unwrap();
    // Kinds of reward of the same environment are not named one by one.
    let kinds = ["-dense", "-sparse", "-squared"];
    for name in builtin_names() {
        let name = kinds.iter().fold(name, |name, kind| name.strip_suffix(kind).unwrap_or(name));
        assert!(text.contains(&format!("`{name}`")), "README.md does not name {name}");
    }
}

/// A crate of this repository.
struct Crate {
    name: String,
    published: bool,
    /// Crates that it is built with, but for tests.
    needs: BTreeSet<String>,
}

/// The crate in a folder of the repository.
fn crate_in(folder: &str) -> Crate {
    let manifest: Table = fs::read_to_string(root().join(folder).join("Cargo.toml")).unwrap().parse().unwrap();
    let package = &manifest["package"];
    let needs = manifest.get("dependencies").and_then(toml::Value::as_table).into_iter().flat_map(Table::keys);
    Crate {
        name: package["name"].as_str().unwrap().to_owned(),
        published: package.get("publish").is_none(),
        needs: needs.filter(|name| name.starts_with("quickstudy")).cloned().collect(),
    }
}

#[test]
fn every_crate_that_is_published_is_in_the_commands_after_those_that_it_needs() {
    let text = fs::read_to_string(root().join("docs/releasing.md")).unwrap();
    let workspace: Table = fs::read_to_string(root().join("Cargo.toml")).unwrap().parse().unwrap();
    let members = workspace["workspace"]["members"].as_array().unwrap().iter().map(|name| name.as_str().unwrap());
    let published: Vec<Crate> = members.map(crate_in).filter(|one| one.published).collect();
    let commands: Vec<&str> = text.lines().map(str::trim).filter(|line| line.starts_with("cargo publish ")).collect();
    assert!(!commands.is_empty());
    for command in commands {
        let order: Vec<&str> = command.split(" -p ").skip(1).collect();
        assert_eq!(order.len(), published.len(), "{command}");
        for one in &published {
            let at = order.iter().position(|name| *name == one.name);
            let before = |need: &&String| order.iter().position(|name| name == need) < at;
            let late: Vec<&String> = one.needs.iter().filter(|need| !before(need)).collect();
            assert!(at.is_some() && late.is_empty(), "`{command}`: {} needs {late:?}", one.name);
        }
    }
}

#[test]
fn the_architecture_says_which_crates_each_folder_imports() {
    let text = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let rows = text.lines().skip_while(|line| !line.starts_with("| folder |")).take_while(|line| !line.is_empty());
    let mut compared = 0;
    for row in rows {
        let cells: Vec<&str> = row.trim_matches('|').split(" | ").map(str::trim).collect();
        let folder = cells[0].trim_matches(['`', '/']);
        if !root().join(folder).join("Cargo.toml").exists() || folder == "tests" {
            continue;
        }
        let needs = crate_in(folder).needs;
        let short: BTreeSet<&str> = needs.iter().map(|name| name.trim_start_matches("quickstudy-")).collect();
        let said = cells[cells.len() - 1].split(" (").next().unwrap();
        let said = said.split(", ").filter(|name| *name != "nothing of the others");
        assert_eq!(said.collect::<BTreeSet<_>>(), short, "{row}");
        compared += 1;
    }
    assert!(compared > 3, "{compared} crates");
}

#[test]
fn paths_on_the_pages_for_contributors_are_there() {
    // Folders below which a path may begin.
    const BELOW: [&str; 5] = ["", "kernels/src", "kernels/src/backend", "core/src", "native-cli/src"];
    // What commands make.
    const MADE: [&str; 5] = ["target/", "wasm/dist", "wasm/build", "web-demo/dist", "tests/browser/screenshots"];
    // A folder of a room or crate, `builtin/`, is named without these.
    let is_path = |code: &&str| {
        code.contains('/') && !code.ends_with('/') && code.chars().all(|c| c.is_alphanumeric() || "/._-".contains(c))
    };
    let mut checked = 0;
    for page in ["ARCHITECTURE.md", "CONTRIBUTING.md"] {
        let text = fs::read_to_string(root().join(page)).unwrap();
        let prose = text.split("```").step_by(2);
        let codes = prose.flat_map(|part| part.split('`').skip(1).step_by(2)).filter_map(|code| code.split(' ').next());
        for path in codes.filter(is_path).filter(|path| !MADE.iter().any(|made| path.starts_with(made))) {
            assert!(BELOW.iter().any(|folder| root().join(folder).join(path).exists()), "{page}: there is no {path}");
            checked += 1;
        }
    }
    assert!(checked > 100, "{checked} paths");
}

#[test]
fn the_files_of_an_elementwise_function_are_those_that_name_all_of_them() {
    let text = fs::read_to_string(root().join("CONTRIBUTING.md")).unwrap();
    let section = text.lines().skip_while(|line| *line != "## A new primitive").skip(1);
    let rows = section.take_while(|line| !line.starts_with("## ")).filter(|line| line.starts_with('|'));
    let code = |row: &str| row.split('|').nth(1).unwrap().split('`').skip(1).step_by(2).map(PathBuf::from).collect();
    let listed: BTreeSet<PathBuf> = rows.flat_map(|row| -> Vec<PathBuf> { code(row) }).collect();
    let functions = Unary::ALL.map(|function| format!("{function:?}"));
    let functions: Vec<&String> = functions.iter().filter(|name| !name.contains('(') && *name != "Stop").collect();
    let mut files = Vec::new();
    ["kernels/src", "core/src", "gpu/src", "tests/src"]
        .iter()
        .for_each(|folder| files_below(&root().join(folder), &mut files));
    // Numbers of environments have functions of their own.
    files.retain(|file| !file.starts_with(root().join("kernels/src/env")));
    let names_all = |file: &PathBuf| {
        let Ok(text) = fs::read_to_string(file) else { return false };
        let words: BTreeSet<&str> = text.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
        functions.iter().all(|name| words.contains(name.as_str()))
    };
    let found = files.iter().filter(|file| names_all(file));
    let found: BTreeSet<PathBuf> = found.map(|file| file.strip_prefix(root()).unwrap().to_owned()).collect();
    assert_eq!(found, listed);
}
