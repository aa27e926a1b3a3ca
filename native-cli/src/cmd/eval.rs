//! `quickstudy eval`: episodes of trained policies.

use crate::activity::{self, Work};
use crate::args;
use crate::device::DeviceArgs;
use crate::gif;
use crate::known;
use crate::metrics::number;
use crate::outcome::Stop;
use crate::output;
use crate::picture_file::expect_extension;
use crate::progress::{duration, grouped, say};
use crate::run_folder::{self, file};
use crate::stats;
use crate::ticker::Ticker;
use quickstudy_core::backend::Device;
use quickstudy_core::train::{Episode, Evaluator};
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Arguments of `quickstudy eval`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The last line of the output is `mean_return <x> stderr <y> episodes <n>`.
Several runs have such a line each, with the path of the policy after it; the
last line is then over the means of the runs, and ends with `runs <k>`. Runs of
several environments or algorithms have a last line for each of these. Where -
gives standard output to a file, all lines go to standard error.

Examples:
  quickstudy eval runs/cartpole-ppo-s0
  quickstudy eval runs/cartpole-ppo-s0 --episodes 1k --seed 7 --csv episodes.csv
  quickstudy eval runs/cartpole-ppo-s*              ten seeds, and their mean
  quickstudy eval runs/cartpole-ppo-s0 --last --stochastic
  quickstudy eval runs/cartpole-ppo-s0 --episodes 1 --gif episode.gif")]
pub struct EvalArgs {
    /// Run folders, folders of run folders, or snapshot files
    #[arg(required = true, value_name = "DIR")]
    pub runs: Vec<PathBuf>,
    /// Episodes of each run: 100, 1k
    #[arg(long, value_name = "N", default_value = "100", value_parser = args::episodes, allow_negative_numbers = true)]
    pub episodes: u64,
    /// Seed of the first states; the same one gives the same episodes
    #[arg(long, value_name = "SEED", default_value = "0", value_parser = args::seed, allow_negative_numbers = true)]
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
    /// Write one row per episode: episode, return, length, how it ended; of several runs, the run before these; - is
    /// standard output
    #[arg(long, value_name = "FILE")]
    pub csv: Option<PathBuf>,
    /// Record the first episode, at the environment's own speed
    #[arg(long, value_name = "FILE")]
    pub gif: Option<PathBuf>,
    /// Write also where a file of a run is, such as its metrics.csv
    #[arg(long)]
    pub force: bool,
    /// Where to compute
    #[command(flatten)]
    pub device: DeviceArgs,
}

/// Episodes that tell `--device auto` which device is faster, at most.
const TRIAL: usize = 256;
/// Pixels across a recording.
const GIF_WIDTH: usize = 480;

/// The policy of a run and its episodes.
struct Evaluated {
    path: PathBuf,
    policy: Evaluator,
    episodes: Vec<Episode>,
}

/// Runs the verb.
///
/// # Errors
/// [`Stop`] with code 2 if there is no such snapshot or a file cannot be written; with code 1 if evaluation fails.
pub fn run(args: &EvalArgs) -> anyhow::Result<()> {
    if let Some(path) = &args.csv {
        expect_extension("--csv", path, "a table", &["csv", "txt"])?;
    }
    if let Some(path) = &args.gif {
        expect_extension("--gif", path, "a recording", &["gif"])?;
    }
    let files = || args.csv.iter().chain(&args.gif).map(PathBuf::as_path);
    output::reserve(files())?;
    output::spare_runs(files(), args.force)?;
    let runs = policies(args)?;
    if args.gif.is_some() && runs.len() > 1 {
        let message = format!("--gif records one run, and these are {}", runs.len());
        return Err(Stop::user(message).hint("name the folder of one run").into());
    }
    let (device, why) = args.device.open_for(&mut |device| time_of_episodes(args, device, &runs[0]))?;
    let mut all = Vec::with_capacity(runs.len());
    for run in &runs {
        let one = evaluated(args, &device, run)?;
        if runs.len() > 1 {
            say(&format!("{} {}", result(&returns(&one.episodes)), one.path.display()));
        } else {
            say(&format!("{} · {}", heading(args, &device, &one), one.path.display()));
            why.iter().for_each(|why| say(why));
        }
        all.push(one);
    }
    if let Some(csv) = &args.csv {
        output::write(csv, table(&all).as_bytes())?;
        output::say_written(csv, "");
    }
    if let [one] = &all[..] {
        if let Some(path) = &args.gif {
            record(args, path, &one.policy)?;
        }
        summary(&one.episodes).iter().for_each(|line| say(line));
    } else {
        for line in [why.into_iter().collect(), joint(&all)].concat() {
            say(&line);
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
        let inside = if is_run { None } else { run_folder::find_resumable(path).ok() };
        for run in inside.unwrap_or_else(|| vec![path.clone()]) {
            let path = run_folder::policy(&run, args.last, args.best)?;
            if seen.insert(path.canonicalize().unwrap_or_else(|_| path.clone())) {
                found.push(path);
            }
        }
    }
    Ok(found)
}

fn load(device: &Device, path: &Path) -> Result<Evaluator, Stop> {
    Evaluator::load_with(device, known::own(), &run_folder::read(path)?).map_err(|error| {
        let stop = Stop::from(error);
        Stop { message: format!("{}: {}", path.display(), stop.message), ..stop }
    })
}

/// How long some episodes of a run take.
fn time_of_episodes(args: &EvalArgs, device: &Device, run: &Path) -> Result<Duration, Stop> {
    let mut policy = load(device, run)?;
    let count = count(args).min(TRIAL);
    let mut trial = || pollster::block_on(policy.evaluate(count, args.seed, !args.stochastic));
    // The first one is slow in its own way: it traces and compiles.
    trial()?;
    let start = Instant::now();
    trial()?;
    Ok(start.elapsed())
}

fn evaluated(args: &EvalArgs, device: &Device, path: &Path) -> Result<Evaluated, Stop> {
    let mut policy = load(device, path)?;
    activity::begin(Work::Evaluation(policy.env_steps()));
    activity::watch(device.interrupt());
    let _ticker = Ticker::new(None);
    let episodes = pollster::block_on(policy.evaluate(count(args), args.seed, !args.stochastic))?;
    Ok(Evaluated { path: path.to_owned(), policy, episodes })
}

fn count(args: &EvalArgs) -> usize {
    usize::try_from(args.episodes).unwrap_or(usize::MAX)
}

fn heading(args: &EvalArgs, device: &Device, one: &Evaluated) -> String {
    format!(
        "{} · {} · seed {} after {} steps · {} actions · {}",
        one.policy.env().spec().name,
        one.policy.algorithm(),
        one.policy.trained_seed(),
        grouped(one.policy.env_steps()),
        if args.stochastic { "sampled" } else { "most probable" },
        args.device.describe(device),
    )
}

fn record(args: &EvalArgs, path: &Path, policy: &Evaluator) -> Result<(), Stop> {
    let env = policy.env().device()?;
    let trajectory = pollster::block_on(policy.trajectory(args.seed, !args.stochastic))?;
    let scenes: Result<Vec<_>, _> = trajectory.states.iter().map(|s| env.draw(s, &trajectory.task)).collect();
    let seconds = env.spec().dt;
    gif::save(path, &scenes?, GIF_WIDTH, seconds)?;
    let steps = trajectory.actions.len();
    output::say_written(path, &format!(" ({steps} steps, {})", duration(steps as f64 * seconds)));
    Ok(())
}

/// The last lines of several runs: for each environment and algorithm how many there are, and the promised line.
fn joint(all: &[Evaluated]) -> Vec<String> {
    let name = |one: &Evaluated| format!("{} · {}", one.policy.env().spec().name, one.policy.algorithm());
    let mut kinds: Vec<(String, Vec<&[Episode]>)> = Vec::new();
    for one in all {
        match kinds.iter_mut().find(|(kind, _)| *kind == name(one)) {
            Some((_, runs)) => runs.push(&one.episodes),
            None => kinds.push((name(one), vec![&one.episodes])),
        }
    }
    kinds.into_iter().flat_map(|(kind, runs)| over_runs(&kind, &runs)).collect()
}

/// Two lines about runs of one kind; the standard error is that of the mean over runs.
fn over_runs(kind: &str, runs: &[&[Episode]]) -> [String; 2] {
    let means: Vec<f64> = runs.iter().map(|episodes| stats::mean(&returns(episodes))).collect();
    let low = means.iter().copied().fold(f64::INFINITY, f64::min);
    let high = means.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let episodes: usize = runs.iter().map(|episodes| episodes.len()).sum();
    let (mean, error) = (stats::mean(&means), stats::standard_error(&means));
    [
        format!("{kind}: means of runs from {low:.2} to {high:.2}, their IQM {:.2}", stats::iqm(&means)),
        format!("mean_return {mean:.4} stderr {error:.4} episodes {episodes} runs {}", runs.len()),
    ]
}

fn returns(episodes: &[Episode]) -> Vec<f64> {
    episodes.iter().map(|episode| episode.ret).collect()
}

/// The promised line.
fn result(returns: &[f64]) -> String {
    let (mean, error) = (stats::mean(returns), stats::standard_error(returns));
    format!("mean_return {mean:.4} stderr {error:.4} episodes {}", returns.len())
}

/// A row for each episode; of several runs, each begins with its run.
fn table(all: &[Evaluated]) -> String {
    if let [one] = all {
        return String::from("episode,return,length,end\n") + &rows("", &one.episodes);
    }
    let quoted = |path: &Path| format!("\"{}\",", path.display().to_string().replace('"', "\"\""));
    let rows: String = all.iter().map(|one| rows(&quoted(&one.path), &one.episodes)).collect();
    String::from("run,episode,return,length,end\n") + &rows
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
    let result = result(&returns);
    let lengths: Vec<f64> = episodes.iter().map(|episode| f64::from(episode.length)).collect();
    let terminated = episodes.iter().filter(|episode| episode.terminated).count();
    returns.sort_by(f64::total_cmp);
    let (last, half) = (returns.len() - 1, returns.len() / 2);
    let median = (returns[half] + returns[last - half]) / 2.0;
    vec![
        format!("return: lowest {:.2}, median {:.2}, highest {:.2}", returns[0], median, returns[last]),
        format!(
            "length: mean {:.1}; {terminated} of {} episodes ended by themselves, the others by the time limit",
            stats::mean(&lengths),
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
        assert_eq!(rows("", &episodes[..2]), "0,1,10,terminated\n1,2,10,truncated\n");
        // Of several runs the runs are the sample: means 2 and 4, standard error of these.
        let other = [one(4.0, true), one(4.0, true)];
        let last = &over_runs("cartpole · ppo", &[&episodes[1..2], &other])[1];
        assert_eq!(last, "mean_return 3.0000 stderr 1.0000 episodes 3 runs 2");
    }
}
