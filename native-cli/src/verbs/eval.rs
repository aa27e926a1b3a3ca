//! `quickstudy eval`: episodes of trained policies.

use crate::files::reading;
use crate::folder::{self, file};
use crate::json::VERSION;
use crate::json::eval::{EvalLine, Played};
use crate::machine::device::DeviceArgs;
use crate::metrics::number;
use crate::outcome::Stop;
use crate::pictures::format::expect_extension;
use crate::pictures::gif;
use crate::pictures::recording::{self, Asking};
use crate::settings::python::PythonArgs;
use crate::settings::{parse, register};
use crate::statistics;
use crate::terminal::activity::{self, Work};
use crate::terminal::json_args::JsonArgs;
use crate::terminal::output::{self, say};
use crate::terminal::ticker::Ticker;
use crate::text::numbers::{duration, grouped};
use crate::text::program;
use crate::verbs::particles::{self, Particles};
use quickstudy_core::backend::Device;
use quickstudy_core::train::{Episode, Evaluator};
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

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

/// Episodes that tell `--device auto` which device is faster, at most.
const TRIAL: usize = 256;
/// Pixels across a recording.
const GIF_WIDTH: usize = 480;
/// Episodes of a recording at most.
const RECORDED: usize = 20;
/// Episodes of an evaluation where none are asked for.
const EPISODES: u64 = 100;

/// The policy of a run, or a particle of it, and its episodes.
struct Evaluated {
    path: PathBuf,
    particle: Option<usize>,
    policy: Evaluator,
    episodes: Vec<Episode>,
}

/// Runs the verb.
pub(crate) fn run(args: &EvalArgs) -> Result<(), Stop> {
    args.python.set();
    if let Some(path) = &args.csv {
        expect_extension("--csv", path, "a table", &["csv", "txt"])?;
    }
    if let Some(path) = &args.gif {
        expect_extension("--gif", path, "a recording", &["gif"])?;
    }
    let files = || args.csv.iter().chain(&args.gif).map(PathBuf::as_path);
    args.json.reserve(files())?;
    output::spare_runs(files(), args.force)?;
    let runs = policies(args)?;
    if args.gif.is_some() && runs.len() > 1 {
        let message = format!("--gif records one run, and these are {}", runs.len());
        return Err(Stop::user(message).hint("name the folder of one run"));
    }
    let (device, why) = args.device.open_for(&mut |device| time_of_episodes(args, device, &runs[0]))?;
    let mut all = Vec::with_capacity(runs.len());
    let played = particles::of_runs(args.particle, &runs, |run| load(&device, run))?;
    if args.gif.is_some() && played.len() > 1 {
        let message = format!("--gif records one policy, and these are {} particles", played.len());
        return Err(Stop::user(message).hint("name one by its number: --particle 0"));
    }
    args.json.write(&EvalLine::Evaluation {
        version: VERSION,
        episodes: count(args),
        seed: args.seed,
        device: args.device.describe(&device),
    })?;
    args.json.write_notes(&why)?;
    let which = which(args, &runs);
    args.json.write_notes(&which)?;
    for (run, particle) in &played {
        let one = evaluated(args, &device, run, *particle)?;
        if played.len() > 1 {
            let particle = particle.map_or_else(String::new, |i| format!(" particle {i}"));
            say(&format!("{} {}{particle}", result(&returns(&one.episodes)), one.path.display()));
        } else {
            say(&format!("{} · {}", heading(args, &device, &one), one.path.display()));
            which.iter().chain(&why).for_each(|line| say(line));
        }
        args.json.write(&policy_line(args, &one))?;
        all.push(one);
    }
    if let Some(csv) = &args.csv {
        output::write(csv, table(&all).as_bytes())?;
        output::say_written(csv, "");
        args.json.write_file(csv)?;
    }
    if let [one] = &all[..] {
        if let Some(path) = &args.gif {
            record(args, path, &one.policy)?;
        }
        summary(&one.episodes).iter().for_each(|line| say(line));
    } else {
        let unit = if args.particle == Some(Particles::All) { "particles" } else { "runs" };
        which.iter().chain(&why).for_each(|line| say(line));
        for (kind, means, episodes) in kinds(&all) {
            over_runs(&kind.join(" · "), &means, episodes, unit).iter().for_each(|line| say(line));
            let [environment, algorithm] = &kind;
            args.json.write(&EvalLine::summary(environment, algorithm, unit, &means, episodes))?;
        }
    }
    Ok(())
}

/// The snapshots of all runs that were named, each once.
fn policies(args: &EvalArgs) -> Result<Vec<PathBuf>, Stop> {
    let mut found = Vec::new();
    let mut seen = HashSet::new();
    for path in &args.runs {
        // A folder of runs stands for the runs in it, as for `plot`.
        let is_run = path.is_file() || [file::LAST, file::BEST].iter().any(|name| path.join(name).exists());
        let inside = if is_run { None } else { folder::find_evaluable(path).ok() };
        for run in inside.unwrap_or_else(|| vec![path.clone()]) {
            let path = folder::policy(&run, args.last, args.best)?;
            if seen.insert(path.canonicalize().unwrap_or_else(|_| path.clone())) {
                found.push(path);
            }
        }
    }
    Ok(found)
}

/// Says that best snapshots play where none was asked for: their returns are no scores at a budget.
fn which(args: &EvalArgs, policies: &[PathBuf]) -> Option<String> {
    let is_best = |policy: &PathBuf| policy.ends_with(file::BEST) && !args.runs.contains(policy);
    (!args.best && policies.iter().any(is_best)).then(|| {
        let program = program::name();
        format!("note: the best snapshot plays, not the last one (--last); `{program} compare` has scores at a budget")
    })
}

fn load(device: &Device, path: &Path) -> Result<Evaluator, Stop> {
    Evaluator::load_with(device, register::own(), &reading::read(path)?).map_err(|error| {
        let stop = Stop::from(error);
        Stop { message: format!("{}: {}", path.display(), stop.message), ..stop }
    })
}

/// How long some episodes of a run take.
fn time_of_episodes(args: &EvalArgs, device: &Device, run: &Path) -> Result<Duration, Stop> {
    let mut policy = load(device, run)?;
    let count = count(args).min(TRIAL);
    let deterministic = !args.stochastic && !policy.draws_only();
    let mut trial = || pollster::block_on(policy.evaluate(count, args.seed, deterministic));
    // The first one is slow in its own way: it traces and compiles.
    trial()?;
    let start = Instant::now();
    trial()?;
    Ok(start.elapsed())
}

fn evaluated(args: &EvalArgs, device: &Device, path: &Path, particle: Option<usize>) -> Result<Evaluated, Stop> {
    let mut policy = load(device, path)?;
    if let Some(index) = particle {
        particles::choose(&mut policy, index, path)?;
    }
    // What cannot be drawn is said before the work.
    if args.gif.is_some() {
        recording::check(&policy)?;
    }
    activity::begin(Work::Evaluation(policy.env_steps()));
    activity::watch(device.interrupt());
    let _ticker = Ticker::new(None);
    let deterministic = !args.stochastic && !policy.draws_only();
    let episodes = pollster::block_on(policy.evaluate(count(args), args.seed, deterministic))?;
    Ok(Evaluated { path: path.to_owned(), particle, policy, episodes })
}

fn count(args: &EvalArgs) -> usize {
    usize::try_from(args.episodes.unwrap_or(EPISODES)).unwrap_or(usize::MAX)
}

fn heading(args: &EvalArgs, device: &Device, one: &Evaluated) -> String {
    format!(
        "{} · {}{} · seed {} after {} steps · {} actions · {}",
        one.policy.env().spec().name,
        one.policy.algorithm(),
        one.particle.map_or_else(String::new, |i| format!(" · particle {i}")),
        one.policy.trained_seed(),
        grouped(one.policy.env_steps()),
        if args.stochastic || one.policy.draws_only() { "sampled" } else { "most probable" },
        args.device.describe(device),
    )
}

fn record(args: &EvalArgs, path: &Path, policy: &Evaluator) -> Result<(), Stop> {
    let asked = args.episodes.map_or(1, |_| count(args));
    let asking = Asking { episodes: asked.min(RECORDED), seed: args.seed, stochastic: args.stochastic, fps: args.fps };
    let clips = recording::clips(policy, &asking)?;
    gif::save(path, &clips, GIF_WIDTH)?;
    let steps: usize = clips.iter().map(|clip| clip.frames.len() - 1).sum();
    let seconds: f64 = clips.iter().map(|clip| clip.seconds * (clip.frames.len() - 1) as f64).sum();
    let own = policy.env().spec().dt * steps as f64;
    let slower = if seconds > 1.05 * own && args.fps.is_none() { ", slower than they happen" } else { "" };
    let episodes = if clips.len() > 1 { format!("{} episodes, ", clips.len()) } else { String::new() };
    output::say_written(path, &format!(" ({episodes}{steps} steps, {}{slower})", duration(seconds)));
    args.json.write_file(path)?;
    if asked > clips.len() {
        let note = format!("note: a recording has at most {RECORDED} episodes; these are the first ones");
        say(&note);
        args.json.write_notes([&note])?;
    }
    Ok(())
}

fn policy_line(args: &EvalArgs, one: &Evaluated) -> EvalLine {
    EvalLine::Policy {
        path: one.path.display().to_string(),
        environment: one.policy.env().spec().name.clone(),
        algorithm: one.policy.algorithm().to_owned(),
        seed: one.policy.trained_seed(),
        steps: one.policy.env_steps(),
        particle: one.particle,
        sampled: args.stochastic || one.policy.draws_only(),
        played: Played::of(&one.episodes),
    }
}

/// An environment and an algorithm, the mean return of each of their runs or particles, and all episodes of these.
type Alike = ([String; 2], Vec<f64>, usize);

/// The runs or particles of each environment and algorithm.
fn kinds(all: &[Evaluated]) -> Vec<Alike> {
    let mut kinds: Vec<Alike> = Vec::new();
    for one in all {
        let name = [one.policy.env().spec().name.clone(), one.policy.algorithm().to_owned()];
        let (mean, episodes) = (statistics::mean(&returns(&one.episodes)), one.episodes.len());
        match kinds.iter_mut().find(|(kind, ..)| *kind == name) {
            Some((_, means, count)) => {
                means.push(mean);
                *count += episodes;
            }
            None => kinds.push((name, vec![mean], episodes)),
        }
    }
    kinds
}

/// Two lines about runs, or particles, of one kind, by the mean of each: how they differ, and the promised line, whose
/// standard error is that of the mean over these.
fn over_runs(kind: &str, means: &[f64], episodes: usize, unit: &str) -> [String; 2] {
    let low = means.iter().copied().fold(f64::INFINITY, f64::min);
    let high = means.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let (mean, error) = (statistics::mean(means), statistics::error_text(statistics::standard_error(means)));
    [
        format!("{kind}: means of {unit} from {low:.2} to {high:.2}, their IQM {:.2}", statistics::iqm(means)),
        format!("mean_return {mean:.4} stderr {error} episodes {episodes} {unit} {}", means.len()),
    ]
}

fn returns(episodes: &[Episode]) -> Vec<f64> {
    episodes.iter().map(|episode| episode.ret).collect()
}

/// The promised line.
fn result(returns: &[f64]) -> String {
    let (mean, error) = (statistics::mean(returns), statistics::error_text(statistics::standard_error(returns)));
    format!("mean_return {mean:.4} stderr {error} episodes {}", returns.len())
}

/// A row for each episode; of several runs or particles, each begins with its run, and then with its particle where one
/// is named.
fn table(all: &[Evaluated]) -> String {
    if let [one] = all {
        return String::from("episode,return,length,end\n") + &rows("", &one.episodes);
    }
    let quoted = |path: &Path| format!("\"{}\",", path.display().to_string().replace('"', "\"\""));
    let particle = |one: &Evaluated| one.particle.map_or_else(String::new, |i| format!("{i},"));
    let rows: String = all.iter().map(|one| rows(&(quoted(&one.path) + &particle(one)), &one.episodes)).collect();
    let head = if all.iter().any(|one| one.particle.is_some()) { "run,particle" } else { "run" };
    format!("{head},episode,return,length,end\n{rows}")
}

fn rows(run: &str, episodes: &[Episode]) -> String {
    let mut text = String::new();
    for (i, episode) in episodes.iter().enumerate() {
        let end = if episode.terminated { "terminated" } else { "truncated" };
        text += &format!("{run}{i},{},{},{end}\n", number(episode.ret), episode.length);
    }
    text
}

fn summary(episodes: &[Episode]) -> Vec<String> {
    let mut returns = returns(episodes);
    let (result, median) = (result(&returns), statistics::median(&returns));
    let lengths: Vec<f64> = episodes.iter().map(|episode| f64::from(episode.length)).collect();
    let terminated = episodes.iter().filter(|episode| episode.terminated).count();
    returns.sort_by(f64::total_cmp);
    let last = returns.len() - 1;
    vec![
        format!("return: lowest {:.2}, median {:.2}, highest {:.2}", returns[0], median, returns[last]),
        format!(
            "length: mean {:.1}; {terminated} of {} episodes ended by themselves, the others by the time limit",
            statistics::mean(&lengths),
            episodes.len()
        ),
        result,
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_is_the_promised_one() {
        let one = |ret, terminated| Episode { ret, length: 10, terminated, adapted: None };
        let episodes = [one(1.0, true), one(2.0, false), one(6.0, true)];
        let lines = summary(&episodes);
        // Standard error of 1, 2, 6: √(7/3).
        assert_eq!(lines.last().unwrap(), "mean_return 3.0000 stderr 1.5275 episodes 3");
        assert_eq!(lines[0], "return: lowest 1.00, median 2.00, highest 6.00");
        assert!(lines[1].contains("2 of 3"));
        assert!(summary(&episodes[..2])[0].contains("median 1.50"));
        assert!(summary(&episodes[..1])[0].contains("median 1.00"));
        // One episode, or one run of a kind, has no standard error.
        assert_eq!(summary(&episodes[..1]).last().unwrap(), "mean_return 1.0000 stderr – episodes 1");
        assert_eq!(over_runs("a", &[1.0], 1, "runs")[1], "mean_return 1.0000 stderr – episodes 1 runs 1");
        assert_eq!(rows("", &episodes[..2]), "0,1,10,terminated\n1,2,10,truncated\n");
        // Of several runs the runs are the sample: means 2 and 4, standard error of these.
        let last = &over_runs("cartpole · ppo", &[2.0, 4.0], 3, "runs")[1];
        assert_eq!(last, "mean_return 3.0000 stderr 1.0000 episodes 3 runs 2");
    }
}
