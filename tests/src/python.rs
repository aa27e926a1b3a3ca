//! The Python of tests, with Gymnasium.

use std::path::PathBuf;

/// Environment variable: the interpreter of a virtual environment with Gymnasium, which `scripts/python-with.sh` makes.
pub const PYTHON: &str = "QUICKSTUDY_TEST_PYTHON";

/// The folder with the module `envs_under_test`.
#[must_use]
pub fn modules() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/python"))
}

/// The interpreter. Without one, the caller's test is over: this says that it was skipped.
///
/// # Panics
/// If there is none and `QUICKSTUDY_REQUIRE_PYTHON` is 1.
#[must_use]
#[allow(clippy::panic, reason = "called by tests only")]
pub fn interpreter() -> Option<PathBuf> {
    let found = std::env::var_os(PYTHON).map(PathBuf::from);
    if found.is_none() {
        assert!(!std::env::var("QUICKSTUDY_REQUIRE_PYTHON").is_ok_and(|v| v == "1"), "{PYTHON} is not set");
        println!("skipped: {PYTHON} is not set");
    }
    found
}
