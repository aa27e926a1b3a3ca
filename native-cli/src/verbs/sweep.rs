//! `quickstudy sweep`: trainings that differ in settings.

use crate::machine::device::DeviceArgs;
use crate::outcome::Stop;
use crate::settings::parse;
use crate::settings::python::PythonArgs;
use crate::settings::run_settings::RunSettings;
use crate::studies::study::arguments::Machine;
use crate::studies::sweep::file::SweepFile;
use crate::studies::sweep::score::Score;
use crate::studies::sweep::trial::shown;
use crate::studies::sweep::{Sweep, SweepEnd, results};
use crate::terminal::activity::{self, Work};
use crate::terminal::output::{self, say};
use crate::terminal::signals;
use crate::terminal::ticker::Ticker;
use crate::text::program;
use crate::text::quote::shell_quote;
use clap::value_parser;
use std::path::{Path, PathBuf};

/// Arguments of `quickstudy sweep`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
A file holds the settings of all trials, as a configuration does, and tables of
those that are tried:
  algorithm = \"ppo\"
  env = \"cartpole\"
  seed = \"0..3\"
  [grid]                       each value with each other one
  learning_rate = [1e-4, 3e-4, 1e-3]
  [random]                     so many draws, from ranges or lists
  trials = 24
  gamma = { low = 0.9, high = 0.999 }
  entropy_coef = { low = 1e-4, high = 1e-1, scale = \"log\" }
  [halving]                    the best third goes on with three times the steps
  eta = 3
  first_steps = \"10k\"

A trial's runs lie in a folder of its own, such as t07. Beside them are
trials.csv, sweep.svg (parallel coordinates) and sweep.toml. The same command
continues when it was stopped or killed. Trials that differ in numbers alone,
such as gamma or a learning rate, are rows of one program.

Examples:
  quickstudy sweep sweep.toml
  quickstudy sweep --algorithm ppo --env cartpole --set gamma=0.9,0.98,0.99
  quickstudy sweep sweep.toml --set epochs=10 --steps 50k --jobs 4
  quickstudy sweep sweep.toml --list            the trials, training nothing
  quickstudy compare runs/sweep --by gamma      over all that was trained")]
pub(crate) struct SweepArgs {
    /// TOML file of the sweep
    #[arg(value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// Algorithm
    #[arg(long, value_name = "NAME")]
    pub algorithm: Option<String>,
    /// Environment
    #[arg(long, value_name = "NAME")]
    pub env: Option<String>,
    /// Seeds of each trial: 3, 0..10, 1,5,7
    #[arg(long, value_parser = parse::seeds, allow_negative_numbers = true)]
    pub seed: Option<std::vec::Vec<u64>>,
    /// Environment steps of each seed
    #[arg(long, value_name = "N", value_parser = parse::count, allow_negative_numbers = true)]
    pub steps: Option<u64>,
    /// Iterations of each seed, in place of --steps
    #[arg(long, value_name = "N", value_parser = parse::count, allow_negative_numbers = true, conflicts_with = "steps")]
    pub iterations: Option<u64>,
    /// A setting of all trials, gamma=0.9, or the values of one that is tried, gamma=0.9,0.98,0.99; repeatable
    #[arg(long = "set", value_name = "KEY=VALUES")]
    pub settings: Vec<String>,
    /// Column of metrics.csv whose value at the budget is a trial's score [default: eval/return_mean, or
    /// rollout/ep_return_mean without evaluations]
    #[arg(long, value_name = "NAME")]
    pub metric: Option<String>,
    /// Folder of the trials [default: runs and the name of the file, or runs/sweep]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Trainings at once: each is a process with its share of threads and memory [default: one per thread of the CPU,
    /// 1 on a GPU]
    #[arg(long, value_name = "N", value_parser = value_parser!(u16).range(1..=1024), allow_negative_numbers = true)]
    pub jobs: Option<u16>,
    /// Train each trial in a process of its own, also those that could be rows of one program
    #[arg(long)]
    pub apart: bool,
    /// Where to compute
    #[command(flatten)]
    pub device: DeviceArgs,
    /// How environments of Python are run
    #[command(flatten)]
    pub python: PythonArgs,
    /// Seconds between snapshots
    #[arg(long, value_name = "SECONDS", default_value_t = 5.0, allow_negative_numbers = true)]
    pub save_every: f64,
    /// Show the trials, and train nothing
    #[arg(long)]
    pub list: bool,
    /// Write results to standard output as JSON, an object on each line; lines for people go to standard error
    #[arg(long)]
    pub json: bool,
}

/// Runs the verb.
pub(crate) fn run(args: &SweepArgs) -> Result<(), Stop> {
    if !(0.0..1e9).contains(&args.save_every) {
        return Err(Stop::user(format!("--save-every: {} is no number of seconds", args.save_every)));
    }
    args.python.set();
    if args.json {
        output::take_json();
    }
    let (file, text) = file(args)?;
    let out = args.out.clone().unwrap_or_else(|| default_out(args.file.as_deref()));
    activity::begin(Work::SettingUp);
    let ticker = Ticker::new(None);
    let mut sweep = Sweep::resolve(file, out, args.metric.clone())?;
    drop(ticker);
    output::say_line(&results::first_line(&sweep));
    if args.list {
        for trial in &sweep.trials {
            say(&format!("{}  {}", trial.name, shown(&trial.tried)));
            output::say_line(&results::line(trial, &Score::default()));
        }
        return Ok(());
    }
    signals::install();
    let _lock = sweep.take()?;
    say(&sweep.headline());
    let SweepArgs { device, python, save_every, jobs, .. } = args;
    let machine = Machine { device, python, save_every: *save_every, debug: false, jobs: *jobs };
    text.map_or(Ok(()), |text| output::write_own(&sweep.out.join("sweep.toml"), text.as_bytes()))?;
    let (end, scores) = sweep.train(machine, args.apart)?;
    output::write_own(&sweep.out.join("trials.csv"), results::csv(&sweep, &scores).as_bytes())?;
    output::write_own(&sweep.out.join("sweep.svg"), results::picture(&sweep, &scores).svg().as_bytes())?;
    let ranked = sweep.ranked(&scores);
    results::table(&sweep, &scores, &ranked).iter().for_each(|line| say(line));
    ranked.iter().for_each(|trial| output::say_line(&results::line(&sweep.trials[*trial], &scores[*trial])));
    let place = shell_quote(&sweep.out);
    match end {
        SweepEnd::Stopped => say("stopped; the same command continues with what is missing"),
        SweepEnd::Done => say(&format!("next: {} compare {place}, and look at {place}/sweep.svg", program::name())),
    }
    Ok(())
}

/// The file with the flags over it, and its text.
fn file(args: &SweepArgs) -> Result<(SweepFile, Option<String>), Stop> {
    let (mut file, text) = match &args.file {
        Some(path) => SweepFile::read(path).map(|(file, text)| (file, Some(text)))?,
        None => (SweepFile::default(), None),
    };
    let SweepArgs { algorithm, env, seed, .. } = args;
    let (algorithm, env, seed) = (algorithm.clone(), env.clone(), seed.clone());
    let (steps, iterations) = (args.steps, args.iterations);
    let flags = RunSettings { algorithm, env, seed, steps, iterations, ..RunSettings::default() };
    file.put(flags.given(), &args.settings)?;
    Ok((file, text))
}

fn default_out(file: Option<&Path>) -> PathBuf {
    let stem = file.and_then(Path::file_stem).filter(|stem| !stem.is_empty());
    Path::new("runs").join(stem.unwrap_or("sweep".as_ref()))
}
