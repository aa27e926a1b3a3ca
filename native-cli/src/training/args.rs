//! Arguments of `quickstudy train`.

use crate::machine::device::DeviceArgs;
use crate::settings::parse;
use crate::settings::python::PythonArgs;
use crate::settings::request::Request;
use crate::settings::run_settings::RunSettings;
use crate::training::run::Pace;
use clap::value_parser;
use quickstudy_core::train::Setup;
use std::path::PathBuf;
use std::time::Duration;
use toml::Value;

/// Arguments of `quickstudy train`.
#[derive(Debug, clap::Args)]
pub(crate) struct TrainArgs {
    /// Settings of the run.
    #[command(flatten)]
    pub run: RunSettings,
    /// TOML file of settings, such as the config.toml of another run
    #[arg(long, value_name = "FILE", display_order = RunSettings::behind("steps", 1))]
    pub config: Option<PathBuf>,
    /// One setting, repeatable: gamma=0.9
    #[arg(
        long = "set",
        value_name = "KEY=VALUE",
        value_parser = parse::setting,
        display_order = RunSettings::behind("steps", 2)
    )]
    pub settings: Vec<(String, Value)>,
    /// Run folder; with several seeds, the folder of run folders.
    #[arg(
        long,
        value_name = "DIR",
        display_order = RunSettings::behind("steps", 3),
        help = "Run folder; with several seeds, the folder of run folders [default: runs/<env>-<algorithm>-s<seed>]"
    )]
    pub out: Option<PathBuf>,
    /// Continue the runs in these folders, or folders of runs, from their last snapshots; or resume kept snapshots,
    /// RUN/snapshots/N.safetensors, each in a new folder, which --out names
    #[arg(long, value_name = "DIR", num_args = 1.., display_order = RunSettings::behind("steps", 4))]
    pub resume: Vec<PathBuf>,
    /// Where to compute
    #[command(flatten, next_display_order = RunSettings::behind("from", 1))]
    pub device: DeviceArgs,
    /// How environments of Python are run
    #[command(flatten, next_display_order = RunSettings::behind("from", 5))]
    pub python: PythonArgs,
    /// Seconds between snapshots, 0 for one after each iteration
    #[arg(
        long,
        value_name = "SECONDS",
        default_value_t = 5.0,
        allow_negative_numbers = true,
        display_order = RunSettings::behind("log_every", 1)
    )]
    pub save_every: f64,
    /// Stop at the first gradient that is not finite and name the operation where it began (slower)
    #[arg(long, display_order = RunSettings::behind("keep_snapshots", 1))]
    pub debug: bool,
    /// Trainings at once, of several algorithms or environments: each is a process with its share of threads and
    /// memory [default: one per thread of the CPU, 1 on a GPU]
    #[arg(
        long,
        value_name = "N",
        value_parser = value_parser!(u16).range(1..=1024),
        allow_negative_numbers = true,
        conflicts_with = "resume",
        display_order = RunSettings::behind("from", 4)
    )]
    pub jobs: Option<u16>,
    /// Stop and save after so many environment steps of each seed, as by Ctrl-C; --resume continues the run
    #[arg(
        long,
        value_name = "N",
        value_parser = parse::count,
        allow_negative_numbers = true,
        display_order = RunSettings::behind("steps", 6)
    )]
    pub pause_at: Option<u64>,
    /// Write progress and results to standard output as JSON, an object on each line; lines for people go to standard
    /// error
    #[arg(long, display_order = RunSettings::behind("keep_snapshots", 3))]
    pub json: bool,
    /// Train resumed runs as rows of one program also where they differ in settings, if only numbers of it differ, such
    /// as gamma: what a sweep does
    #[arg(
        long,
        requires = "resume",
        conflicts_with_all = ["settings", "config"],
        display_order = RunSettings::behind("steps", 5)
    )]
    pub stack_trials: bool,
    /// Take a byte of standard input for a Ctrl-C, `+` for a further thread, and its end for a Ctrl-C too: for the
    /// program that started this one
    #[arg(long, hide = true)]
    pub follow_input: bool,
    /// Show the resolved settings and where each comes from, and train nothing
    #[arg(long, conflicts_with = "resume", display_order = RunSettings::behind("keep_snapshots", 2))]
    pub print_config: bool,
}

impl TrainArgs {
    pub(crate) fn pace(&self, run: &RunSettings, setup: &Setup) -> Pace {
        Pace {
            save_every: Duration::from_secs_f64(self.save_every),
            eval_every: run.eval_every(setup),
            evaluation: run.evaluation(setup),
            log_every: run.log_every(setup),
            keep: run.keep_snapshots(setup),
            pause_at: self.pause_at,
        }
    }

    /// The request, in layers.
    pub(crate) fn request(&self) -> Request {
        Request { flags: self.run.clone(), config: self.config.clone(), settings: self.settings.clone() }
    }
}
