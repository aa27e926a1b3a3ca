//! Evaluations: episodes that trained policies play, in numbers.

use super::policies::TrainedPolicy;
use crate::json::eval::{EvalLine, Played};
use crate::json::finite;
use crate::metrics::number;
use crate::outcome::Stop;
use crate::statistics;
use crate::terminal::activity::{self, Work};
use crate::terminal::ticker::Ticker;
use crate::text::quote::csv_text;
use quickstudy_core::backend::Device;
use quickstudy_core::train::Episode;
use std::path::Path;
use std::time::{Duration, Instant};

/// Episodes that tell `--device auto` which device is faster, at most.
const TRIAL: usize = 256;

/// The episodes that policies are to play.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Evaluation {
    pub episodes: usize,
    /// Seed of the first states.
    pub seed: u64,
    pub stochastic: bool,
}

impl Evaluation {
    /// How long some episodes of a policy take.
    pub(crate) fn time(&self, device: &Device, path: &Path) -> Result<Duration, Stop> {
        let mut policy = TrainedPolicy::load(device, path, self.stochastic)?;
        let count = self.episodes.min(TRIAL);
        let mut trial = || pollster::block_on(policy.evaluator.evaluate(count, self.seed, !policy.sampled));
        // The first one is slow in its own way: it traces and compiles.
        trial()?;
        let start = Instant::now();
        trial()?;
        Ok(start.elapsed())
    }

    /// Lets a policy play.
    pub(crate) fn play(&self, device: &Device, mut policy: TrainedPolicy) -> Result<Evaluated, Stop> {
        activity::begin(Work::Evaluation(policy.evaluator.env_steps()));
        activity::watch(device.interrupt());
        let _ticker = Ticker::new(None);
        let episodes = pollster::block_on(policy.evaluator.evaluate(self.episodes, self.seed, !policy.sampled))?;
        Ok(Evaluated { policy, episodes })
    }
}

/// A policy and its episodes.
pub(crate) struct Evaluated {
    pub policy: TrainedPolicy,
    /// At least one.
    pub episodes: Vec<Episode>,
}

impl Evaluated {
    /// The promised line, with the policy that it is of.
    pub(crate) fn result(&self) -> String {
        let particle = self.policy.particle.map_or_else(String::new, |i| format!(" particle {i}"));
        format!("{} {}{particle}", result(&returns(&self.episodes)), self.policy.path.display())
    }

    /// Its line of JSON.
    pub(crate) fn line(&self) -> EvalLine {
        EvalLine::Policy {
            policy: self.policy.line(),
            particle: self.policy.particle,
            sampled: self.policy.sampled,
            played: Played::of(&self.episodes),
        }
    }
}

fn returns(episodes: &[Episode]) -> Vec<f64> {
    episodes.iter().map(|episode| episode.ret).collect()
}

fn result(returns: &[f64]) -> String {
    let (mean, error) = (statistics::mean(returns), statistics::error_text(statistics::standard_error(returns)));
    format!("mean_return {mean:.4} stderr {error} episodes {}", returns.len())
}

/// Lines about returns and lengths; the last one is the promised one.
pub(crate) fn summary(episodes: &[Episode]) -> [String; 3] {
    let mut returns = returns(episodes);
    let (result, median) = (result(&returns), statistics::median(&returns));
    let lengths: Vec<f64> = episodes.iter().map(|episode| f64::from(episode.length)).collect();
    let terminated = episodes.iter().filter(|episode| episode.terminated).count();
    returns.sort_by(f64::total_cmp);
    let last = returns.len() - 1;
    [
        format!("return: lowest {:.2}, median {:.2}, highest {:.2}", returns[0], median, returns[last]),
        format!(
            "length: mean {:.1}; {terminated} of {} episodes ended by themselves, the others by the time limit",
            statistics::mean(&lengths),
            episodes.len()
        ),
        result,
    ]
}

/// Policies of one environment and algorithm: several runs, or particles.
pub(crate) struct PlayedAlike {
    name: [String; 2],
    /// The mean return of each.
    means: Vec<f64>,
    /// Their episodes, added up.
    episodes: usize,
}

/// The policies by environment and algorithm.
pub(crate) fn kinds(all: &[Evaluated]) -> Vec<PlayedAlike> {
    let mut kinds: Vec<PlayedAlike> = Vec::new();
    for one in all {
        let name = one.policy.kind();
        let (mean, episodes) = (statistics::mean(&returns(&one.episodes)), one.episodes.len());
        match kinds.iter_mut().find(|kind| kind.name == name) {
            Some(kind) => {
                kind.means.push(mean);
                kind.episodes += episodes;
            }
            None => kinds.push(PlayedAlike { name, means: vec![mean], episodes }),
        }
    }
    kinds
}

impl PlayedAlike {
    /// How its runs or particles differ, the promised line, whose standard error is that of the mean over these, and
    /// its line of JSON.
    pub(crate) fn summary(self, unit: &str) -> ([String; 2], EvalLine) {
        let Self { name, means, episodes } = self;
        let lowest = means.iter().copied().fold(f64::INFINITY, f64::min);
        let highest = means.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let (mean, stderr, iqm) =
            (statistics::mean(&means), statistics::standard_error(&means), statistics::iqm(&means));
        let (kind, count, error) = (name.join(" · "), means.len(), statistics::error_text(stderr));
        let lines = [
            format!("{kind}: means of {unit} from {lowest:.2} to {highest:.2}, their IQM {iqm:.2}"),
            format!("mean_return {mean:.4} stderr {error} episodes {episodes} {unit} {count}"),
        ];
        let [environment, algorithm] = name;
        let [mean, lowest, highest, iqm] = [mean, lowest, highest, iqm].map(finite);
        let (over, stderr) = (unit.to_owned(), stderr.and_then(finite));
        let line =
            EvalLine::Summary { environment, algorithm, over, count, episodes, mean, stderr, lowest, highest, iqm };
        (lines, line)
    }
}

/// A row for each episode; of several runs or particles, each begins with its run, and then with its particle where one
/// is named.
pub(crate) fn table(all: &[Evaluated]) -> String {
    if let [one] = all {
        return String::from("episode,return,length,end\n") + &rows("", &one.episodes);
    }
    let particle = |policy: &TrainedPolicy| policy.particle.map_or_else(String::new, |i| format!("{i},"));
    let run = |policy: &TrainedPolicy| csv_text(&policy.path.display().to_string()) + "," + &particle(policy);
    let rows: String = all.iter().map(|one| rows(&run(&one.policy), &one.episodes)).collect();
    let head = if all.iter().any(|one| one.policy.particle.is_some()) { "run,particle" } else { "run" };
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
        let over_runs = |means: &[f64], episodes| {
            let name = ["cartpole", "ppo"].map(str::to_owned);
            PlayedAlike { name, means: means.to_vec(), episodes }.summary("runs").0
        };
        assert_eq!(over_runs(&[1.0], 1)[1], "mean_return 1.0000 stderr – episodes 1 runs 1");
        assert_eq!(rows("", &episodes[..2]), "0,1,10,terminated\n1,2,10,truncated\n");
        // Of several runs the runs are the sample: means 2 and 4, standard error of these.
        let last = &over_runs(&[2.0, 4.0], 3)[1];
        assert_eq!(last, "mean_return 3.0000 stderr 1.0000 episodes 3 runs 2");
    }
}
