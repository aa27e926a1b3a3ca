//! `quickstudy eval`: episodes of a trained policy.

use crate::args;
use crate::device::DeviceArgs;
use crate::gif;
use crate::metrics::number;
use crate::outcome::Stop;
use crate::output;
use crate::progress::{duration, grouped, say};
use crate::run_folder;
use crate::stats;
use quickstudy_core::train::{Episode, Evaluator};
use std::path::PathBuf;
use std::time::Instant;

/// Arguments of `quickstudy eval`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The last line of the output is `mean_return <x> stderr <y> episodes <n>`; where - gives standard output to a file, that
line and all others go to standard error.

Examples:
  quickstudy eval runs/cartpole-ppo-s0
  quickstudy eval runs/cartpole-ppo-s0 --episodes 1000 --seed 7 --csv episodes.csv
  quickstudy eval runs/cartpole-ppo-s0 --last --stochastic
  quickstudy eval runs/cartpole-ppo-s0 --episodes 1 --gif episode.gif")]
pub struct Args {
    /// Run folder, or a snapshot file
    #[arg(value_name = "DIR")]
    pub run: PathBuf,
    /// Episodes: 100, 1k
    #[arg(long, value_name = "N", default_value = "100", value_parser = args::count, allow_negative_numbers = true)]
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
    /// Write one row per episode: episode, return, length, how it ended; - is standard output
    #[arg(long, value_name = "FILE")]
    pub csv: Option<PathBuf>,
    /// Record the first episode, at the environment's own speed
    #[arg(long, value_name = "FILE")]
    pub gif: Option<PathBuf>,
    /// Where to compute
    #[command(flatten)]
    pub device: DeviceArgs,
}

/// Episodes that tell `--device auto` which device is faster, at most.
const TRIAL: usize = 256;
/// Pixels across a recording.
const GIF_WIDTH: usize = 480;

/// Runs the verb.
///
/// # Errors
/// [`Stop`] with code 2 if there is no such snapshot or a file cannot be written; with code 1 if evaluation fails.
pub fn run(args: &Args) -> anyhow::Result<()> {
    output::reserve(args.csv.iter().chain(&args.gif).map(PathBuf::as_path))?;
    let (path, bytes) = run_folder::policy(&args.run, args.last, args.best)?;
    let count = usize::try_from(args.episodes).unwrap_or(usize::MAX);
    let deterministic = !args.stochastic;
    let (device, why) = args.device.open_for(&mut |device| {
        let mut policy = Evaluator::load(device, &bytes)?;
        let mut trial = || pollster::block_on(policy.evaluate(count.min(TRIAL), args.seed, deterministic));
        // The first one is slow in its own way: it traces and compiles.
        trial()?;
        let start = Instant::now();
        trial()?;
        Ok(start.elapsed())
    })?;
    let mut policy = Evaluator::load(&device, &bytes).map_err(|error| {
        let stop = Stop::from(error);
        Stop { message: format!("{}: {}", path.display(), stop.message), ..stop }
    })?;
    let episodes = pollster::block_on(policy.evaluate(count, args.seed, deterministic)).map_err(Stop::from)?;

    say(&format!(
        "{} · {} · seed {} after {} steps · {} actions · {} · {}",
        policy.env().spec().name,
        policy.algorithm(),
        policy.trained_seed(),
        grouped(policy.env_steps()),
        if deterministic { "most probable" } else { "sampled" },
        args.device.describe(&device),
        path.display(),
    ));
    why.iter().for_each(|why| say(why));
    if let Some(csv) = &args.csv {
        output::write(csv, table(&episodes).as_bytes())?;
        output::say_written(csv, "");
    }
    if let Some(path) = &args.gif {
        let env = policy.env().device().map_err(Stop::from)?;
        let trajectory = pollster::block_on(policy.trajectory(args.seed, deterministic)).map_err(Stop::from)?;
        let scenes: Result<Vec<_>, _> = trajectory.states.iter().map(|s| env.draw(s, &trajectory.task)).collect();
        let seconds = env.spec().dt;
        gif::save(path, &scenes.map_err(Stop::from)?, GIF_WIDTH, seconds)?;
        let steps = trajectory.actions.len();
        let length = duration(steps as f64 * seconds);
        output::say_written(path, &format!(" ({steps} steps, {length})"));
    }
    for line in summary(&episodes) {
        say(&line);
    }
    Ok(())
}

fn table(episodes: &[Episode]) -> String {
    let mut text = String::from("episode,return,length,end\n");
    for (i, episode) in episodes.iter().enumerate() {
        let end = if episode.terminated { "terminated" } else { "truncated" };
        text += &format!("{i},{},{},{end}\n", number(episode.ret), episode.length);
    }
    text
}

fn summary(episodes: &[Episode]) -> Vec<String> {
    let mut returns: Vec<f64> = episodes.iter().map(|episode| episode.ret).collect();
    let lengths: Vec<f64> = episodes.iter().map(|episode| f64::from(episode.length)).collect();
    let (mean, error) = (stats::mean(&returns), stats::standard_error(&returns));
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
        format!("mean_return {mean:.4} stderr {error:.4} episodes {}", episodes.len()),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_is_the_promised_one() {
        let one = |ret, terminated| Episode { ret, length: 10, terminated };
        let episodes = [one(1.0, true), one(2.0, false), one(6.0, true)];
        let lines = summary(&episodes);
        // Standard error of 1, 2, 6: √(7/3).
        assert_eq!(lines.last().unwrap(), "mean_return 3.0000 stderr 1.5275 episodes 3");
        assert_eq!(lines[0], "return: lowest 1.00, median 2.00, highest 6.00");
        assert!(lines[1].contains("2 of 3"));
        assert!(summary(&episodes[..2])[0].contains("median 1.50"));
        assert!(summary(&episodes[..1])[0].contains("median 1.00"));
        assert_eq!(table(&episodes[..2]), "episode,return,length,end\n0,1,10,terminated\n1,2,10,truncated\n");
    }
}
