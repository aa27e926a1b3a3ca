//! Whole episodes of environments on the host.

use std::fmt;

use super::{Actor, Chance, Executor, HostPath, PlayedStep, Player, Samples};
use crate::math::order::by_key;
use crate::rng::{Key, fold_in, streams};
use crate::{Error, Result};

/// The amount that a collection plays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quota {
    /// This many episodes of each environment, in order of the environments' numbers. Programs on a device collect one
    /// each.
    Episodes(usize),
    /// This many episodes of each task: its environments play even shares of them, and the first ones one more where
    /// shares are not whole. So none is left out because it is long.
    PerTask(usize),
    /// Whole episodes with at least this many steps in total, in the order in which they end: tasks
    /// whose episodes end early have more of them.
    Steps(u64),
}

impl Quota {
    /// The most episodes of environment `copy` among those of its task.
    fn share(self, copy: usize, envs_per_task: usize) -> usize {
        match self {
            Quota::Episodes(each) => each,
            Quota::PerTask(count) => count / envs_per_task + usize::from(copy < count % envs_per_task),
            Quota::Steps(_) => usize::MAX,
        }
    }
}

/// Collects episodes of M tasks.
///
/// It follows `MetaSampler` of ProMP, but counts the steps that were made, and not those that were asked for.
pub struct MetaSampler {
    player: Player,
    /// The amount that each collection plays.
    pub quota: Quota,
}

impl fmt::Debug for MetaSampler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MetaSampler").field("fleet", self.executor().fleet()).finish_non_exhaustive()
    }
}

impl MetaSampler {
    /// Collects episodes with at least `rollouts` × horizon × M steps each time, as the original.
    pub fn new(executor: Box<dyn Executor>, rollouts: usize) -> MetaSampler {
        let fleet = executor.fleet();
        let steps = fleet.tasks as u64 * rollouts as u64 * fleet.horizon as u64;
        MetaSampler { player: Player::new(executor), quota: Quota::Steps(steps.max(1)) }
    }

    /// Collects `each` episodes of each environment each time.
    pub fn episodes(executor: Box<dyn Executor>, each: usize) -> MetaSampler {
        MetaSampler { player: Player::new(executor), quota: Quota::Episodes(each.max(1)) }
    }

    /// The executor that runs its environments.
    pub fn executor(&self) -> &dyn Executor {
        self.player.executor()
    }

    /// Steps that environments have made in all collections.
    pub fn env_steps(&self) -> u64 {
        self.player.env_steps()
    }

    /// Draws parameters of tasks from the environments' distribution, `[D]` each.
    ///
    /// # Errors
    /// As [`Executor::sample_tasks`].
    pub async fn sample_tasks(&mut self, chances: &[Chance]) -> Result<Vec<Vec<f64>>> {
        self.player.executor_mut().sample_tasks(chances).await
    }

    /// Sets the tasks of later collections, `[D]` each.
    ///
    /// # Errors
    /// As [`Executor::set_tasks`].
    pub async fn set_tasks(&mut self, tasks: &[Vec<f64>]) -> Result<()> {
        self.player.executor_mut().set_tasks(tasks).await
    }

    /// Collects new episodes. `keys` has one key per task, another one at each collection; environments
    /// draw from its stream [`ENV`](streams::ENV).
    ///
    /// # Errors
    /// If an environment or the actor fails.
    pub async fn obtain(&mut self, actor: &mut dyn Actor, keys: &[Key]) -> Result<Samples> {
        let env_keys: Vec<Key> = keys.iter().map(|key| fold_in(*key, streams::ENV)).collect();
        let first: Vec<Key> = env_keys.iter().map(|key| fold_in(*key, 0)).collect();
        let fleet = self.executor().fleet();
        let mut collection = Collection::new(fleet.tasks, fleet.num_envs());
        let (quota, before) = (self.quota, self.env_steps());
        self.player.begin(&first).await?;
        actor.begin(keys)?;
        let mut add = |step: PlayedStep<'_>| {
            collection.add(&step, quota);
            !collection.enough(quota)
        };
        self.player.play(actor, &env_keys, 1, &mut add).await?;
        let kept: u64 = collection.tasks.iter().flatten().map(|path| path.len() as u64).sum();
        let mut tasks = collection.tasks;
        if !matches!(self.quota, Quota::Steps(_)) {
            tasks.iter_mut().for_each(|paths| *paths = by_key(std::mem::take(paths), &|path| path.copy as u64));
        }
        let env_steps = self.env_steps() - before;
        Ok(Samples { tasks, env_steps, dropped: env_steps - kept })
    }
}

/// Appends row `number` of `from`, which has `width` numbers.
fn extend(to: &mut Vec<f64>, from: &[f64], number: usize, width: usize) {
    to.extend_from_slice(&from[number * width..(number + 1) * width]);
}

/// The episodes that a collection has so far.
struct Collection {
    running: Vec<HostPath>,
    /// Whole episodes, by task.
    tasks: Vec<Vec<HostPath>>,
    /// Episodes that each environment has ended.
    ended: Vec<usize>,
    /// Steps of whole episodes.
    steps: u64,
}

impl Collection {
    fn new(tasks: usize, num_envs: usize) -> Collection {
        Collection {
            running: vec![HostPath::default(); num_envs],
            tasks: vec![Vec::new(); tasks],
            ended: vec![0; num_envs],
            steps: 0,
        }
    }

    fn add(&mut self, step: &PlayedStep<'_>, quota: Quota) {
        let PlayedStep { fleet, observations, acted, stepped } = step;
        for number in 0..fleet.num_envs() {
            let path = &mut self.running[number];
            extend(&mut path.observations, observations, number, fleet.observations());
            extend(&mut path.actions, &acted.drawn, number, fleet.actions());
            extend(&mut path.played, &acted.played, number, fleet.actions());
            extend(&mut path.env_infos, &stepped.info, number, fleet.info.len());
            extend(&mut path.agent_infos, &acted.info, number, acted.info.len() / fleet.num_envs());
            path.rewards.push(stepped.rewards[number]);
            if stepped.ended(number) {
                extend(&mut path.last_observation, &stepped.last_observations, number, fleet.observations());
                path.terminated = stepped.terminated[number];
                self.finish(number, fleet.envs_per_task, quota);
            }
        }
    }

    fn enough(&self, quota: Quota) -> bool {
        let per_task = self.ended.len() / self.tasks.len();
        let played = |(number, ended): (usize, &usize)| *ended >= quota.share(number % per_task, per_task);
        match quota {
            Quota::Steps(steps) => self.steps >= steps,
            Quota::Episodes(_) | Quota::PerTask(_) => self.ended.iter().enumerate().all(played),
        }
    }

    fn finish(&mut self, number: usize, envs_per_task: usize, quota: Quota) {
        let mut path = std::mem::take(&mut self.running[number]);
        let copy = number % envs_per_task;
        self.ended[number] += 1;
        if self.ended[number] > quota.share(copy, envs_per_task) {
            return;
        }
        path.copy = copy;
        self.steps += path.len() as u64;
        self.tasks[number / envs_per_task].push(path);
    }
}

/// Collects whole episodes of a single task: `batch_size` of them, which is ProMP's number of trajectories per task.
pub struct Sampler(MetaSampler);

impl Sampler {
    /// Wraps an executor that has a single task, for `batch_size` episodes each time.
    ///
    /// # Errors
    /// [`Error::Config`] if it has several tasks, or if `batch_size` is 0.
    pub fn new(executor: Box<dyn Executor>, batch_size: usize) -> Result<Sampler> {
        let tasks = executor.fleet().tasks;
        if tasks != 1 {
            return Err(Error::config("tasks", format!("a sampler plays one task, and the executor has {tasks}")));
        }
        if batch_size == 0 {
            return Err(Error::config("batch_size", "0 is not 1 or more; it counts episodes"));
        }
        Ok(Sampler(MetaSampler { player: Player::new(executor), quota: Quota::PerTask(batch_size) }))
    }

    /// Steps that environments have made in all collections.
    pub fn env_steps(&self) -> u64 {
        self.0.env_steps()
    }

    /// Collects episodes as [`MetaSampler::obtain`] does, of the only task.
    ///
    /// # Errors
    /// As [`MetaSampler::obtain`].
    pub async fn obtain(&mut self, actor: &mut dyn Actor, key: Key) -> Result<Samples> {
        self.0.obtain(actor, &[key]).await
    }
}
