//! Meta-tests of policies on environments of the host.

use super::adapted::{self, Adaptation, MetaTest, PathStep, Stage, StageUnit};
use super::config::Config;
use super::evaluate::{Episode, Evaluator, eval_key};
use super::play_on_host::drawn_only;
use super::trials;
use crate::env::ActionSpace;
use crate::host::{Chance, Executor, HostPath, MetaSampler, Samples, Until};
use crate::meta::Trial;
use crate::meta::rl2::TrialSpec;
use crate::rng::{Key, fold_in, streams};
use crate::task::TaskSource;
use crate::{Error, Result};

/// What is played on each task.
enum Course {
    /// A rollout of each environment with at most so many steps, and an inner step, in turn.
    Gradients(Trial, usize),
    /// Trials, one in each environment.
    Memory(TrialSpec),
}

impl Evaluator {
    /// What an executor must play for [`adapt_in`](Evaluator::adapt_in): tasks, environments of each, and the steps after which an
    /// episode is cut off.
    ///
    /// # Errors
    /// As [`adapt_in`](Evaluator::adapt_in).
    pub fn test_fleet(&self, test: &MetaTest) -> Result<[usize; 3]> {
        Ok(match self.course(test)? {
            Course::Gradients(trial, steps) => [trial.tasks, trial.rollouts, steps],
            Course::Memory(spec) => [spec.tasks, spec.rollouts, self.env().spec().horizon],
        })
    }

    /// As [`adapt`](Evaluator::adapt), in environments of the host: on `tasks`, `[D]` each, or else on as many as `test` says, which its seed
    /// names. States of paths are what the policy saw.
    ///
    /// Actions are drawn, also where a stage is measured. MAML's family measures the episodes that it adapts by.
    ///
    /// # Errors
    /// [`Error::Config`] if the policy does not adapt, for values that cannot be, for `deterministic`, or if the executor does not fit;
    /// or if an environment or the device fails.
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
        let course = self.course(&test)?;
        let (space, horizon) = (self.env().spec().action.clone(), executor.fleet().horizon);
        let (unit, episodes) = match course {
            Course::Gradients(..) => (StageUnit::GradientSteps, 1),
            Course::Memory(spec) => (trials::parts(spec.episodes, spec.episodes * horizon).0, spec.episodes),
        };
        let stages = |samples: Samples| match course {
            Course::Gradients(..) => vec![rollouts(&samples, &space)],
            Course::Memory(spec) => by_stage(&samples, &space, spec, horizon),
        };
        let (tasks, stages) = self.try_in(executor, tasks, &test, &course, stages).await?;
        let tasks = tasks.iter().map(|task| task.iter().map(|x| *x as f32).collect()).collect();
        Ok(Adaptation { tasks, unit, episodes, horizon, stages: stages.concat() })
    }

    /// One episode after adaptation in each group of an executor, on a task of its own, or a trial of several.
    pub(super) async fn play_adapted(&self, executor: Box<dyn Executor>, seed: u64) -> Result<Vec<Episode>> {
        let test = MetaTest { tasks: executor.fleet().tasks, seed, deterministic: false, ..MetaTest::default() };
        let course = self.course(&test)?;
        let whole = |paths: &Vec<HostPath>| {
            let first = || paths.iter().filter(|path| path.copy == 0);
            Episode {
                ret: first().flat_map(|path| &path.rewards).sum(),
                length: first().map(|path| path.len() as u32).sum(),
                terminated: first().any(|path| path.terminated),
            }
        };
        let all = |samples: Samples| samples.tasks.iter().map(whole).collect();
        let (_, mut stages) = self.try_in(executor, None, &test, &course, all).await?;
        Ok(stages.pop().unwrap_or_default())
    }

    /// The tasks, and what `keep` makes of what was played on them in turn.
    async fn try_in<T>(
        &self,
        executor: Box<dyn Executor>,
        tasks: Option<Vec<Vec<f64>>>,
        test: &MetaTest,
        course: &Course,
        keep: impl Fn(Samples) -> T,
    ) -> Result<(Vec<Vec<f64>>, Vec<T>)> {
        let want = self.test_fleet(test)?;
        let fleet = executor.fleet().clone();
        let got = [fleet.tasks, fleet.envs_per_task, fleet.horizon];
        if got != want {
            let problem = format!("it plays {got:?} tasks, environments of each and steps; this test needs {want:?}");
            return Err(Error::config("executor", problem));
        }
        let key = eval_key(test.seed);
        let mut sampler = MetaSampler::episodes(executor, 1);
        let tasks = match tasks {
            _ if fleet.spec.task.is_empty() => vec![Vec::new(); test.tasks],
            Some(tasks) => tasks,
            None => {
                let picked = TaskSource::Fresh.pick(fold_in(key, streams::HELD_OUT_TASK), 0, test.tasks);
                let chances: Vec<Chance> = picked.into_iter().map(|(key, element)| Chance { key, element }).collect();
                sampler.sample_tasks(&chances).await?
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
        let steps = match course {
            Course::Gradients(trial, _) => trial.inner_steps,
            Course::Memory(spec) => {
                sampler.until = Until::Episodes(spec.episodes);
                0
            }
        };
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

    fn course(&self, test: &MetaTest) -> Result<Course> {
        if test.deterministic {
            return Err(drawn_only());
        }
        let MetaTest { tasks, deterministic, .. } = *test;
        match self.config() {
            Config::Maml(config) => {
                let rollouts = test.rollouts.unwrap_or(config.rollouts);
                let inner_steps = test.inner_steps.unwrap_or(config.inner_steps);
                let trial = Trial { tasks, rollouts, inner_steps, measured: 0, deterministic, last_only: false };
                adapted::check(&trial)?;
                let steps = config.steps(self.env().spec().horizon);
                trials::check(TrialSpec { tasks, rollouts, episodes: 1, deterministic }, steps)?;
                Ok(Course::Gradients(trial, steps))
            }
            Config::Rl2(config) => {
                let (rollouts, episodes) = (test.rollouts.unwrap_or(1), test.episodes.unwrap_or(config.episodes));
                let spec = TrialSpec { tasks, rollouts, episodes, deterministic };
                trials::check(spec, self.env().spec().horizon)?;
                Ok(Course::Memory(spec))
            }
            Config::Ppo(_) | Config::Trpo(_) => Err(self.fixed()),
        }
    }
}

/// The steps of an episode.
fn steps<'a>(path: &'a HostPath, space: &'a ActionSpace) -> impl Iterator<Item = PathStep> + 'a {
    let narrow = |numbers: &[f64]| numbers.iter().map(|x| *x as f32).collect::<Vec<f32>>();
    let width = path.observations.len() / path.len().max(1);
    let seen = path.observations.chunks(width.max(1));
    let acted = path.actions.chunks(space.dim());
    path.rewards.iter().zip(seen).zip(acted).map(move |((reward, seen), drawn)| {
        let action = match space {
            ActionSpace::Box { dims } => dims.iter().zip(drawn).map(|(dim, x)| x.clamp(dim.low, dim.high)).collect(),
            ActionSpace::Discrete { .. } => drawn.to_vec(),
        };
        PathStep { state: narrow(seen), action: narrow(&action), reward: *reward }
    })
}

/// One episode of each environment.
fn rollouts(samples: &Samples, space: &ActionSpace) -> Stage {
    let sum = |path: &HostPath| path.rewards.iter().sum();
    Stage {
        returns: samples.tasks.iter().map(|paths| paths.iter().map(sum).collect()).collect(),
        paths: samples.tasks.iter().map(|paths| paths.iter().take(1).flat_map(|p| steps(p, space)).collect()).collect(),
    }
}

/// Trials, part by part.
fn by_stage(samples: &Samples, space: &ActionSpace, spec: TrialSpec, horizon: usize) -> Vec<Stage> {
    let (unit, count) = trials::parts(spec.episodes, spec.episodes * horizon);
    let none = Stage { returns: vec![vec![0.0; spec.rollouts]; spec.tasks], paths: vec![Vec::new(); spec.tasks] };
    let mut stages = vec![none; count];
    for (task, paths) in samples.tasks.iter().enumerate() {
        let mut episode = vec![0; spec.rollouts];
        for path in paths {
            for (t, step) in steps(path, space).enumerate() {
                let part = match unit {
                    StageUnit::Steps(length) => t / length,
                    _ => episode[path.copy],
                };
                let Some(stage) = stages.get_mut(part) else { continue };
                stage.returns[task][path.copy] += step.reward;
                if path.copy == 0 {
                    stage.paths[task].push(step);
                }
            }
            episode[path.copy] += 1;
        }
    }
    stages
}
