//! `quickstudy bench`: how fast, and how good, on this machine.

mod tables;

use crate::benchmarks::{learning, prediction, stepping, summing, training};
use crate::json::VERSION;
use crate::json::bench::BenchLine;
use crate::machine::device::DeviceArgs;
use crate::outcome::Stop;
use crate::ranks;
use crate::settings::parse::{self, episodes};
use crate::settings::python::PythonArgs;
use crate::settings::register;
use crate::terminal::json_args::JsonArgs;
use crate::terminal::output::{say, say_text};
use clap::builder::PossibleValuesParser;
use clap::value_parser;
use quickstudy_core::backend::cpu::simd::isa::Isa;
use quickstudy_core::backend::{Device, Ranks as _};
use quickstudy_core::env::{EnvDef, builtin, builtin_names};
use quickstudy_core::host::EnvPlace;
use std::time::Instant;

/// Arguments of `quickstudy bench`.
#[derive(Debug, clap::Args)]
#[command(after_help = help())]
pub(crate) struct BenchArgs {
    /// Only this part [default: environments and training]
    #[arg(value_enum)]
    pub part: Option<BenchPart>,
    /// Only this environment
    #[arg(long, value_name = "NAME")]
    pub env: Option<String>,
    /// Only presets of this algorithm, in the learning part
    #[arg(long, value_name = "NAME", value_parser = PossibleValuesParser::new(register::algorithm_names()))]
    pub algorithm: Option<String>,
    /// Seconds per line
    #[arg(long, value_name = "SECONDS", default_value_t = SECONDS, allow_negative_numbers = true)]
    pub seconds: f64,
    /// Seeds of the learning part
    #[arg(
        long,
        value_name = "SEEDS",
        default_value = "0..10",
        value_parser = parse::seeds,
        allow_negative_numbers = true
    )]
    pub seed: std::vec::Vec<u64>,
    /// Episodes per seed of the learning part
    #[arg(long, value_name = "N", default_value = "1000", value_parser = episodes, allow_negative_numbers = true)]
    pub episodes: u64,
    /// Environments that are stepped side by side, where one of the host is measured
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = value_parser!(u32).range(1..=65536),
        allow_negative_numbers = true)]
    pub envs: u32,
    /// Predict the time of an iteration on three GPUs by a model of its kernels, instead of measuring; needs no GPU,
    /// and `training --device gpu`
    #[arg(long)]
    pub predict: bool,
    /// With --predict, also the time of each kernel, the longest first
    #[arg(long, requires = "predict")]
    pub kernels: bool,
    /// Results as lines of JSON
    #[command(flatten)]
    pub json: JsonArgs,
    /// Where to compute
    #[command(flatten)]
    pub device: DeviceArgs,
    /// How environments of Python are run
    #[command(flatten)]
    pub python: PythonArgs,
}

/// Seconds per line where nobody says.
const SECONDS: f64 = 2.0;

/// The help's end, with the time that the parts take which run if none is named.
fn help() -> String {
    let minutes = (lines() as f64 * SECONDS / 60.0).ceil();
    let unit = if minutes > 1.0 { "minutes" } else { "minute" };
    format!(
        "Without a part it measures {} lines, {SECONDS} seconds each: about {minutes} {unit}.\n\n{}",
        lines(),
        tables::HELP
    )
}

/// Lines of the parts that run if none is named: one per environment and instruction set, and those of training.
fn lines() -> usize {
    builtin_names().len() * Isa::available().len() + training::LINES.len()
}

/// Parts of the benchmark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum BenchPart {
    /// Environments alone with random actions, on one core
    Environments,
    /// Training, updates included
    Training,
    /// Returns after training with the presets, a random policy beside them
    Learning,
    /// Sums over ranks, by a launcher: `mpirun -n 2 quickstudy bench ranks`
    Ranks,
}

/// Runs the verb.
pub(crate) fn run(args: &BenchArgs) -> Result<(), Stop> {
    args.python.set();
    args.json.reserve([])?;
    if !(args.seconds > 0.0 && args.seconds < 3600.0) {
        return Err(Stop::user(format!("--seconds: {} is not in 0 to 3600", args.seconds)));
    }
    if args.predict && (args.part != Some(BenchPart::Training) || !args.device.is_gpu()?) {
        return Err(Stop::user("--predict is for training on a GPU alone")
            .hint("`quickstudy bench training --device gpu --predict`"));
    }
    if args.part == Some(BenchPart::Ranks) {
        return sums(args);
    }
    let env = args.env.as_deref().map(register::environment).transpose().map_err(Stop::from)?;
    let on_host = env.as_ref().and_then(|env| env.device().err());
    if let (Some(error), Some(BenchPart::Training), Some(name)) = (&on_host, args.part, &args.env) {
        return Err(Stop::user(error.to_string())
            .hint(format!("`quickstudy bench environments --env {name}` measures its steps alone")));
    }
    if args.predict {
        return predictions(args, env.as_ref());
    }
    let start = Instant::now();
    let device = args.device.open()?;
    let (opening_seconds, name) = (start.elapsed().as_secs_f64(), args.device.describe(&device));
    show(args, BenchLine::Benchmark { version: VERSION, device: name, opening_seconds, seconds: args.seconds })?;
    if matches!(args.part, None | Some(BenchPart::Environments)) {
        environments(args, env.as_ref())?;
    }
    if on_host.is_some() && args.part.is_none() {
        let note = "training is measured on environments of programs only".to_owned();
        say(&note);
        args.json.write_notes([&note])?;
    } else if matches!(args.part, None | Some(BenchPart::Training)) {
        trainings(args, &device, env.as_ref())?;
    }
    if args.part == Some(BenchPart::Learning) {
        learnings(args, &device, env.as_ref())?;
    }
    Ok(())
}

/// Begins a table.
fn begin(head: &str) {
    say("");
    say(head);
}

/// Prints a result.
fn show(args: &BenchArgs, line: BenchLine) -> Result<(), Stop> {
    say(&tables::row(&line));
    args.json.write(&line)
}

fn environments(args: &BenchArgs, only: Option<&EnvPlace>) -> Result<(), Stop> {
    if let Some(EnvPlace::Host(place)) = only {
        begin(tables::HOST_STEPPING);
        return show(args, BenchLine::HostStepping(stepping::measure_host(place, args.envs as usize, args.seconds)?));
    }
    begin(tables::STEPPING);
    let all: Vec<EnvDef> = match only {
        Some(env) => vec![env.device()?.clone()],
        None => builtin_names().into_iter().map(builtin).collect::<Result<_, _>>()?,
    };
    for env in all {
        for isa in Isa::available() {
            show(args, BenchLine::Stepping(stepping::measure(&env, isa, args.seconds)))?;
        }
    }
    Ok(())
}

fn trainings(args: &BenchArgs, device: &Device, only: Option<&EnvPlace>) -> Result<(), Stop> {
    begin(tables::TRAINING);
    for line in training::LINES.iter().filter(|line| only.is_none_or(|env| env.spec().name == line.env)) {
        let (found, why) = line.measure(device, &args.device, args.seconds)?;
        show(args, BenchLine::Training(found))?;
        say(&format!("  {}", line.settings.replace(" = ", "=").replace('\n', " ")));
        why.iter().for_each(|why| say(&format!("  {why}")));
        args.json.write_notes(&why)?;
    }
    Ok(())
}

/// Predicts what trainings would take on graphics cards.
fn predictions(args: &BenchArgs, only: Option<&EnvPlace>) -> Result<(), Stop> {
    let device = "predicted, with 8 buffers per kernel".to_owned();
    args.json.write(&BenchLine::Benchmark { version: VERSION, device, opening_seconds: 0.0, seconds: 0.0 })?;
    say(tables::PREDICTION);
    for line in training::LINES.iter().filter(|line| only.is_none_or(|env| env.spec().name == line.env)) {
        let (found, mut kernels) = prediction::predict(line)?;
        let parts = tables::parts(&found);
        show(args, BenchLine::Prediction(found))?;
        if args.kernels {
            say_text(&parts);
            kernels.sort_by(|a, b| b.cards[0].milliseconds.total_cmp(&a.cards[0].milliseconds));
            say(tables::KERNELS);
            for kernel in kernels {
                show(args, BenchLine::PredictedKernel(kernel))?;
            }
        }
    }
    Ok(())
}

fn learnings(args: &BenchArgs, device: &Device, only: Option<&EnvPlace>) -> Result<(), Stop> {
    let (seeds, episodes) = (args.seed.len(), args.episodes as usize);
    let presets = learning::presets(args.algorithm.as_deref(), only)?;
    if presets.is_empty() {
        let [of, place] = [("of", &args.algorithm), ("for", &args.env)]
            .map(|(word, name)| name.as_ref().map_or_else(String::new, |name| format!(" {word} {name}")));
        return Err(Stop::user(format!("there is no preset{of}{place}")).hint("`quickstudy list presets` shows all"));
    }
    say("");
    say(&format!("{seeds} seeds, deterministic policy at the end of training, {episodes} episodes per seed"));
    say(tables::LEARNING);
    for preset in presets {
        show(args, BenchLine::Learning(learning::measure(device, &preset, &args.seed, episodes)?))?;
    }
    Ok(())
}

/// Measures sums over the ranks of a launcher; rank 0 prints them.
fn sums(args: &BenchArgs) -> Result<(), Stop> {
    let Some(team) = ranks::team() else {
        return Err(Stop::user("there is one rank, which has nobody to sum with")
            .hint("start it by a launcher: `mpirun -n 2 quickstudy bench ranks`"));
    };
    let (leads, seconds, device) = (team.rank() == 0, args.seconds, format!("{} ranks", team.count()));
    if leads {
        args.json.write(&BenchLine::Benchmark { version: VERSION, device, opening_seconds: 0.0, seconds })?;
        say(tables::SUMMING);
    }
    let mut points = Vec::new();
    for numbers in summing::NUMBERS {
        let found = summing::measure(&*team, numbers, seconds / 2.0)?;
        points.push((4.0 * numbers as f64, found.seconds));
        if leads {
            show(args, BenchLine::Summing(found))?;
        }
    }
    if leads {
        let (latency, rate) = summing::fitted(&points);
        say(&format!("fitted: {:.1} µs + bytes / {:.2} GB/s", 1e6 * latency, 1.0 / rate / 1e9));
        begin(tables::CUTS);
        for found in summing::cuts(seconds, args.device.threads()) {
            say(&tables::cuts(&found?));
        }
    }
    Ok(())
}
