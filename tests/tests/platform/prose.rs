//! How sources are written: no line and no file is too long. `scripts/check-prose.sh` looks at words.

#![allow(clippy::unwrap_used, reason = "a test may")]

use std::fs;
use std::path::{Path, PathBuf};

/// Columns of a line, comments included.
const WIDTH: usize = 120;

/// Lines of a file, tests and documentation included.
const LENGTH: usize = 500;

/// Names of files that are read, by their ends.
const ENDS: [&str; 7] = ["rs", "ts", "wgsl", "py", "sh", "js", "mjs"];

/// Folders whose content is made or fetched.
const NOT_OURS: [&str; 6] = ["target", "node_modules", "dist", "build", ".git", "screenshots"];

/// Numbers of the lines, from 1, that are longer than [`WIDTH`].
fn long_lines(text: &str) -> Vec<usize> {
    numbered(text).filter(|(_, line)| line.chars().count() > WIDTH).map(|(number, _)| number).collect()
}

/// The number of the first line beyond [`LENGTH`], unless a test writes the file.
fn too_many_lines(text: &str) -> Vec<usize> {
    let written = text.starts_with("// Written by `");
    numbered(text).map(|(number, _)| number).filter(|number| *number == LENGTH + 1 && !written).collect()
}

fn numbered(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().enumerate().map(|(i, line)| (i + 1, line))
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

/// Sources below a folder, by their paths from the root.
fn sources(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let own = path.strip_prefix(root()).unwrap();
        if path.is_dir() {
            let name = path.file_name().unwrap().to_str().unwrap();
            if !NOT_OURS.contains(&name) {
                sources(&path, found);
            }
        } else if path.extension().is_some_and(|end| ENDS.iter().any(|known| end == *known)) {
            found.push(own.to_owned());
        }
    }
}

/// Places in sources, as `file:line`, that `check` finds fault with.
fn faults(check: fn(&str) -> Vec<usize>) -> Vec<String> {
    let mut files = Vec::new();
    sources(root(), &mut files);
    assert!(files.len() > 200, "{} files", files.len());
    files.sort();
    let places = |file: &PathBuf| {
        let text = fs::read_to_string(root().join(file)).unwrap();
        check(&text).into_iter().map(|line| format!("{}:{line}", file.display())).collect::<Vec<_>>()
    };
    files.iter().flat_map(places).collect()
}

#[test]
fn no_line_is_longer_than_120_columns() {
    let long = faults(long_lines);
    assert!(long.is_empty(), "break these lines, with `\\` or `concat!` in a string:\n{}", long.join("\n"));
}

#[test]
fn no_file_is_longer_than_500_lines() {
    let long = faults(too_many_lines);
    assert!(long.is_empty(), "put a part of these into a file of its own:\n{}", long.join("\n"));
    assert_eq!((too_many_lines(&"\n".repeat(500)), too_many_lines(&"\n".repeat(999))), (vec![], vec![501]));
}

#[test]
fn long_lines_of_code_comments_and_documentation_are_found() {
    let full = "ä".repeat(WIDTH);
    assert_eq!(long_lines(&full), Vec::<usize>::new());
    for start in ["x", "// ", "/// ", "    let text = "] {
        assert_eq!(long_lines(&format!("fn f() {{}}\n{start}{full}\n")), [2]);
    }
}
