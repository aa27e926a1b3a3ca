//! How well episodes went, by task and in all, under garage's names.

use crate::host::HostPath;

/// Name of tasks that have none.
pub const UNNAMED: &str = "__unnamed_task__";

/// Name of the row over all tasks.
pub const AVERAGE: &str = "Average";

/// What is measured of the episodes of a task.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Performance {
    /// Number of the evaluation.
    pub iteration: u64,
    /// Episodes.
    pub episodes: usize,
    /// Mean of Σ γᵗ rₜ.
    pub discounted_return: f64,
    /// Mean of the sums of rewards.
    pub mean: f64,
    /// Their standard deviation, of the population.
    pub std: f64,
    /// The largest.
    pub max: f64,
    /// The smallest.
    pub min: f64,
    /// Share of episodes that ended in a final state.
    pub termination_rate: f64,
    /// Share of episodes with a step whose info `success` is not 0; NaN if environments do not say.
    pub success_rate: f64,
}

impl Performance {
    /// Of some episodes, all NaN of none. `success`: which of `infos` numbers per step says it.
    #[must_use]
    pub fn of(iteration: u64, paths: &[&HostPath], gamma: f64, infos: usize, success: Option<usize>) -> Performance {
        let n = paths.len() as f64;
        let mean = |f: &dyn Fn(&HostPath) -> f64| paths.iter().map(|path| f(path)).sum::<f64>() / n;
        let total = |path: &HostPath| path.rewards.iter().sum::<f64>();
        let average = mean(&total);
        let extreme = |f: fn(f64, f64) -> f64| paths.iter().map(|path| total(path)).reduce(f).unwrap_or(f64::NAN);
        let succeeded = |path: &HostPath, at: usize| path.env_infos.chunks(infos).any(|step| step[at] != 0.0);
        Performance {
            iteration,
            episodes: paths.len(),
            discounted_return: mean(&|path| path.discounted_return(gamma)),
            mean: average,
            std: mean(&|path| (total(path) - average).powi(2)).sqrt(),
            max: extreme(f64::max),
            min: extreme(f64::min),
            termination_rate: mean(&|path| f64::from(u8::from(path.terminated))),
            success_rate: success.map_or(f64::NAN, |at| mean(&|path| f64::from(u8::from(succeeded(path, at))))),
        }
    }

    /// Values by name, each name behind `prefix/task/`.
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
