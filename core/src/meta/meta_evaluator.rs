//! Meta-testing in environments of the host: explores, adapts, and measures on the same tasks.

use super::meta_algorithm::{MetaAlgorithm, MetaPolicy};
use super::performance::{AVERAGE, EpisodeOutcome, Performance, UNNAMED};
use super::test_sizes::{expect_rounds, explored_in};
use crate::host::{Actor, Chance, Executor, HostPath, MetaSampler, Quota, SUCCESS, Samples};
use crate::rng::{Key, fold_in, stream};
use crate::task::TaskSource;
use crate::{Error, Result};

/// The stream of keys for episodes that explore, folded with the round and then with the task.
const EXPLORATION: u32 = stream("meta_test_exploration");
/// The stream of keys for episodes that measure, folded with the task.
const TEST: u32 = stream("meta_test_test");

/// A task to test on.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TestTask {
    /// The name under which results are grouped; none: `__unnamed_task__`.
    pub name: Option<String>,
    /// The task's parameters, `[D]`; empty if the environment has a single task.
    pub parameters: Vec<f64>,
}

/// Measures how algorithms adapt to held-out tasks, as `MetaEvaluator` of garage and with its names.
///
/// Departure: discounted returns use the algorithm's own discount. garage uses 1.0 for algorithms that keep theirs
/// private.
pub struct MetaEvaluator {
    sampler: MetaSampler,
    /// Episodes of each environment that explore, in all: divided over the rounds in which a policy adapts; default 10.
    pub n_exploration_eps: usize,
    /// Episodes of each environment that measure; default 1.
    pub n_test_episodes: usize,
    /// The first part of results' names; default `MetaTest`.
    pub prefix: String,
    /// Names of tasks that always have results, NaN if none of that name was tested; none: the tasks that were tested.
    pub test_task_names: Vec<String>,
    iteration: u64,
}

impl MetaEvaluator {
    /// Makes an evaluator with the defaults, on the environments of an executor. With one environment per task,
    /// episodes are played one after the other; with several, each plays all of its episodes, side by side.
    #[must_use]
    pub fn new(executor: Box<dyn Executor>) -> MetaEvaluator {
        MetaEvaluator {
            sampler: MetaSampler::episodes(executor, 1),
            n_exploration_eps: 10,
            n_test_episodes: 1,
            prefix: "MetaTest".to_owned(),
            test_task_names: Vec::new(),
            iteration: 0,
        }
    }

    /// Explores, adapts and measures on `tasks`, one for each group of the executor. `key` names the episodes.
    /// Returns results by name, `Average` last.
    ///
    /// # Errors
    /// [`Error::Config`] if `tasks` are not as many as groups; any error of an environment or of the device.
    pub async fn evaluate(
        &mut self,
        algorithm: &mut dyn MetaAlgorithm,
        tasks: &[TestTask],
        key: Key,
    ) -> Result<Vec<(String, f64)>> {
        let fleet = self.sampler.executor().fleet().clone();
        if tasks.len() != fleet.tasks {
            let problem = format!("{} were given to an executor of {}; give as many", tasks.len(), fleet.tasks);
            return Err(Error::config("tasks", problem));
        }
        let parameters: Vec<Vec<f64>> = tasks.iter().map(|task| task.parameters.clone()).collect();
        let samples = self.test(algorithm, &parameters, key).await?;

        let name = |task: &TestTask| task.name.clone().unwrap_or_else(|| UNNAMED.to_owned());
        let mut names = self.test_task_names.clone();
        if names.is_empty() {
            for task in tasks {
                if !names.contains(&name(task)) {
                    names.push(name(task));
                }
            }
        }
        let success = fleet.info.iter().position(|name| name == SUCCESS).map(|at| (at, fleet.info.len()));
        let measure = |paths: &[&HostPath]| {
            let gamma = algorithm.discount();
            let outcomes: Vec<EpisodeOutcome> =
                paths.iter().map(|path| EpisodeOutcome::of(path, gamma, success)).collect();
            Performance::of(self.iteration, &outcomes)
        };
        let mut rows = Vec::new();
        for of in &names {
            let named = tasks.iter().zip(&samples.tasks).filter(|(task, _)| name(task) == *of);
            let paths: Vec<&HostPath> = named.flat_map(|(_, paths)| paths).collect();
            rows.extend(measure(&paths).rows(&self.prefix, of));
        }
        rows.extend(measure(&samples.paths().collect::<Vec<_>>()).rows(&self.prefix, AVERAGE));
        self.iteration += 1;
        Ok(rows)
    }

    /// Draws one task for each group of the executor; `key` names them.
    pub(crate) async fn draw_tasks(&mut self, key: Key) -> Result<Vec<Vec<f64>>> {
        let fleet = self.sampler.executor().fleet();
        if fleet.spec.task.is_empty() {
            return Ok(vec![Vec::new(); fleet.tasks]);
        }
        let chances = TaskSource::Fresh.pick(key, 0, fleet.tasks);
        self.sampler.sample_tasks(&chances.into_iter().map(Chance::from).collect::<Vec<_>>()).await
    }

    /// Explores and adapts on tasks, `[D]` each, and returns the episodes that measure.
    pub(crate) async fn test(
        &mut self,
        algorithm: &mut dyn MetaAlgorithm,
        tasks: &[Vec<f64>],
        key: Key,
    ) -> Result<Samples> {
        for (name, value) in [("n_exploration_eps", self.n_exploration_eps), ("n_test_episodes", self.n_test_episodes)]
        {
            if value == 0 {
                return Err(Error::config(name, "0 episodes show nothing; give at least 1"));
            }
        }
        let rounds = algorithm.rounds();
        expect_rounds(self.n_exploration_eps, rounds)?;
        let fleet = self.sampler.executor().fleet().clone();
        self.sampler.set_tasks(tasks).await?;
        let keys = |key: Key| -> Vec<Key> { (0..tasks.len() as u32).map(|task| fold_in(key, task)).collect() };
        let mut policy: Box<dyn MetaPolicy> = algorithm.exploration_policy(&fleet).await?;
        for round in 0..rounds {
            self.sampler.quota = Quota::Episodes(explored_in(round, self.n_exploration_eps, rounds));
            let keys = keys(fold_in(fold_in(key, EXPLORATION), round as u32));
            let actor: &mut dyn Actor = &mut *policy;
            let episodes = self.sampler.obtain(actor, &keys).await?;
            policy = policy.adapt(&episodes).await?;
        }
        self.sampler.quota = Quota::Episodes(self.n_test_episodes);
        self.sampler.obtain(&mut *policy, &keys(fold_in(key, TEST))).await
    }
}
