//! One environment after the other.

use super::group::{Group, groups};
use super::{Chance, Executor, Fleet, HostEnv, Stepped};
use crate::Result;
use crate::backend::LocalFuture;
use crate::rng::Key;

/// Steps environments one after the other on the caller's thread.
pub struct IterativeExecutor {
    fleet: Fleet,
    groups: Vec<Group>,
}

impl IterativeExecutor {
    /// `tasks` groups of `envs_per_task` environments that `make` gives for each number, with episodes of at most `horizon` steps
    /// (0: only the spec's time limit holds).
    ///
    /// # Errors
    /// If there are none, `make` fails, or the environments differ in their specs.
    pub fn new(
        tasks: usize,
        envs_per_task: usize,
        horizon: usize,
        mut make: impl FnMut(usize) -> Result<Box<dyn HostEnv>>,
    ) -> Result<IterativeExecutor> {
        let (fleet, groups) = groups(tasks, envs_per_task, horizon, &mut make)?;
        Ok(IterativeExecutor { fleet, groups })
    }
}

impl Executor for IterativeExecutor {
    fn fleet(&self) -> &Fleet {
        &self.fleet
    }

    fn sample_tasks<'a>(&'a mut self, chances: &'a [Chance]) -> LocalFuture<'a, Result<Vec<Vec<f64>>>> {
        // There is at least one group.
        Box::pin(async move { self.groups[0].sample_tasks(chances) })
    }

    fn set_tasks<'a>(&'a mut self, tasks: &'a [Vec<f64>]) -> LocalFuture<'a, Result<()>> {
        Box::pin(async move {
            self.fleet.expect_tasks(tasks)?;
            self.groups.iter_mut().zip(tasks).try_for_each(|(group, task)| group.set_task(task))
        })
    }

    fn reset<'a>(&'a mut self, keys: &'a [Key]) -> LocalFuture<'a, Result<Vec<f64>>> {
        Box::pin(async move {
            self.fleet.expect("keys", keys.len(), self.fleet.tasks)?;
            let all = self.groups.iter_mut().zip(keys).map(|(group, key)| group.reset(*key));
            Ok(all.collect::<Result<Vec<_>>>()?.concat())
        })
    }

    fn step<'a>(&'a mut self, actions: &'a [f64], keys: &'a [Key]) -> LocalFuture<'a, Result<Stepped>> {
        Box::pin(async move {
            self.fleet.expect_step(actions, keys)?;
            let mut all = Stepped::default();
            let each = self.fleet.envs_per_task * self.fleet.actions();
            for ((group, actions), key) in self.groups.iter_mut().zip(actions.chunks(each)).zip(keys) {
                all.append(group.step(actions, *key)?);
            }
            Ok(all)
        })
    }
}
