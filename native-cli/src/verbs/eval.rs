//! `quickstudy eval`: episodes of trained policies.

use crate::json::VERSION;
use crate::json::eval::EvalLine;
use crate::machine::device::DeviceArgs;
use crate::outcome::Stop;
use crate::pictures::format::expect_extension;
use crate::pictures::gif;
use crate::pictures::recording::{self, Asking};
use crate::results::evaluation::{self, Evaluated, Evaluation};
use crate::results::policies::{self, Particles, TrainedPolicy};
use crate::settings::parse;
use crate::settings::python::PythonArgs;
use crate::terminal::json_args::JsonArgs;
use crate::terminal::output::{self, say};
use quickstudy_core::backend::Device;
use std::path::{Path, PathBuf};

/// Arguments of `quickstudy eval`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The last line of the output is `mean_return <x> stderr <y> episodes <n>`. A
single episode, or a single run of its kind, has no standard error: y is –.
Several runs have such a line each, with the path of the policy after it; the
last line is then over the means of the runs, and ends with `runs <k>`. Runs of
several environments or algorithms have a last line for each of these. Where -
gives standard output to a file, all lines go to standard error.
With --particle all each particle has such a line, with its number at the end;
the last line is over the means of the particles, and ends with `particles <k>`.

The best snapshot of a run plays, unless another one is asked for: its return
may differ from the score at a budget that `compare` and `plot` show.

Examples:
  quickstudy eval runs/cartpole-ppo-s0
  quickstudy eval runs/cartpole-ppo-s0 --episodes 1k --seed 7 --csv episodes.csv
  quickstudy eval runs/cartpole-ppo-s*              ten seeds, and their mean
  quickstudy eval runs/cartpole-ppo-s0 --last --stochastic
  quickstudy eval runs/cartpole-svpg-s0 --particle all
  quickstudy eval runs/cartpole-ppo-s0 --gif episode.gif
  quickstudy eval runs/point-robot-pearl-s0 --episodes 5 --gif five.gif --fps 10
  quickstudy eval runs --json | jq .return_mean   a JSON object on each line")]
pub(crate) struct EvalArgs {
    /// Run folders, folders of run folders, or snapshot files
    #[arg(required = true, value_name = "DIR")]
    pub runs: Vec<PathBuf>,
    /// Episodes of each run: 100, 1k; with --gif also how many are recorded, of the first 20
    /// [default: 100, of which the first is recorded]
    #[arg(long, value_name = "N", value_parser = parse::episodes, allow_negative_numbers = true)]
    pub episodes: Option<u64>,
    /// Seed of the first states; the same one gives the same episodes
    #[arg(long, value_name = "SEED", default_value = "0", value_parser = parse::seed, allow_negative_numbers = true)]
    pub seed: u64,
    /// Sample actions as training does, instead of taking the most probable ones
    #[arg(long)]
    pub stochastic: bool,
    /// The policy at the end of training
    #[arg(long, conflicts_with = "best")]
    pub last: bool,
    /// The policy with the best evaluation during training [default where there is one]
    #[arg(long)]
    pub best: bool,
    /// The particle of a policy that has some, from 0, or all, one after the other [default: the best one]
    #[arg(long, value_name = "I|all", allow_negative_numbers = true)]
    pub particle: Option<Particles>,
    /// Write one row per episode: episode, return, length, how it ended; of several runs, the run before these; - is
    /// standard output
    #[arg(long, value_name = "FILE")]
    pub csv: Option<PathBuf>,
    /// Record the first episode, with its step and its return, at the environment's own speed; a
    /// short one is slowed down to three seconds
    #[arg(long, value_name = "FILE")]
    pub gif: Option<PathBuf>,
    /// Steps of a recording in a second, 1 to 50, instead of that speed
    #[arg(long, value_name = "N", requires = "gif", value_parser = clap::value_parser!(u64).range(1..=50),
          allow_negative_numbers = true)]
    pub fps: Option<u64>,
    /// Results as lines of JSON
    #[command(flatten)]
    pub json: JsonArgs,
    /// Write also where a file of a run is, such as its metrics.csv
    #[arg(long)]
    pub force: bool,
    /// Where to compute
    #[command(flatten)]
    pub device: DeviceArgs,
    /// How environments of Python are run
    #[command(flatten)]
    pub python: PythonArgs,
}

/// Pixels across a recording.
const GIF_WIDTH: usize = 480;
/// Episodes of a recording at most.
const RECORDED: usize = 20;
/// Episodes of an evaluation where none are asked for.
const EPISODES: u64 = 100;

/// Runs the verb.
pub(crate) fn run(args: &EvalArgs) -> Result<(), Stop> {
    args.python.set();
    check_files(args)?;
    let runs = policies::find(&args.runs, args.last, args.best)?;
    if args.gif.is_some() && runs.len() > 1 {
        let message = format!("--gif records one run, and these are {}", runs.len());
        return Err(Stop::user(message).hint("name the folder of one run"));
    }
    let episodes = usize::try_from(args.episodes.unwrap_or(EPISODES)).unwrap_or(usize::MAX);
    let evaluation = Evaluation { episodes, seed: args.seed, stochastic: args.stochastic };
    let (device, why) = args.device.open_for(&mut |device| evaluation.time(device, &runs[0]))?;
    let players = players(args, &device, &runs)?;
    let on = args.device.describe(&device);
    args.json.write(&EvalLine::Evaluation { version: VERSION, episodes, seed: args.seed, device: on.clone() })?;
    let which = if args.best { None } else { policies::note_best(&runs, &args.runs) };
    args.json.write_notes(why.iter().chain(&which))?;
    let notes = || which.iter().chain(&why).for_each(|line| say(line));
    let mut all = Vec::with_capacity(players.len());
    for (path, particle) in &players {
        let policy = TrainedPolicy::load(&device, path, args.stochastic)?.choose(*particle)?;
        // What cannot be drawn is said before the work.
        args.gif.as_ref().map_or(Ok(()), |_| recording::check(&policy.evaluator))?;
        let one = evaluation.play(&device, policy)?;
        if players.len() > 1 {
            say(&one.result());
        } else {
            let (name, training, actions) = (one.policy.name(), one.policy.training(), one.policy.actions());
            say(&format!("{name} · {training} · {actions} · {on} · {}", path.display()));
            notes();
        }
        args.json.write(&one.line())?;
        all.push(one);
    }
    if let Some(csv) = &args.csv {
        output::write(csv, evaluation::table(&all).as_bytes())?;
        args.json.say_written(csv, "")?;
    }
    if let [one] = &all[..] {
        args.gif.as_ref().map_or(Ok(()), |path| record(args, path, one))?;
        evaluation::summary(&one.episodes).iter().for_each(|line| say(line));
        return Ok(());
    }
    notes();
    let unit = if args.particle == Some(Particles::All) { "particles" } else { "runs" };
    for (lines, line) in evaluation::kinds(&all).into_iter().map(|kind| kind.summary(unit)) {
        lines.iter().for_each(|line| say(line));
        args.json.write(&line)?;
    }
    Ok(())
}

/// Checks that files can be written by their names, and keeps standard output free for the one that takes it.
fn check_files(args: &EvalArgs) -> Result<(), Stop> {
    if let Some(path) = &args.csv {
        expect_extension("--csv", path, "a table", &["csv", "txt"])?;
    }
    if let Some(path) = &args.gif {
        expect_extension("--gif", path, "a recording", &["gif"])?;
    }
    let files = || args.csv.iter().chain(&args.gif).map(PathBuf::as_path);
    args.json.reserve(files())?;
    output::spare_runs(files(), args.force)
}

/// The policies that are to play, each with its particle if some are named.
fn players(args: &EvalArgs, device: &Device, runs: &[PathBuf]) -> Result<Vec<(PathBuf, Option<usize>)>, Stop> {
    let Some(particles) = args.particle else { return Ok(runs.iter().map(|run| (run.clone(), None)).collect()) };
    let players = particles.of(device, runs)?;
    if args.gif.is_some() && players.len() > 1 {
        let message = format!("--gif records one policy, and these are {} particles", players.len());
        return Err(Stop::user(message).hint("name one by its number: --particle 0"));
    }
    Ok(players)
}

/// Writes a recording of the first episodes.
fn record(args: &EvalArgs, path: &Path, one: &Evaluated) -> Result<(), Stop> {
    let asked = args.episodes.map_or(1, |_| one.episodes.len());
    let asking = Asking { episodes: asked.min(RECORDED), seed: args.seed, stochastic: args.stochastic, fps: args.fps };
    let policy = &one.policy.evaluator;
    let clips = recording::clips(policy, &asking)?;
    gif::save(path, &clips, GIF_WIDTH)?;
    args.json.say_written(path, &format!(" ({})", recording::describe(&clips, policy.env().spec().dt, args.fps)))?;
    if asked > clips.len() {
        let note = format!("note: a recording has at most {RECORDED} episodes; these are the first ones");
        say(&note);
        args.json.write_notes([&note])?;
    }
    Ok(())
}
