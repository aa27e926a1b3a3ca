//! The command line in processes of its own: one file per thing that is tried, each test in a folder of its own.

#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests may panic")]

use quickstudy_tests::process::{Finished, Sandbox};

mod added;
mod agreement;
mod apart;
mod commands;
mod compare;
mod crafted;
mod curves;
mod damage;
mod files;
mod help;
mod hints;
mod host_env;
mod interrupt;
mod isa;
mod iterations;
mod json;
mod kept;
mod kills;
mod links;
mod memory;
mod models;
mod particles;
mod pictures;
mod playing;
mod report;
mod resume;
mod scores;
mod segments;
mod study;
mod sweep;
mod text_files;
mod warm_start;
mod watch;

/// An empty folder in which the command line runs.
fn sandbox() -> Sandbox {
    Sandbox::new(env!("CARGO_BIN_EXE_quickstudy-under-test"))
}

/// A user's mistake: exit code 2, a message with these parts, no panic.
#[track_caller]
fn expect_user_error(finished: &Finished, parts: &[&str]) {
    assert_eq!(finished.code, Some(2), "{finished:?}");
    for part in parts {
        assert!(finished.err.contains(part), "`{part}` is missing: {}", finished.err);
    }
    assert!(!finished.err.contains("panicked"), "{}", finished.err);
}
