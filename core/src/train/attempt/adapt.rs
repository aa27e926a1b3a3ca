//! Tests of trained policies on held-out tasks.

use std::fmt::Debug;

use super::adapted::{Adaptation, MetaTest};
use super::evaluation::eval_key;
use super::evaluator::Evaluator;
use super::meta_test;
use super::under_test::UnderTest;
use crate::algo::Family;
use crate::host::EnvPlace;
use crate::meta::Trial;
use crate::{Array, Error, Result};

/// The most tasks of a test, and the most rollouts on each.
const MAX_TASKS: usize = 1 << 14;
/// The most adaptations of a test.
const MAX_ROUNDS: usize = 100;
/// The most steps of all rollouts of a stage.
const MAX_STEPS: usize = 1 << 25;

impl Evaluator {
    /// Tests the policy on held-out tasks: before adaptation and after each gradient step of it, or, if it adapts by
    /// its memory, in each episode of trials.
    ///
    /// # Errors
    /// [`Error::Config`] if the policy does not adapt, or for no tasks or rollouts; or if the device fails.
    pub async fn adapt(&self, test: MetaTest) -> Result<Adaptation> {
        match self.env() {
            EnvPlace::Device(_) => self.adapt_on(test, None).await,
            EnvPlace::Host(host) => self.adapt_in(host.held_out_executor(self.test_fleet(&test)?)?, None, test).await,
        }
    }

    /// Tests the policy on the given tasks, `[D]` each, instead of `test.tasks` held-out ones that `test.seed` names.
    ///
    /// # Errors
    /// As [`adapt`](Self::adapt), or if a task has not one number for each of the environment's parameters.
    pub async fn adapt_to<T: Copy + Debug + Into<f64>>(&self, tasks: &[Vec<T>], test: MetaTest) -> Result<Adaptation> {
        let width = self.env().spec().task.len();
        self.expect_tasks(tasks)?;
        let test = MetaTest { tasks: tasks.len(), ..test };
        let tasks: Vec<Vec<f64>> = tasks.iter().map(|task| task.iter().map(|x| (*x).into()).collect()).collect();
        if let EnvPlace::Host(host) = self.env() {
            return self.adapt_in(host.held_out_executor(self.test_fleet(&test)?)?, Some(tasks), test).await;
        }
        let given = self.on().array(&[tasks.len(), width], &tasks.concat())?;
        self.adapt_on(test, Some(&given)).await
    }

    /// Checks that each given task has one number for each of the environment's parameters.
    pub(in crate::train) fn expect_tasks<T: Copy + Debug + Into<f64>>(&self, tasks: &[Vec<T>]) -> Result<()> {
        let spec = self.env().spec();
        let width = spec.task.len();
        let fits = |task: &&Vec<T>| task.len() == width && task.iter().all(|x| (*x).into().is_finite());
        match tasks.iter().find(|task| !fits(task)) {
            None => Ok(()),
            Some(task) => {
                let problem = format!("{task:?} is no task of `{}`, which has {width} finite numbers", spec.name);
                Err(Error::config("tasks", problem))
            }
        }
    }

    async fn adapt_on(&self, test: MetaTest, given: Option<&Array>) -> Result<Adaptation> {
        let trial = self.trial(&test, false)?;
        let device = self.on();
        let (env, policy, key) = (self.env().device()?, self.policy(), eval_key(test.seed));
        meta_test::adapt(UnderTest { device, env, policy, key, given }, self.fitted(), trial).await
    }

    /// Makes the trial of a test; numbers that the test leaves open are those of training.
    pub(in crate::train) fn trial(&self, test: &MetaTest, on_host: bool) -> Result<Trial> {
        let MetaTest { tasks, deterministic, .. } = *test;
        let (course, family) = (self.fitted().course(), self.family());
        let rollouts = test.rollouts.unwrap_or(course.rollouts);
        let (rounds, episodes) = match family {
            Family::SingleTask => return Err(self.fixed()),
            Family::Gradients => (test.inner_steps.unwrap_or(course.rounds), course.episodes),
            Family::Memory => (course.rounds, test.episodes.unwrap_or(course.episodes)),
            // One episode is played by the prior, and one by each belief.
            Family::Inference => match test.episodes {
                Some(0) => (0, 0),
                episodes => (episodes.map_or(course.rounds, |episodes| episodes - 1), course.episodes),
            },
        };
        let measured = if deterministic && rounds > 0 { rollouts } else { 0 };
        let trial = Trial { tasks, rollouts, rounds, episodes, measured, deterministic, last_only: false };
        check(&trial, family, course.steps, on_host)?;
        Ok(trial)
    }
}

/// Checks the numbers of tasks, rollouts, adaptations and steps.
fn check(trial: &Trial, family: Family, horizon: usize, on_host: bool) -> Result<()> {
    if trial.episodes == 0 {
        return Err(Error::config("episodes", "0 is too few; give at least 1"));
    }
    let rounds = match family {
        Family::Gradients => Some(("inner_steps", trial.rounds, MAX_ROUNDS)),
        Family::Inference => Some(("episodes", trial.rounds.saturating_add(1), MAX_ROUNDS)),
        Family::SingleTask | Family::Memory => None,
    };
    let counts = [("tasks", trial.tasks, MAX_TASKS), ("rollouts", trial.rollouts, MAX_TASKS)];
    for (name, value, most) in counts.into_iter().chain(rounds) {
        if value == 0 || value > most {
            return Err(Error::config(name, format!("{value} is not in 1 to {most}")));
        }
    }
    let (trials, steps) = (trial.tasks * trial.rollouts, trial.episodes.saturating_mul(horizon));
    // On a device, the limit is the memory of the rollouts that are learned from.
    if (on_host || family == Family::Memory) && trials.saturating_mul(steps) > MAX_STEPS {
        let problem = format!("{trials} trials of {steps} steps are more than {MAX_STEPS} in all");
        return Err(Error::config("tasks", problem));
    }
    Ok(())
}
