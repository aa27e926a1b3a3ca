//! Measures of episodes, by task and over all tasks, under garage's names.

use crate::env::Classes;
use crate::host::HostPath;

/// The name under which tasks without a name are grouped.
pub const UNNAMED: &str = "__unnamed_task__";

/// The name of the results over all tasks.
pub const AVERAGE: &str = "Average";

/// Measures of the episodes of a task, or of all tasks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Performance {
    /// The number of the evaluation.
    pub iteration: u64,
    /// The number of episodes.
    pub episodes: usize,
    /// Mean of the discounted returns, Σ γᵗ rₜ.
    pub discounted_return: f64,
    /// Mean of the returns, Σ rₜ.
    pub mean: f64,
    /// Standard deviation of the returns, of the population.
    pub std: f64,
    /// The largest return.
    pub max: f64,
    /// The smallest return.
    pub min: f64,
    /// Share of episodes that ended in a final state.
    pub termination_rate: f64,
    /// Share of episodes with a step whose info `success` is not 0; NaN if environments do not report it.
    pub success_rate: f64,
    /// Share of episodes whose last step was a success; NaN if environments do not report it, or if nobody looked.
    pub success_at_end_rate: f64,
}

/// One measured episode.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EpisodeOutcome {
    /// The return: the sum of its rewards.
    pub ret: f64,
    /// The discounted return, Σ γᵗ rₜ.
    pub discounted: f64,
    /// True if it ended in a final state.
    pub terminated: bool,
    /// True if a step was a success; none if the environment does not report success.
    pub success: Option<bool>,
    /// True if the last step was a success, which a policy that happens to pass by has not; none if the environment
    /// does not report success, or where programs measure.
    pub success_at_end: Option<bool>,
    /// The number of its task's class, in environments whose tasks have classes.
    pub class: Option<u32>,
}

impl EpisodeOutcome {
    /// Measures an episode of the host. `success`: the place of that number among the infos of a step, and their count.
    #[must_use]
    pub fn of(path: &HostPath, gamma: f64, success: Option<(usize, usize)>) -> EpisodeOutcome {
        let steps = success.map(|(at, infos)| path.env_infos.chunks(infos).map(move |step| step[at] != 0.0));
        EpisodeOutcome {
            ret: path.rewards.iter().sum(),
            discounted: path.discounted_return(gamma),
            terminated: path.terminated,
            success: steps.clone().map(|mut steps| steps.any(|success| success)),
            success_at_end: steps.map(|mut steps| steps.next_back().unwrap_or(false)),
            class: None,
        }
    }
}

/// The classes that tests play, each with its name and its episodes.
#[must_use]
pub fn by_class<'a>(classes: &'a Classes, episodes: &[EpisodeOutcome]) -> Vec<(&'a str, Vec<EpisodeOutcome>)> {
    let of_class = |(number, name): (usize, &'a String)| {
        let own = episodes.iter().filter(|episode| episode.class == Some(number as u32)).copied().collect();
        (name.as_str(), own)
    };
    classes.names.iter().enumerate().skip(classes.held_out).map(of_class).collect()
}

impl Performance {
    /// Averages over episodes; all NaN if there are none.
    #[must_use]
    pub fn of(iteration: u64, episodes: &[EpisodeOutcome]) -> Performance {
        let n = episodes.len() as f64;
        let mean = |f: &dyn Fn(&EpisodeOutcome) -> f64| episodes.iter().map(f).sum::<f64>() / n;
        let rate = |x: bool| f64::from(u8::from(x));
        let average = mean(&|episode| episode.ret);
        let extreme = |f: fn(f64, f64) -> f64| episodes.iter().map(|one| one.ret).reduce(f).unwrap_or(f64::NAN);
        Performance {
            iteration,
            episodes: episodes.len(),
            discounted_return: mean(&|episode| episode.discounted),
            mean: average,
            std: mean(&|episode| (episode.ret - average).powi(2)).sqrt(),
            max: extreme(f64::max),
            min: extreme(f64::min),
            termination_rate: mean(&|episode| rate(episode.terminated)),
            success_rate: mean(&|episode| episode.success.map_or(f64::NAN, rate)),
            success_at_end_rate: mean(&|episode| episode.success_at_end.map_or(f64::NAN, rate)),
        }
    }

    /// Values by garage's names; each begins with `prefix/task/`. Success at the end is not among them.
    #[must_use]
    pub fn rows(&self, prefix: &str, task: &str) -> Vec<(String, f64)> {
        [
            ("Iteration", self.iteration as f64),
            ("NumEpisodes", self.episodes as f64),
            ("AverageDiscountedReturn", self.discounted_return),
            ("AverageReturn", self.mean),
            ("StdReturn", self.std),
            ("MaxReturn", self.max),
            ("MinReturn", self.min),
            ("TerminationRate", self.termination_rate),
            ("SuccessRate", self.success_rate),
        ]
        .map(|(name, value)| (format!("{prefix}/{task}/{name}"), value))
        .to_vec()
    }
}
