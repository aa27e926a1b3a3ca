//! The pages for users say of algorithms and environments what there is.

#![allow(clippy::unwrap_used, reason = "a test may")]

use std::fs;
use std::path::{Path, PathBuf};

use quickstudy_core::env::builtin_names;
use quickstudy_core::train::ALGORITHMS;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

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
fn pages_that_count_environments_count_those_that_there_are() {
    let mut counted = 0;
    for page in pages() {
        let text = fs::read_to_string(&page).unwrap();
        let words: Vec<&str> = text.split_whitespace().collect();
        for of in words.windows(3).filter(|of| of[1] == "built-in" && of[2].starts_with("environments")) {
            if let Ok(count) = of[0].parse::<usize>() {
                assert_eq!(count, builtin_names().len(), "{}: {}", page.display(), of.join(" "));
                counted += 1;
            }
        }
    }
    assert!(counted > 0, "the package's page says how many there are");
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
