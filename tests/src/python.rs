//! The Python of tests, with Gymnasium.

use std::path::PathBuf;

/// Environment variable: the interpreter of a virtual environment with Gymnasium, which `scripts/python-with.sh` makes.
pub const PYTHON: &str = "QUICKSTUDY_TEST_PYTHON";

/// The folder with the module `envs_under_test`.
#[must_use]
pub fn modules() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/python"))
}

/// The interpreter. Tests that need it are ignored by default.
///
/// # Panics
/// If none is named.
#[must_use]
#[allow(clippy::expect_used, reason = "called by tests only")]
pub fn interpreter() -> PathBuf {
    std::env::var_os(PYTHON).map(PathBuf::from).expect("QUICKSTUDY_TEST_PYTHON is set, as by scripts/check-python.sh")
}
