//! A part of an executor's groups, such as those of the seeds whose runs go on.

use super::{Chance, Executor, Faults, Fleet, Stepped};
use crate::backend::LocalFuture;
use crate::rng::Key;
use crate::{Error, Result};

/// Chooses some of an executor's groups. The executor steps all groups at once; the groups that are not chosen repeat
/// what the first chosen one does, and their results are dropped.
pub struct SomeGroups {
    whole: Box<dyn Executor>,
    /// The numbers of the chosen groups in the whole fleet, in order.
    groups: Vec<usize>,
    /// The fleet of the chosen groups alone.
    fleet: Fleet,
}

impl SomeGroups {
    /// Chooses all groups of an executor.
    #[must_use]
    pub fn all(whole: Box<dyn Executor>) -> SomeGroups {
        let fleet = whole.fleet().clone();
        SomeGroups { whole, groups: (0..fleet.tasks).collect(), fleet }
    }

    /// Chooses these groups, from the next [`reset`](Executor::reset) on.
    ///
    /// # Errors
    /// If there are none, or if the executor has no group of such a number.
    pub fn choose(&mut self, groups: &[usize]) -> Result<()> {
        let all = self.whole.fleet().tasks;
        if groups.is_empty() || groups.iter().any(|group| *group >= all) {
            return Err(Error::Program(format!("an executor of {all} groups has none of the numbers {groups:?}")));
        }
        groups.clone_into(&mut self.groups);
        self.fleet.tasks = groups.len();
        Ok(())
    }

    /// The fleet with all groups.
    pub(crate) fn of(&self) -> &Fleet {
        self.whole.fleet()
    }

    fn is_whole(&self) -> bool {
        self.groups.len() == self.whole.fleet().tasks
    }

    /// Spreads values of the chosen groups over all groups; the others get those of the first chosen one.
    fn spread<T: Clone>(&self, of_groups: &[T]) -> Vec<T> {
        let each = of_groups.len() / self.groups.len().max(1);
        let of = |group: usize| self.groups.iter().position(|own| *own == group).unwrap_or(0);
        (0..self.whole.fleet().tasks).flat_map(|group| &of_groups[of(group) * each..][..each]).cloned().collect()
    }

    /// Picks the values of the chosen groups out of the values of all groups.
    fn own<T: Copy>(&self, of_all: &[T]) -> Vec<T> {
        let each = of_all.len() / self.whole.fleet().tasks.max(1);
        self.groups.iter().flat_map(|group| &of_all[group * each..][..each]).copied().collect()
    }
}

impl Executor for SomeGroups {
    fn fleet(&self) -> &Fleet {
        &self.fleet
    }

    fn sample_tasks<'a>(&'a mut self, chances: &'a [Chance]) -> LocalFuture<'a, Result<Vec<Vec<f64>>>> {
        self.whole.sample_tasks(chances)
    }

    fn set_tasks<'a>(&'a mut self, tasks: &'a [Vec<f64>]) -> LocalFuture<'a, Result<()>> {
        if self.is_whole() {
            return self.whole.set_tasks(tasks);
        }
        Box::pin(async move {
            self.fleet.expect("tasks", tasks.len(), self.fleet.tasks)?;
            let all = self.spread(tasks);
            self.whole.set_tasks(&all).await
        })
    }

    fn reset<'a>(&'a mut self, keys: &'a [Key]) -> LocalFuture<'a, Result<Vec<f64>>> {
        if self.is_whole() {
            return self.whole.reset(keys);
        }
        Box::pin(async move {
            self.fleet.expect("keys", keys.len(), self.fleet.tasks)?;
            let first = self.whole.reset(&self.spread(keys)).await?;
            self.whole.fleet().expect_first(&first)?;
            Ok(self.own(&first))
        })
    }

    fn step<'a>(&'a mut self, actions: &'a [f64], keys: &'a [Key]) -> LocalFuture<'a, Result<Stepped>> {
        if self.is_whole() {
            return self.whole.step(actions, keys);
        }
        Box::pin(async move {
            self.fleet.expect("keys", keys.len(), self.fleet.tasks)?;
            self.fleet.expect("numbers of actions", actions.len(), self.fleet.num_envs() * self.fleet.actions())?;
            let (actions, keys) = (self.spread(actions), self.spread(keys));
            let all = self.whole.step(&actions, &keys).await?;
            self.whole.fleet().expect_stepped(&all)?;
            Ok(Stepped {
                observations: self.own(&all.observations),
                last_observations: self.own(&all.last_observations),
                rewards: self.own(&all.rewards),
                terminated: self.own(&all.terminated),
                truncated: self.own(&all.truncated),
                lengths: self.own(&all.lengths),
                info: self.own(&all.info),
            })
        })
    }

    fn save(&self) -> LocalFuture<'_, Result<Option<Vec<Vec<u8>>>>> {
        Box::pin(async move {
            let own = |all: Vec<Vec<u8>>| self.groups.iter().filter_map(|group| all.get(*group).cloned()).collect();
            Ok(self.whole.save().await?.map(own))
        })
    }

    fn check_saved(&self, group: &[u8]) -> Result<()> {
        self.whole.check_saved(group)
    }

    fn restore<'a>(&'a mut self, groups: &'a [Vec<u8>]) -> LocalFuture<'a, Result<()>> {
        Box::pin(async move {
            self.fleet.expect("saved groups", groups.len(), self.fleet.tasks)?;
            let all = self.spread(groups);
            self.whole.restore(&all).await
        })
    }

    fn faults(&self) -> Faults {
        self.whole.faults()
    }
}
