//! The program's name and version, for what it says about itself.

use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// Version and, where it is known, commit and its date: `0.1.0 (commit 0123456789 of 2026-11-22)`.
pub(crate) const VERSION: &str = env!("QUICKSTUDY_VERSION");

/// True in a program of one's own, which adds environments and algorithms.
static OWN: AtomicBool = AtomicBool::new(false);

/// Says that this is a program of one's own, before its name is asked for.
pub(crate) fn set_own() {
    OWN.store(true, Ordering::Relaxed);
}

/// Name of the program, for the commands that messages suggest.
pub(crate) fn name() -> &'static str {
    static NAME: OnceLock<String> = OnceLock::new();
    let of_file = || {
        let file = std::env::args_os().next().map(PathBuf::from)?;
        Some(file.file_name()?.to_string_lossy().into_owned())
    };
    let own = || OWN.load(Ordering::Relaxed).then(of_file).flatten();
    NAME.get_or_init(|| own().unwrap_or_else(|| "quickstudy".to_owned()))
}

/// The version behind the program's name: of a program of one's own, quickstudy knows only with which one it is made.
pub(crate) fn version() -> String {
    match OWN.load(Ordering::Relaxed) {
        true => format!("(made with quickstudy {VERSION})"),
        false => VERSION.to_owned(),
    }
}

/// A text that suggests commands, with the program's name.
pub(crate) fn by_name(text: String) -> String {
    match name() {
        "quickstudy" => text,
        name => text.replace("quickstudy ", &format!("{name} ")),
    }
}
