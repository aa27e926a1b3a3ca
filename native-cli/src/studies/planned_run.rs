//! A run that is to be made: where, with which settings, and how far it has come.

use crate::files::reading;
use crate::folder::{self, file};
use crate::metrics::agreement;
use crate::metrics::history::ITERATIONS;
use crate::metrics::{ENV_STEPS, Table as Metrics};
use crate::outcome::Stop;
use crate::settings::keep_snapshots::Keep;
use crate::settings::register;
use crate::settings::request::Plan;
use crate::terminal::output::say;
use crate::terminal::signals;
use crate::text::quote::shell_quote;
use quickstudy_core::train::{Length, snapshot_progress};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::{Duration, Instant};
use toml::Table;

/// A run with a folder of its own.
#[derive(Clone, Debug)]
pub(crate) struct PlannedRun {
    /// Its seed.
    pub seed: u64,
    /// Its folder.
    pub folder: PathBuf,
    plan: Rc<Plan>,
}

/// How far a run has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RunStage {
    /// There is no snapshot: it is to begin.
    Missing,
    /// It has made so many environment steps, and can go on. Of files of older versions the number may not be known,
    /// and is 0.
    Begun(u64),
    /// It has made all its steps.
    Finished,
}

/// Processes of a study that was killed take this long at most to save what they have.
const SAVING: Duration = Duration::from_secs(60);

impl PlannedRun {
    /// The run of a plan with this seed.
    pub(crate) fn of(plan: &Rc<Plan>, seed: u64, folder: PathBuf) -> Self {
        Self { seed, folder, plan: plan.clone() }
    }

    /// Its configuration, which is made only where there is one to compare it with: a sweep has thousands of runs.
    fn config(&self) -> Table {
        // What the plan has rendered is TOML.
        toml::from_str(&self.plan.config_toml(self.seed)).unwrap_or_default()
    }

    /// Finds out how far the run has come.
    pub(crate) fn stage(&self) -> Result<RunStage, Stop> {
        let (path, length) = (self.folder.join(file::CONFIG), self.plan.setup.length());
        if !folder::is_started(&self.folder) || !path.exists() {
            return Ok(RunStage::Missing);
        }
        self.check_settings(&path)?;
        agreement::check(&self.folder, &self.folder.join(file::LAST))?;
        if self.folder.join(file::LAST).exists() {
            let snapshot = folder::read_snapshot(&self.folder, file::LAST)?;
            let path = self.folder.join(file::LAST);
            let found = snapshot_progress(register::own(), &snapshot)
                .map_err(|error| Stop::from(error).about(path.display()))?;
            // A run may have gone on for longer than this command asks for.
            let finished = [found.length, length].iter().all(|length| found.has_made(*length) == Some(true));
            return Ok(match found.steps {
                Some(_) if finished => RunStage::Finished,
                made => RunStage::Begun(made.unwrap_or(0)),
            });
        }
        let rows = Metrics::read(&self.folder).unwrap_or_default();
        let last = |name| rows.column(name).and_then(|all| all.last().copied()).unwrap_or(0.0) as u64;
        let made = last(ENV_STEPS);
        let enough = match length {
            Length::Preset => true,
            Length::Steps(steps) => made >= steps,
            Length::Iterations(iterations) => last(ITERATIONS) >= iterations,
        };
        match (made, self.plan.run.keep_snapshots(&self.plan.setup)) {
            (0, _) => Ok(RunStage::Missing),
            (_, Keep::None) if enough => Ok(RunStage::Finished),
            _ => {
                let folder = self.folder.display();
                let message = format!("{folder} holds rows of a run that has no snapshot to resume from");
                Err(Stop::user(message).hint("move that folder away, and the run is made again"))
            }
        }
    }

    /// Checks that the run in its folder has the settings of this one.
    fn check_settings(&self, path: &Path) -> Result<(), Stop> {
        let bytes = reading::read_own_text(path)?;
        let found: Table = toml::from_str(&String::from_utf8_lossy(&bytes))
            .map_err(|error| Stop::user(format!("{} is no TOML: {}", path.display(), error.message())))?;
        // Other settings may follow from the number of steps.
        let (config, steps) = (self.config(), "steps".to_owned());
        let keys = std::iter::once(&steps).chain(config.keys()).chain(found.keys());
        // A source may be named by its folder or by its snapshot.
        let differs = |key: &&String| *key != "from" && config.get(*key) != found.get(*key);
        let Some(key) = keys.into_iter().find(differs) else { return Ok(()) };
        let value =
            |table: &Table| table.get(key).map_or_else(|| format!("no {key}"), |value| format!("{key} = {value}"));
        let message = format!("{} holds a run with {}, not {}", self.folder.display(), value(&found), value(&config));
        Err(Stop::user(message).hint("choose another --out, or give the command that made this folder"))
    }

    /// Waits until no other process writes in the folder: those of a command that was killed save what they have.
    pub(crate) fn wait(&self) -> Result<(), Stop> {
        let begin = Instant::now();
        let mut told = false;
        while folder::is_locked(&self.folder) {
            if signals::stop_asked() {
                return Err(Stop { code: crate::outcome::INTERRUPTED, ..Stop::user("stopped; nothing was trained") });
            }
            if begin.elapsed() > SAVING {
                let message = format!("another process is writing in {}", self.folder.display());
                return Err(Stop::user(message).hint("wait for it, stop it, or choose another folder with --out"));
            }
            if !told {
                say(&format!("waiting for the process that writes in {}", shell_quote(&self.folder)));
                told = true;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        Ok(())
    }
}
