//! Meta-tests of policies on environments of the host.

use super::adapted::{Adaptation, AdaptationStage, MetaTest, PathStep, StageUnit};
use super::evaluation::{Episode, eval_key};
use super::evaluator::Evaluator;
use super::meta_test;
use super::play_on_host::{class_of, drawn_only};
use crate::host::{Chance, Executor, FleetSize, HostPath, MetaSampler, Quota, Samples};
use crate::meta::{EpisodeOutcome, MetaAlgorithm as _, Trial};
use crate::rng::{Key, fold_in, streams};
use crate::task::TaskSource;
use crate::{Error, Result};

impl Evaluator {
    /// The environments that an executor of [`adapt_in`](Evaluator::adapt_in) must have.
    ///
    /// # Errors
    /// As [`adapt_in`](Evaluator::adapt_in).
    pub fn test_fleet(&self, test: &MetaTest) -> Result<FleetSize> {
        let Trial { tasks, rollouts: envs_per_task, .. } = self.trial_on_host(test)?;
        Ok(FleetSize { tasks, envs_per_task, horizon: self.fitted().course().steps })
    }

    fn trial_on_host(&self, test: &MetaTest) -> Result<Trial> {
        match test.deterministic && self.adapts() {
            true => Err(drawn_only()),
            false => self.trial(test, true),
        }
    }

    /// Tests the policy as [`adapt`](Evaluator::adapt) does, in environments of the host, on `tasks`, `[D]` each, or
    /// else on `test.tasks` tasks that `test.seed` names. States of paths are the observations that the policy saw.
    ///
    /// Actions are drawn, even where a stage is measured. Policies that adapt by gradients are measured in the episodes
    /// that they adapt by.
    ///
    /// # Errors
    /// [`Error::Config`] if the policy does not adapt, for values that cannot be, for `deterministic`, or if the
    /// executor does not fit; or if an environment or the device fails.
    pub async fn adapt_in(
        &self,
        executor: Box<dyn Executor>,
        tasks: Option<Vec<Vec<f64>>>,
        test: MetaTest,
    ) -> Result<Adaptation> {
        let test = MetaTest { tasks: tasks.as_ref().map_or(test.tasks, Vec::len), ..test };
        if let Some(tasks) = &tasks {
            self.expect_tasks(tasks)?;
        }
        let trial = self.trial_on_host(&test)?;
        let (actions, horizon) = (self.env().spec().action.dim(), executor.fleet().horizon);
        let (unit, count) = meta_test::stages(self.family(), &trial, horizon);
        let fleet = executor.fleet().clone();
        let outcome = |path: &HostPath| self.outcome(path, &fleet);
        let parts = (unit, if self.family().in_rounds() { 1 } else { count });
        let of_round = |samples: Samples| by_stage(&samples, actions, &trial, parts, &outcome);
        let (tasks, rounds) = self.try_in(executor, tasks, (&test, eval_key(test.seed)), &trial, of_round).await?;
        let mut stages = rounds.into_iter().collect::<Result<Vec<_>>>()?.concat();
        for stage in &mut stages {
            // Outcomes are in order of the tasks, of each as many.
            let of_each = (stage.outcomes.len() / tasks.len().max(1)).max(1);
            for (outcomes, task) in stage.outcomes.chunks_mut(of_each).zip(&tasks) {
                outcomes.iter_mut().for_each(|outcome| outcome.class = class_of(self.env().spec(), task));
            }
        }
        let tasks = tasks.iter().map(|task| task.iter().map(|x| *x as f32).collect()).collect();
        let episodes = if unit == StageUnit::Episodes { count } else { trial.episodes };
        Ok(Adaptation { tasks, unit, episodes, horizon, stages })
    }

    /// Plays one episode after adaptation, or a trial of several, in each group of an executor, which has a task of its
    /// own.
    pub(in crate::train) async fn play_adapted(&self, executor: Box<dyn Executor>, key: Key) -> Result<Vec<Episode>> {
        let test = MetaTest { tasks: executor.fleet().tasks, deterministic: false, ..MetaTest::default() };
        let fleet = executor.fleet().clone();
        let trial = self.trial_on_host(&test)?;
        let whole = |paths: &Vec<HostPath>| {
            let first = || paths.iter().filter(|path| path.copy == 0);
            Episode {
                ret: first().flat_map(|path| &path.rewards).sum(),
                length: first().map(|path| path.len() as u32).sum(),
                terminated: first().any(|path| path.terminated),
                adapted: first().next_back().map(|path| self.outcome(path, &fleet)),
            }
        };
        let all = |samples: Samples| samples.tasks.iter().map(whole).collect();
        let (tasks, mut stages) = self.try_in(executor, None, (&test, key), &trial, all).await?;
        let mut episodes: Vec<Episode> = stages.pop().unwrap_or_default();
        for (episode, task) in episodes.iter_mut().zip(&tasks) {
            if let Some(outcome) = &mut episode.adapted {
                outcome.class = class_of(self.env().spec(), task);
            }
        }
        Ok(episodes)
    }

    /// Plays a trial on each task. Gives the tasks, and the results of `keep` for the samples of each round, in order.
    async fn try_in<T>(
        &self,
        executor: Box<dyn Executor>,
        tasks: Option<Vec<Vec<f64>>>,
        (test, key): (&MetaTest, Key),
        trial: &Trial,
        keep: impl Fn(Samples) -> T,
    ) -> Result<(Vec<Vec<f64>>, Vec<T>)> {
        let want = self.test_fleet(test)?;
        let fleet = executor.fleet().clone();
        let numbers = |size: FleetSize| [size.tasks, size.envs_per_task, size.horizon];
        let (got, want) = (numbers(fleet.size()), numbers(want));
        if got != want {
            let problem = format!("it plays {got:?} tasks, environments of each and steps; this test needs {want:?}");
            return Err(Error::config("executor", problem));
        }
        let mut sampler = MetaSampler::episodes(executor, 1);
        let tasks = match tasks {
            _ if fleet.spec.task.is_empty() => vec![Vec::new(); test.tasks],
            Some(tasks) => tasks,
            None => {
                let chances = TaskSource::Fresh.pick(fold_in(key, streams::HELD_OUT_TASK), 0, test.tasks);
                sampler.sample_tasks(&chances.into_iter().map(Chance::from).collect::<Vec<_>>()).await?
            }
        };
        if !fleet.spec.task.is_empty() {
            fleet.expect_tasks(&tasks)?;
            sampler.set_tasks(&tasks).await?;
        }
        let key = fold_in(key, streams::HELD_OUT_EPISODES);
        let keys = |k: usize| -> Vec<Key> {
            (0..fleet.tasks as u32).map(|task| fold_in(fold_in(key, k as u32), task)).collect()
        };
        let mut policy = self.meta_algorithm()?.exploration_policy(&fleet).await?;
        let steps = trial.rounds;
        sampler.quota = Quota::Episodes(trial.episodes);
        let mut all = Vec::with_capacity(steps + 1);
        for k in 0..=steps {
            let samples = sampler.obtain(&mut *policy, &keys(k)).await?;
            if k < steps {
                policy = policy.adapt(&samples).await?;
            }
            all.push(keep(samples));
        }
        Ok((tasks, all))
    }
}

/// The steps of an episode.
fn steps(path: &HostPath, actions: usize) -> impl Iterator<Item = PathStep> + '_ {
    let narrow = |numbers: &[f64]| numbers.iter().map(|x| *x as f32).collect::<Vec<f32>>();
    let width = path.observations.len() / path.len().max(1);
    let seen = path.observations.chunks(width.max(1));
    let acted = path.played.chunks(actions);
    path.rewards.iter().zip(seen).zip(acted).map(move |((reward, seen), action)| PathStep {
        state: narrow(seen),
        action: narrow(action),
        reward: *reward,
    })
}

/// Divides played episodes into stages: a single one, or the parts of trials.
fn by_stage(
    samples: &Samples,
    actions: usize,
    trial: &Trial,
    (unit, count): (StageUnit, usize),
    outcome: &dyn Fn(&HostPath) -> EpisodeOutcome,
) -> Result<Vec<AdaptationStage>> {
    let mut stages = meta_test::empty(count, trial)?;
    for (task, paths) in samples.tasks.iter().enumerate() {
        let mut episode = vec![0; trial.rollouts];
        for path in paths {
            for (t, step) in steps(path, actions).enumerate() {
                let part = match unit {
                    StageUnit::Steps(length) => t / length,
                    StageUnit::GradientSteps | StageUnit::Episodes => episode[path.copy].min(count - 1),
                };
                let Some(stage) = stages.get_mut(part) else { continue };
                stage.returns[task][path.copy] += step.reward;
                if path.copy == 0 {
                    stage.paths[task].push(step);
                }
            }
            let last = if let StageUnit::Steps(_) = unit { count } else { episode[path.copy] + 1 };
            if let Some(stage) = stages.get_mut(last.min(count) - 1) {
                stage.outcomes.push(outcome(path));
            }
            episode[path.copy] += 1;
        }
    }
    Ok(stages)
}
