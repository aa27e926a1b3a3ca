//! `quickstudy bench`: how fast, and how good, on this machine.

mod on_host;
mod ranks;

use crate::json::bench::BenchLine;
use crate::json::{VERSION, ends, finite};
use crate::machine::device::{DeviceArgs, time_of_training};
use crate::outcome::Stop;
use crate::settings::parse::episodes;
use crate::settings::python::PythonArgs;
use crate::settings::{config, parse, register};
use crate::statistics;
use crate::terminal::json_args::JsonArgs;
use crate::terminal::output::say;
use crate::text::numbers::{brief, duration, short_count};
use clap::builder::PossibleValuesParser;
use clap::value_parser;
use quickstudy_core::algo::{AlgorithmDef, PPO, SAC, TD3};
use quickstudy_core::backend::Device;
use quickstudy_core::backend::cpu::simd::isa::Isa;
use quickstudy_core::backend::cpu::simd::peak::peak;
use quickstudy_core::env::{EnvDef, Source, builtin, builtin_names};
use quickstudy_core::host::EnvPlace;
use quickstudy_core::train::{Evaluator, Layer, Preset, Session, Setup, presets};
use std::time::{Duration, Instant};

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

const HELP: &str = "\
Columns of the training part:
  steps/s     environment steps per second, updates included
  GFLOP/s     arithmetic of an iteration (2·M·N·K for each product, 1 for each
              element of other f32 operations, gradients included) per second;
              those of TD3's policy are counted in each second update, when it
              is moved
  of peak     their share of the multiply-adds that one core makes, times
              threads, measured in the same minute; - on a GPU
  dispatches  commands that an iteration gives the GPU; - on the CPU
  host µs     the processor's time to record and submit one of them, apart
              from waiting for the GPU; - on the CPU
  set-up      tracing, planning and compiling, shaders included
  first       the first iteration after that

Examples:
  quickstudy bench                          environments and training
  quickstudy bench training --threads 1     training alone, one thread
  quickstudy bench training --device gpu    the same on a GPU
  quickstudy bench learning --env cartpole  ten seeds of a preset, and how good
                                            their policies are after training
  quickstudy bench --json                   a JSON object on each line
  quickstudy bench environments --env gymnasium:CartPole-v1 --workers 1 --envs 8
                                            steps of processes of Python";

/// Seconds per line where nobody says.
const SECONDS: f64 = 2.0;

/// The help's end, with the time that the parts take which run if none is named.
fn help() -> String {
    let minutes = (lines() as f64 * SECONDS / 60.0).ceil();
    let unit = if minutes > 1.0 { "minutes" } else { "minute" };
    format!("Without a part it measures {} lines, {SECONDS} seconds each: about {minutes} {unit}.\n\n{HELP}", lines())
}

/// Lines of the parts that run if none is named: one per environment and instruction set, and those of training.
fn lines() -> usize {
    builtin_names().len() * Isa::available().len() + TRAINING.len()
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
    if args.part == Some(BenchPart::Ranks) {
        return ranks::measure(&args.json, args.seconds, args.device.threads());
    }
    let env = args.env.as_deref().map(register::environment).transpose().map_err(Stop::from)?;
    let on_host = env.as_ref().and_then(|env| env.device().err());
    if let (Some(error), Some(BenchPart::Training), Some(name)) = (&on_host, args.part, &args.env) {
        return Err(Stop::user(error.to_string())
            .hint(format!("`quickstudy bench environments --env {name}` measures its steps alone")));
    }
    let chosen = |name: &str| env.as_ref().is_none_or(|env| env.spec().name == name);
    let start = Instant::now();
    let device = args.device.open()?;
    let opening = start.elapsed();
    say(&format!("{}, opened in {}", args.device.describe(&device), brief(opening)));
    args.json.write(&BenchLine::Benchmark {
        version: VERSION,
        device: args.device.describe(&device),
        opening_seconds: opening.as_secs_f64(),
        seconds: args.seconds,
    })?;
    if matches!(args.part, None | Some(BenchPart::Environments)) {
        environments(args, env.as_ref())?;
    }
    if on_host.is_some() && args.part.is_none() {
        let note = "training is measured on environments of programs only".to_owned();
        say(&note);
        args.json.write_notes([&note])?;
    } else if matches!(args.part, None | Some(BenchPart::Training)) {
        training(&device, args, &chosen)?;
    }
    if args.part == Some(BenchPart::Learning) {
        let of = |preset: &Preset| args.algorithm.as_ref().is_none_or(|name| name == preset.algorithm);
        // Others need Python, so that they are measured if they are named.
        let can = |preset: &Preset| preset.is_builtin() || args.env.is_some();
        learning(&device, args, &|preset| can(preset) && chosen(&preset.env) && of(preset))?;
    }
    Ok(())
}

fn environments(args: &BenchArgs, only: Option<&EnvPlace>) -> Result<(), Stop> {
    let seconds = args.seconds;
    if let Some(EnvPlace::Host(place)) = only {
        let envs = args.envs as usize;
        let speed = on_host::environments(place, envs, seconds)?;
        let environment = place.spec().name.clone();
        return args.json.write(&BenchLine::HostStepping { environment, envs, steps_per_second: speed });
    }
    say("");
    say(&format!(
        "{:<28}{:<10}{:>14}{:>24}",
        "environment, random actions", "", "steps/s, 1 core", "share of randomness"
    ));
    let all: Vec<EnvDef> = match only {
        Some(env) => vec![env.device()?.clone()],
        None => builtin_names().into_iter().map(builtin).collect::<Result<_, _>>()?,
    };
    for env in all {
        let name = &env.spec().name;
        for isa in Isa::available() {
            let speed = stepping(&env, isa, seconds / 2.0, Source::Threefry);
            let bare = stepping(&env, isa, seconds / 2.0, Source::Cheap);
            // The time that goes when random numbers cost nothing and every episode starts alike.
            let share = (1.0 - speed / bare).max(0.0);
            say(&format!("{name:<28}{:<10}{:>14}{:>22.0} %", isa.to_string(), short_count(speed), 100.0 * share));
            args.json.write(&BenchLine::Stepping {
                environment: name.clone(),
                isa: isa.to_string(),
                steps_per_second: speed,
                randomness_share: share,
            })?;
        }
    }
    Ok(())
}

/// Environment steps per second of 4096 environments.
fn stepping(env: &EnvDef, isa: Isa, seconds: f64, source: Source) -> f64 {
    let (count, steps) = (4096, 256);
    let _ = env.random_steps(isa, [1, 2], count, steps, source);
    let start = Instant::now();
    let mut made = 0;
    for key in 0.. {
        made += env.random_steps(isa, [3, key], count, steps, source).steps;
        if start.elapsed().as_secs_f64() > seconds {
            break;
        }
    }
    made as f64 / start.elapsed().as_secs_f64()
}

/// A line of the training part.
#[derive(Clone, Copy)]
struct TrainingLine {
    /// The algorithm.
    of: &'static AlgorithmDef,
    /// The environment.
    env: &'static str,
    /// Its name in the table.
    name: &'static str,
    /// Its settings over those of the preset, as TOML.
    settings: &'static str,
    /// The share of iterations that do what is done under a condition: TD3's policy is moved in each second update.
    conditional: f64,
}

/// The training lines: CartPole as other libraries are measured with; Pendulum as RLtools measures PPO, by the preset
/// and with its own networks, noise and gradients; the cheetah as CleanRL plays it, with 16 environments; SAC and TD3
/// as RLtools measures them. All networks have two layers of 64.
const TRAINING: [TrainingLine; 8] = [
    TrainingLine {
        of: &PPO,
        env: "cartpole",
        name: "4 envs × 128",
        settings: "envs = 4\nhorizon = 128\nepochs = 4\nminibatches = 4",
        conditional: 1.0,
    },
    TrainingLine {
        of: &PPO,
        env: "cartpole",
        name: "64 envs × 32",
        settings: "envs = 64\nhorizon = 32\nepochs = 4\nminibatches = 4",
        conditional: 1.0,
    },
    TrainingLine {
        of: &PPO,
        env: "cartpole",
        name: "2048 envs × 32",
        settings: "envs = 2048\nhorizon = 32\nepochs = 4\nminibatches = 4",
        conditional: 1.0,
    },
    TrainingLine {
        of: &PPO,
        env: "pendulum",
        name: "4 envs × 1024",
        settings: "envs = 4\nhorizon = 1024\nepochs = 2\nminibatches = 16",
        conditional: 1.0,
    },
    TrainingLine {
        of: &PPO,
        env: "pendulum",
        name: "4 envs × 1024, lean",
        settings: "envs = 4\nhorizon = 1024\nepochs = 2\nminibatches = 16\nactivation = \"relu\"\nsde = false\n\
                   max_grad_norm = 0.0",
        conditional: 1.0,
    },
    TrainingLine {
        of: &PPO,
        env: "half-cheetah",
        name: "16 envs × 2048",
        settings: "envs = 16\nhorizon = 2048\nepochs = 10\nminibatches = 32",
        conditional: 1.0,
    },
    TrainingLine {
        of: &SAC,
        env: "pendulum",
        name: "batches of 100",
        settings: "hidden = [64, 64]\nbatch_size = 100\nmemory_size = 100_000",
        conditional: 1.0,
    },
    TrainingLine {
        of: &TD3,
        env: "pendulum",
        name: "batches of 100",
        settings: "hidden = [64, 64]\nbatch_size = 100\nmemory_size = 100_000",
        conditional: 0.5,
    },
];

fn training(device: &Device, args: &BenchArgs, chosen: &dyn Fn(&str) -> bool) -> Result<(), Stop> {
    let head = ["with updates", "steps/s", "GFLOP/s", "of peak", "dispatches", "host µs", "set-up", "first"];
    say("");
    say(&columns(head.map(str::to_owned)));
    for line in TRAINING.into_iter().filter(|line| chosen(line.env)) {
        let setup = setup_of(line.of, line.env, &[0], Some(u64::MAX >> 20), line.settings)?;
        let (device, why) = match args.device.is_auto() {
            true => args.device.open_for(&mut |device| time_of_training(device, &setup))?,
            false => (device.clone(), None),
        };
        let speed = trained(&device, &setup, args.seconds, line.conditional)?;
        let share = device.caps().is_cpu.then(|| speed.flops / (args.device.threads() as f64 * peak_of_a_core()));
        say(&columns([
            format!("{} {}, {}", line.of.name, line.env, line.name),
            short_count(speed.steps.round()),
            format!("{:.1}", speed.flops / 1e9),
            share.map_or("-".to_owned(), |share| format!("{:.0} %", share * 100.0)),
            speed.dispatches.map_or("-".to_owned(), |(count, _)| format!("{count:.0}")),
            speed.dispatches.map_or("-".to_owned(), |(_, host)| format!("{:.2}", host.as_secs_f64() * 1e6)),
            brief(speed.set_up),
            brief(speed.first),
        ]));
        say(&format!("  {}", line.settings.replace(" = ", "=").replace('\n', " ")));
        why.iter().for_each(|why| say(&format!("  {why}")));
        args.json.write(&BenchLine::Training {
            algorithm: line.of.name.to_owned(),
            environment: line.env.to_owned(),
            name: line.name.to_owned(),
            settings: config::parse(line.settings).map_err(Stop::failure)?.1,
            device: args.device.describe(&device),
            steps_per_second: speed.steps,
            flops_per_second: speed.flops,
            peak_share: share.and_then(finite),
            dispatches: speed.dispatches.map(|(count, _)| count),
            dispatch_seconds: speed.dispatches.map(|(_, host)| host.as_secs_f64()),
            setup_seconds: speed.set_up.as_secs_f64(),
            first_seconds: speed.first.as_secs_f64(),
        })?;
        args.json.write_notes(&why)?;
    }
    Ok(())
}

/// Multiply-adds of one core, in floating-point operations per second, at this minute: the best of some short tries.
fn peak_of_a_core() -> f64 {
    let isa = Isa::detect();
    let once = || {
        let start = Instant::now();
        let operations = peak(isa, 100_000);
        operations as f64 / start.elapsed().as_secs_f64()
    };
    (0..20).map(|_| once()).fold(0.0, f64::max)
}

fn columns([name, steps, flops, share, dispatches, host, set_up, first]: [String; 8]) -> String {
    format!("{name:<34}{steps:>9}{flops:>9}{share:>8}{dispatches:>12}{host:>9}{set_up:>10}{first:>9}")
}

/// How fast training is.
struct Speed {
    /// Environment steps per second.
    steps: f64,
    /// Floating-point operations per second.
    flops: f64,
    /// Dispatches of an iteration, and the host's time for one; none where there are no dispatches.
    dispatches: Option<(f64, Duration)>,
    set_up: Duration,
    first: Duration,
}

fn trained(device: &Device, setup: &Setup, seconds: f64, conditional: f64) -> Result<Speed, Stop> {
    let start = Instant::now();
    let mut session = Session::new(device, setup)?;
    let set_up = start.elapsed();
    step(&mut session)?;
    let first = start.elapsed() - set_up;
    let (start, counted, before) = (Instant::now(), session.program().counters(), session.iteration());
    while start.elapsed().as_secs_f64() < seconds {
        step(&mut session)?;
    }
    let taken = start.elapsed().as_secs_f64();
    let counted = session.program().counters() - counted;
    let iterations = (session.iteration() - before) as f64;
    let per_iteration = counted.dispatches as f64 / iterations;
    let flops = session.program().plan().flops();
    Ok(Speed {
        steps: iterations * session.setup().batch() as f64 / taken,
        flops: iterations * (flops.total() as f64 - (1.0 - conditional) * flops.conditional as f64) / taken,
        dispatches: (counted.dispatches > 0).then(|| (per_iteration, counted.host.div_f64(counted.dispatches as f64))),
        set_up,
        first,
    })
}

fn learning(device: &Device, args: &BenchArgs, chosen: &dyn Fn(&Preset) -> bool) -> Result<(), Stop> {
    let seeds = &args.seed;
    let episodes = args.episodes as usize;
    let presets: Vec<Preset> = presets()?.into_iter().filter(|preset| chosen(preset)).collect();
    if presets.is_empty() {
        let [of, place] = [("of", &args.algorithm), ("for", &args.env)]
            .map(|(word, name)| name.as_ref().map_or_else(String::new, |name| format!(" {word} {name}")));
        return Err(Stop::user(format!("there is no preset{of}{place}")).hint("`quickstudy list presets` shows all"));
    }
    say("");
    say(&format!("{} seeds, deterministic policy at the end of training, {episodes} episodes per seed", seeds.len()));
    say(&format!(
        "{:<30}{:>8}{:>11}{:>26}{:>11}{:>11}{:>10}",
        "preset", "steps", "IQM", "95 % of the IQM", "lowest", "random", "time"
    ));
    for preset in presets {
        let start = Instant::now();
        let setup = Setup::resolve(preset.algorithm, register::environment(&preset.env)?, seeds, None, &[])?;
        let mut session = Session::new(device, &setup)?;
        while !session.done() {
            step(&mut session)?;
        }
        let seconds = start.elapsed().as_secs_f64();
        let mut means = Vec::with_capacity(seeds.len());
        for index in 0..seeds.len() {
            let bytes = pollster::block_on(session.policy_snapshot(index))?;
            let mut policy = Evaluator::load_with(device, register::own(), &bytes)?;
            let ended = pollster::block_on(policy.evaluate(episodes, 1, true))?;
            means.push(statistics::mean(&ended.iter().map(|episode| episode.ret).collect::<Vec<f64>>()));
        }
        let lowest = means.iter().copied().fold(f64::INFINITY, f64::min);
        let random = setup.env.device().ok().map(random_return);
        let (iqm, interval) = (statistics::iqm(&means), statistics::bootstrap95(&means, statistics::iqm));
        let [low, high] = ends(interval);
        say(&format!(
            "{:<30}{:>8}{:>11.1}{:>26}{lowest:>11.1}{:>11}{:>10}",
            preset.name,
            short_count(session.env_steps() as f64),
            iqm,
            statistics::interval_text(interval, 1),
            random.map_or("–".to_owned(), |random| format!("{random:.1}")),
            duration(seconds),
        ));
        args.json.write(&BenchLine::Learning {
            preset: preset.name.clone(),
            algorithm: preset.algorithm.to_owned(),
            environment: preset.env.to_owned(),
            steps: session.env_steps(),
            seeds: seeds.len(),
            episodes,
            iqm: finite(iqm),
            low,
            high,
            lowest: finite(lowest),
            random: random.and_then(finite),
            seconds,
        })?;
    }
    Ok(())
}

/// Mean return of random actions: enough steps that episodes that are still running do not matter.
fn random_return(env: &EnvDef) -> f64 {
    let steps = env.spec().horizon as u32 * 20;
    let done = env.random_steps(Isa::detect(), [5, 6], 256, steps, Source::Threefry);
    done.reward / done.episodes as f64
}

fn setup_of(
    of: &'static AlgorithmDef,
    env: &str,
    seeds: &[u64],
    steps: Option<u64>,
    text: &str,
) -> Result<Setup, Stop> {
    let (_, settings) = config::parse(text).map_err(Stop::failure)?;
    let layer = Layer { origin: "bench".to_owned(), settings };
    Ok(Setup::resolve(of, builtin(env)?, seeds, steps, &[layer])?)
}

fn step(session: &mut Session) -> Result<(), Stop> {
    pollster::block_on(session.step())?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_training_lines_are_valid_settings() {
        for line in TRAINING {
            let setup = setup_of(line.of, line.env, &[0], Some(1 << 40), line.settings).unwrap();
            let hidden = setup.table().get("hidden").map(|widths| widths.to_string());
            assert_eq!(hidden.as_deref(), Some("[64, 64]"), "{} {}", line.of.name, line.env);
        }
    }

    #[test]
    fn a_random_policy_has_the_known_mean_return() {
        // Gymnasium's random policy gives 22.2 ± 0.1 on CartPole-v1.
        let found = random_return(&builtin("cartpole").unwrap());
        assert!((found - 22.2).abs() < 0.4, "{found}");
    }
}
