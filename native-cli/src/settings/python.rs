//! How environments of Python are run: `--python`, `--workers` and `--env-timeout`.

use crate::terminal::output::say;
use crate::terminal::signals::{stop_asked, stop_within_asked};
use clap::value_parser;
use quickstudy_bridge::{Options, Recipe, is_name};
use quickstudy_core::Result;
use quickstudy_core::env::EnvSpec;
use quickstudy_core::host::EnvPlace;
use std::cell::RefCell;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::Duration;

/// How environments of Python are run. None of it changes what is learned.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct PythonArgs {
    /// Python for environments of Gymnasium: an interpreter or its virtual environment [default: that beside this
    /// command, the active one, .venv, python3]
    #[arg(long, value_name = "PATH")]
    pub python: Option<PathBuf>,
    /// Processes of Python that step environments; results do not depend on it [default: one per core]
    #[arg(long, value_name = "N", value_parser = value_parser!(u16).range(1..=1024), allow_negative_numbers = true)]
    pub workers: Option<u16>,
    /// Seconds that a step of such a process may take before another one takes its place
    #[arg(long, value_name = "SECONDS", default_value_t = 60.0, value_parser = seconds, allow_negative_numbers = true)]
    pub env_timeout: f64,
}

fn seconds(text: &str) -> std::result::Result<f64, String> {
    let wrong = || format!("expected a number of seconds from 0.01 to 1e6, got `{text}`");
    text.parse().ok().filter(|seconds| (0.01..=1e6).contains(seconds)).ok_or_else(wrong)
}

static ASKED: OnceLock<PythonArgs> = OnceLock::new();

thread_local! {
    /// Places by their names, so that evaluations take workers that training has started. Only the thread that runs the
    /// command plays.
    static PLACES: RefCell<HashMap<String, EnvPlace>> = RefCell::default();
}

impl PythonArgs {
    /// Sets how environments of Python are run by this command.
    pub(crate) fn set(&self) {
        // One command runs, and says it once.
        let _ = ASKED.set(self.clone());
    }
}

/// How this command runs environments of Python.
pub(crate) fn options() -> Options {
    let default = Options { say, stop: stop_within_asked, hurry: stop_asked, ..Options::default() };
    ASKED.get().map_or(default.clone(), |asked| Options {
        python: asked.python.clone(),
        workers: asked.workers.map(usize::from),
        time_limit: Duration::from_secs_f64(asked.env_timeout),
        ..default
    })
}

/// The environment of Python with this name, for which Python is started once; none if it is no such name.
pub(crate) fn place(name: &str) -> Option<Result<EnvPlace>> {
    found(name, |_| true, Recipe::place)
}

/// The environment of Python with this name, whose spec a snapshot has; none if it is no such name.
pub(crate) fn place_with(name: &str, spec: &EnvSpec) -> Option<Result<EnvPlace>> {
    // The environment may have changed between two runs.
    found(name, |known| known == spec, |recipe| Ok(recipe.place_with(spec.clone())))
}

/// Ends the workers that wait.
pub(crate) fn end() {
    PLACES.take();
}

fn found(
    name: &str,
    fits: impl Fn(&EnvSpec) -> bool,
    make: impl FnOnce(Recipe) -> Result<EnvPlace>,
) -> Option<Result<EnvPlace>> {
    if !is_name(name) {
        return None;
    }
    if let Some(known) = PLACES.with_borrow(|places| places.get(name).cloned()).filter(|known| fits(known.spec())) {
        return Some(Ok(known));
    }
    let place = Recipe::parse(name, &options()).and_then(make);
    if let Ok(place) = &place {
        PLACES.with_borrow_mut(|places| places.insert(name.to_owned(), place.clone()));
    }
    Some(place)
}
