//! Episodes of policies in environments of the host.

use super::adapted::MetaTest;
use super::evaluation::{Episode, Evaluation, MAX_EPISODES, bad_count, eval_key, no_meta_test};
use super::evaluator::Evaluator;
use crate::algo::Family;
use crate::env::EnvSpec;
use crate::host::{Actor, Executor, Fleet, FleetSize, HostPath, HostPlace, MetaSampler, SUCCESS};
use crate::meta::{EpisodeOutcome, MetaAlgorithm as _, MetaEvaluator, TestSizes};
use crate::policy::How;
use crate::rng::{Key, fold_in, streams};
use crate::{Error, Result};

impl Evaluator {
    /// The policy as an actor in environments of the host, which takes the deterministic actions if `deterministic`.
    /// Policies that adapt by a memory cannot do that.
    ///
    /// # Errors
    /// If the fleet does not fit or the device fails.
    pub async fn actor(&self, fleet: &Fleet, deterministic: bool) -> Result<Box<dyn Actor>> {
        if self.family() == Family::Memory {
            return Ok(self.meta_algorithm()?.exploration_policy(fleet).await?);
        }
        let how = if deterministic { How::Exploit } else { How::Explore };
        // The policy acts alike on all tasks, so these are further rows of one batch.
        Ok(Box::new(self.adaptive().actor(fleet, 1, how, &[])?.0))
    }

    /// True if the policy adapts to tasks.
    pub fn adapts(&self) -> bool {
        self.family() != Family::SingleTask
    }

    /// True if actions in environments of the host are always drawn, as by policies that adapt there.
    pub fn draws_only(&self) -> bool {
        self.adapts() && self.env().on_host()
    }

    /// The environments that an executor must have for this evaluation.
    ///
    /// # Errors
    /// [`Error::Config`] if there are too few or too many episodes, or for a meta-test of a policy that does not adapt.
    pub fn fleet(&self, played: impl Into<Evaluation>) -> Result<FleetSize> {
        let (played, horizon) = (played.into(), self.env().spec().horizon);
        match played {
            Evaluation::MetaTest(_) if !self.adapts() => Err(no_meta_test()),
            Evaluation::MetaTest(sizes) => {
                let course = self.fitted().course();
                sizes.validate(course.rounds)?;
                Ok(FleetSize { tasks: sizes.n_test_tasks, envs_per_task: 1, horizon: course.steps })
            }
            Evaluation::Episodes(tasks) if self.adapts() => {
                self.test_fleet(&MetaTest { tasks, deterministic: false, ..MetaTest::default() })
            }
            Evaluation::Episodes(count) if count == 0 || count > MAX_EPISODES => Err(bad_count(count)),
            Evaluation::Episodes(envs_per_task) => Ok(FleetSize { tasks: 1, envs_per_task, horizon }),
        }
    }

    /// Plays an episode in each environment of an executor, in order of their numbers. `seed` names first states and
    /// draws.
    ///
    /// A policy that adapts plays one in each group, after it has adapted to a held-out task there, or a trial of
    /// several by its memory. It draws its actions.
    ///
    /// # Errors
    /// If the executor does not fit, for the deterministic actions of a policy that adapts, or if an environment or the
    /// device fails.
    pub async fn play(&self, executor: Box<dyn Executor>, seed: u64, deterministic: bool) -> Result<Vec<Episode>> {
        let episodes = executor.fleet().tasks;
        self.play_by(executor, Evaluation::Episodes(episodes), eval_key(seed), deterministic).await
    }

    /// Plays an evaluation in environments of the host, whose random numbers `key` names.
    pub(in crate::train) async fn evaluate_on_host(
        &self,
        host: &HostPlace,
        played: Evaluation,
        key: Key,
        deterministic: bool,
    ) -> Result<Vec<Episode>> {
        let size = self.fleet(played)?;
        let executor = if self.adapts() { host.held_out_executor(size)? } else { host.executor(size)? };
        self.play_by(executor, played, key, deterministic).await
    }

    async fn play_by(
        &self,
        executor: Box<dyn Executor>,
        played: Evaluation,
        key: Key,
        deterministic: bool,
    ) -> Result<Vec<Episode>> {
        if self.adapts() {
            if deterministic {
                return Err(drawn_only());
            }
            return match played {
                Evaluation::Episodes(_) => self.play_adapted(executor, key).await,
                Evaluation::MetaTest(sizes) => self.play_tests(executor, sizes, key).await,
            };
        }
        let fleet = executor.fleet().clone();
        let mut actor = self.actor(&fleet, deterministic).await?;
        let mut sampler = MetaSampler::episodes(executor, 1);
        let keys: Vec<Key> = (0..fleet.tasks as u32).map(|task| fold_in(key, task)).collect();
        let samples = sampler.obtain(&mut *actor, &keys).await?;
        let episode = |path: &HostPath| Episode {
            ret: path.rewards.iter().sum(),
            length: path.len() as u32,
            terminated: path.terminated,
            adapted: None,
        };
        Ok(samples.paths().map(episode).collect())
    }

    /// Plays the test episodes of a meta-test, task by task, like [`MetaEvaluator`].
    async fn play_tests(&self, executor: Box<dyn Executor>, sizes: TestSizes, key: Key) -> Result<Vec<Episode>> {
        let fleet = executor.fleet().clone();
        let mut test = MetaEvaluator::new(executor);
        (test.n_exploration_eps, test.n_test_episodes) = (sizes.n_exploration_eps, sizes.n_test_episodes);
        let tasks = test.draw_tasks(fold_in(key, streams::HELD_OUT_TASK)).await?;
        let samples = test.test(&mut self.meta_algorithm()?, &tasks, fold_in(key, streams::HELD_OUT_EPISODES)).await?;
        let episode = |(path, task): (&HostPath, &[f64])| Episode {
            ret: path.rewards.iter().sum(),
            length: path.len() as u32,
            terminated: path.terminated,
            adapted: Some(EpisodeOutcome { class: class_of(&fleet.spec, task), ..self.outcome(path, &fleet) }),
        };
        let paths =
            samples.tasks.iter().zip(&tasks).flat_map(|(paths, task)| paths.iter().map(|path| (path, &task[..])));
        Ok(paths.map(episode).collect())
    }

    /// The outcome of an episode after adaptation.
    pub(in crate::train) fn outcome(&self, path: &HostPath, fleet: &Fleet) -> EpisodeOutcome {
        let success = fleet.info.iter().position(|name| name == SUCCESS).map(|at| (at, fleet.info.len()));
        EpisodeOutcome::of(path, self.fitted().course().discount, success)
    }
}

/// The number of a task's class; none in environments whose tasks have none.
pub(super) fn class_of(spec: &EnvSpec, task: &[f64]) -> Option<u32> {
    task.first().filter(|_| spec.classes.is_some()).map(|class| *class as u32)
}

/// The error about the deterministic actions of a policy that adapts on the host, where it has none.
pub(in crate::train) fn drawn_only() -> Error {
    let problem = "policies draw their actions where they adapt to environments of the host; set it to false";
    Error::config("deterministic", problem)
}
