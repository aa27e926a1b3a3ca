//! Trials: the settings that are tried together, and their runs.

use super::file::SweepFile;
use crate::outcome::Stop;
use crate::ranks::message::Job;
use crate::results::experiments::show;
use crate::settings::request::Request;
use crate::studies::planned_run::RunStage;
use crate::studies::study::StudyPart;
use crate::studies::study::arguments::{Common, Machine};
use crate::studies::study::parts::Pair;
use crate::text::numbers::grouped;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use toml::Value;

/// Settings that are tried together.
#[derive(Debug)]
pub(crate) struct Trial {
    /// Its name, and that of its folder: `t07`.
    pub name: String,
    /// The settings in which it differs from others.
    pub tried: Vec<(String, Value)>,
    /// Its runs, one per seed.
    pub part: StudyPart,
    pair: Pair,
    folder: PathBuf,
    settings: Vec<OsString>,
}

/// The trials of a sweep, with their folders below `out`.
pub(crate) fn trials(file: &SweepFile, pair: &Pair, out: &Path) -> Result<Vec<Trial>, Stop> {
    let all = file.trials();
    let digits = (all.len() - 1).to_string().len().max(2);
    let trial = |(number, tried): (usize, Vec<(String, Value)>)| {
        Trial::resolve(file, pair, format!("t{number:0digits$}"), tried, out)
    };
    all.into_iter().enumerate().map(trial).collect()
}

impl Trial {
    fn resolve(
        file: &SweepFile,
        pair: &Pair,
        name: String,
        tried: Vec<(String, Value)>,
        out: &Path,
    ) -> Result<Self, Stop> {
        let fixed = file.fixed.iter().map(|(key, value)| (key.clone(), value.clone()));
        let settings: Vec<(String, Value)> = fixed.chain(tried.iter().cloned()).collect();
        let folder = out.join(&name);
        let request = Request { settings: settings.clone(), ..Request::default() };
        let part = StudyPart::resolve(&request, pair, &folder)
            .map_err(|stop| stop.about(format_args!("trial {name} ({})", shown(&tried))))?;
        let typed = |(key, value): &(String, Value)| ["--set".into(), format!("{key}={value}").into()];
        let pair_keys = ["algorithm", "env", "seed"];
        let settings = settings.iter().filter(|(key, _)| !pair_keys.contains(&key.as_str())).flat_map(typed).collect();
        Ok(Self { name, tried, part, pair: pair.clone(), folder, settings })
    }

    /// The jobs by which its runs come to `rung` environment steps.
    pub(super) fn jobs(&self, rung: u64, machine: Machine<'_>, at_once: usize) -> Vec<Job> {
        let mut common = Common::with(self.settings.clone(), machine, at_once);
        let pauses = rung < self.part.plan.setup.steps;
        if pauses {
            common.pause_at(rung);
        }
        let name = format!("{} {}", self.name, shown(&self.tried));
        let jobs = self.part.jobs(&self.pair, &self.folder, &common, 1).into_iter();
        jobs.map(|job| Job { name: name.clone(), pauses, ..job }).collect()
    }

    /// Tells whether all its runs have made so many steps.
    pub(super) fn has_come_to(&self, rung: u64) -> bool {
        self.part.stages.iter().all(|stage| match stage {
            RunStage::Finished => true,
            RunStage::Begun(made) => *made >= rung,
            RunStage::Missing => false,
        })
    }
}

/// Checks that scores are there at the end of each rung.
pub(super) fn check_rungs(file: &SweepFile, trials: &[Trial]) -> Result<(), Stop> {
    let Some(halving) = file.halving else { return Ok(()) };
    for plan in trials.iter().map(|trial| &trial.part.plan) {
        let every = plan.run.eval_every(&plan.setup);
        if every == 0 || halving.first_steps % every != 0 {
            let first = grouped(halving.first_steps);
            let message =
                format!("eval_every = {every}: a rung of [halving] ends after {first} steps with no evaluation");
            let hint = "let first_steps be a multiple of eval_every, or leave eval_every out";
            return Err(Stop::user(message).hint(hint));
        }
    }
    Ok(())
}

/// Settings as they are shown: `epochs=10 gamma=0.9`.
pub(crate) fn shown(tried: &[(String, Value)]) -> String {
    let parts: Vec<String> = tried.iter().map(|(key, value)| format!("{key}={}", show(value))).collect();
    parts.join(" ")
}
