//! The rooms of the repository: where each algorithm's code stands.

use std::fs;
use std::path::{Path, PathBuf};

use quickstudy_core::algo::AlgorithmDef;

/// The folders of families, in which each algorithm has its room.
pub const FAMILIES: [&str; 4] =
    ["core/src/algo/on_policy", "core/src/algo/off_policy", "core/src/algo/search", "core/src/meta"];

/// The repository.
///
/// # Panics
/// Never: this package stands in it.
#[must_use]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
pub fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

/// The room of an algorithm, or of several that are variants of one: a file with its `AlgorithmDef`, and the folder of
/// that name.
#[derive(Clone, Debug)]
pub struct Room {
    /// The folder of its family, from the repository.
    pub family: &'static str,
    /// The name of its module.
    pub module: String,
    /// The text of its files.
    text: String,
}

impl Room {
    /// Tells whether a file of the repository stands in it.
    #[must_use]
    pub fn has(&self, file: &str) -> bool {
        let rest = file.strip_prefix(self.family).and_then(|rest| rest.strip_prefix('/'));
        rest.and_then(|rest| rest.strip_prefix(self.module.as_str()))
            .is_some_and(|end| end == ".rs" || end.starts_with('/'))
    }

    /// Tells whether an algorithm's name is said here.
    #[must_use]
    pub fn names(&self, def: &AlgorithmDef) -> bool {
        self.text.contains(&format!("\"{}\"", def.name))
    }
}

/// All rooms.
///
/// # Panics
/// If the sources cannot be read.
#[must_use]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
pub fn rooms() -> Vec<Room> {
    let mut rooms = Vec::new();
    for family in FAMILIES {
        let entries = fs::read_dir(repository().join(family)).unwrap().map(|entry| entry.unwrap().path());
        let mut modules: Vec<String> =
            entries.map(|path| path.file_stem().unwrap().to_string_lossy().into_owned()).collect();
        modules.sort();
        modules.dedup();
        for module in modules {
            let mut files = Vec::new();
            let path = repository().join(family).join(&module);
            files.extend(Some(path.with_extension("rs")).filter(|file| file.exists()));
            files_below(&path, &mut files);
            let text: String = files.iter().map(|file| fs::read_to_string(file).unwrap()).collect();
            if text.lines().any(|line| line.starts_with("pub static ") && line.contains("AlgorithmDef")) {
                rooms.push(Room { family, module, text });
            }
        }
    }
    rooms
}

/// The files of a folder and of those in it, but for what is built or fetched.
///
/// # Panics
/// If a folder cannot be read.
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
pub fn files_below(folder: &Path, found: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for path in entries.map(|entry| entry.unwrap().path()) {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() && !["node_modules", "dist", "build", "target", ".git"].contains(&name.as_str()) {
            files_below(&path, found);
        } else if path.is_file() {
            found.push(path);
        }
    }
}
