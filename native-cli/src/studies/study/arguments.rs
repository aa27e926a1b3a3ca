//! Arguments of the processes that train: what was typed, for one pair and the seeds that are missing.

use super::parts::Pair;
use crate::machine::device::DeviceArgs;
use crate::machine::memory;
use crate::ranks;
use crate::settings::python::PythonArgs;
use crate::settings::values::{Kind as _, Seeds};
use crate::training::args::TrainArgs;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use toml::{Table, Value};

/// Where and how processes compute, and what does not change what is learned.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Machine<'a> {
    /// The device, its threads and its memory.
    pub device: &'a DeviceArgs,
    /// How environments of Python are run.
    pub python: &'a PythonArgs,
    /// Seconds between snapshots.
    pub save_every: f64,
    /// Gradients that are not finite are looked for.
    pub debug: bool,
    /// Trainings at once, if they were asked for.
    pub jobs: Option<u16>,
}

impl<'a> Machine<'a> {
    /// As the arguments of a `train` say.
    pub(crate) fn of(args: &'a TrainArgs) -> Self {
        let TrainArgs { device, python, save_every, debug, jobs, .. } = args;
        Self { device, python, save_every: *save_every, debug: *debug, jobs: *jobs }
    }

    /// The number of processes side by side on each rank, of `jobs` on all ranks: as asked for, otherwise one per
    /// thread of the CPU, and one on a GPU.
    pub(crate) fn at_once(&self, jobs: usize) -> usize {
        let default = || if self.device.device == "cpu" { self.device.threads() } else { 1 };
        self.jobs.map_or_else(default, usize::from).min(jobs.div_ceil(ranks::count())).max(1)
    }

    /// Threads of the CPU that processes divide; none where another device computes.
    pub(crate) fn threads(&self) -> usize {
        if self.device.device == "cpu" { self.device.threads() } else { 0 }
    }

    /// The arguments of each of so many processes: threads, memory and workers are divided among them.
    fn arguments(&self, at_once: usize) -> Vec<OsString> {
        let mut all: Vec<OsString> = vec!["--device".into(), (&self.device.device).into()];
        let threads = (self.device.threads() / at_once).max(1);
        all.push(format!("--threads={threads}").into());
        let divided = self.device.device == "cpu" && at_once > 1;
        let free = || divided.then(|| memory::free(self.device.threads())).flatten();
        if let Some(bytes) = self.device.memory.or_else(free) {
            all.push(format!("--memory={}", (bytes / at_once as u64).max(1)).into());
        }
        if let Some(python) = &self.python.python {
            all.extend(["--python".into(), python.into()]);
        }
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let workers = self.python.workers.map_or(cores, usize::from);
        all.push(format!("--workers={}", (workers / at_once).max(1)).into());
        all.push(format!("--env-timeout={}", self.python.env_timeout).into());
        all.push(format!("--save-every={}", self.save_every).into());
        if self.debug {
            all.push("--debug".into());
        }
        all
    }
}

/// Arguments that all processes of a command share.
#[derive(Debug)]
pub(crate) struct Common {
    settings: Vec<OsString>,
    machine: Vec<OsString>,
}

impl Common {
    /// The arguments of a `train`, of which `at_once` processes run side by side.
    pub(crate) fn of(args: &TrainArgs, at_once: usize) -> Self {
        let mut settings: Vec<OsString> = Vec::new();
        if let Some(config) = &args.config {
            settings.extend(["--config".into(), config.into()]);
        }
        for (key, value) in &args.settings {
            settings.extend(["--set".into(), format!("{key}={value}").into()]);
        }
        let mut given: Table = args.run.given();
        ["algorithm", "env", "seed", "from"].iter().for_each(|key| drop(given.remove(*key)));
        settings.extend(given.iter().map(|(key, value)| flag(key, value).into()));
        for path in args.run.from.iter().flatten() {
            settings.extend(["--from".into(), path.into()]);
        }
        Self::with(settings, Machine::of(args), at_once)
    }

    /// These settings, as arguments, for processes of which `at_once` run side by side.
    pub(crate) fn with(settings: Vec<OsString>, machine: Machine<'_>, at_once: usize) -> Self {
        Self { settings, machine: machine.arguments(at_once.max(1)) }
    }

    /// Stops the runs after so many environment steps.
    pub(crate) fn pause_at(&mut self, steps: u64) {
        self.machine.push(format!("--pause-at={steps}").into());
    }

    /// Trains resumed runs that differ in numbers as rows of one program.
    pub(crate) fn stack_trials(&mut self) {
        self.machine.push("--stack-trials".into());
    }

    /// Begins runs with these seeds in `place`.
    pub(crate) fn begin(&self, pair: &Pair, seeds: &[u64], place: &Path) -> Vec<OsString> {
        let mut arguments: Vec<OsString> = vec!["train".into(), (&pair.algorithm).into()];
        arguments.extend(["--env".into(), (&pair.env).into()]);
        arguments.push(flag("seed", &Seeds::write(&seeds.to_vec())).into());
        arguments.extend(self.settings.iter().cloned());
        arguments.extend(["--out".into(), place.into()]);
        arguments.extend(self.machine.iter().cloned());
        arguments
    }

    /// Goes on with the runs in these folders.
    pub(crate) fn resume(&self, folders: &[&PathBuf]) -> Vec<OsString> {
        let mut arguments: Vec<OsString> = vec!["train".into(), "--resume".into()];
        arguments.extend(folders.iter().map(|folder| folder.as_os_str().to_owned()));
        arguments.extend(self.machine.iter().cloned());
        arguments
    }
}

/// A setting of the run as a flag.
fn flag(key: &str, value: &Value) -> String {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    format!("--{}={text}", key.replace('_', "-"))
}
