//! Environments of Python in real processes with real Gymnasium. `scripts/check-python.sh` makes what these tests need,
//! and runs them.

#![cfg(unix)]
#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests may panic")]

use std::cell::RefCell;
use std::fs;
use std::path::Path;
use std::time::Duration;

use quickstudy_bridge::{Options, Recipe};
use quickstudy_core::Result;
use quickstudy_core::host::{EnvPlace, Executor, FleetSize};
use quickstudy_core::rng::{Key, fold_in};
use quickstudy_tests::python::interpreter;

mod boxes;
mod command_line;
mod faults;
mod metaworld;
mod optuna;
mod presets;
mod repeat;
mod spaces;
mod tensorboard;

thread_local! {
    /// Lines that were shown.
    static SAID: RefCell<Vec<String>> = RefCell::default();
}

/// The lines that were shown in this test so far.
fn said() -> Vec<String> {
    SAID.with_borrow(Clone::clone)
}

/// How environments of a test are run.
fn options(workers: usize) -> Options {
    let say = |line: &str| SAID.with_borrow_mut(|lines| lines.push(line.to_owned()));
    let time_limit = Duration::from_secs(30);
    Options { python: Some(interpreter()), workers: Some(workers), time_limit, say, ..Options::default() }
}

/// The place of an environment of `python/envs_under_test.py`, as seen from the package's folder, where tests run; or
/// of Gymnasium's own.
fn place(id: &str, options: &Options) -> Result<EnvPlace> {
    let name = match id {
        id if id.contains("-v0") => format!("gymnasium:python.envs_under_test:{id}"),
        id => format!("gymnasium:{id}"),
    };
    Recipe::parse(&name, options)?.place()
}

/// An executor of `envs` environments, each its own group.
fn executor(place: &EnvPlace, envs: usize) -> Box<dyn Executor> {
    let size = FleetSize { tasks: envs, envs_per_task: 1, horizon: place.spec().horizon };
    place.executor(size).unwrap().unwrap()
}

/// Keys of a step, one per environment.
fn keys(envs: usize, step: u32) -> Vec<Key> {
    (0..envs as u32).map(|env| fold_in([7, env], step)).collect()
}

/// The workers, and their children, of the process with this id.
fn workers_of(parent: &str) -> Vec<String> {
    let command = |path: &Path| fs::read(path.join("cmdline")).unwrap_or_default();
    let of_parent = |text: &[u8]| {
        let text = String::from_utf8_lossy(text);
        text.contains("A worker of quickstudy") && text.trim_end_matches('\0').ends_with(&format!("\0{parent}"))
    };
    let zombie = |path: &Path| fs::read_to_string(path.join("stat")).unwrap_or_default().contains(") Z ");
    let processes = fs::read_dir("/proc").unwrap().map(|entry| entry.unwrap().path());
    let all = processes.filter(|path| of_parent(&command(path)) && !zombie(path));
    all.map(|path| path.display().to_string()).collect()
}
