//! Environments that are stepped one after the other.

use super::episode_state::{groups_of, states_of, states_of_group};
use super::slot::{Command, Slot, slots};
use super::{Chance, Executor, Fleet, HostEnv, Stepped};
use crate::Result;
use crate::backend::LocalFuture;
use crate::rng::Key;

/// Steps environments one after the other on the caller's thread.
pub struct IterativeExecutor {
    fleet: Fleet,
    slots: Vec<Slot>,
}

impl IterativeExecutor {
    /// Makes `tasks` groups of `envs_per_task` environments by calling `make` with each one's number; episodes have at
    /// most `horizon` steps (0: only the spec's time limit holds).
    ///
    /// # Errors
    /// If there are no environments, if `make` fails, or if the environments differ in their specs.
    pub fn new(
        tasks: usize,
        envs_per_task: usize,
        horizon: usize,
        mut make: impl FnMut(usize) -> Result<Box<dyn HostEnv>>,
    ) -> Result<IterativeExecutor> {
        let (fleet, slots) = slots(tasks, envs_per_task, horizon, &mut make)?;
        Ok(IterativeExecutor { fleet, slots })
    }

    fn all(&mut self, command: &Command) -> Result<Stepped> {
        self.slots.iter_mut().try_for_each(|slot| slot.play(command, &self.fleet))?;
        let mut all = Stepped::default();
        self.slots.iter_mut().for_each(|slot| slot.collect(&mut all));
        Ok(all)
    }
}

impl Executor for IterativeExecutor {
    fn fleet(&self) -> &Fleet {
        &self.fleet
    }

    fn sample_tasks<'a>(&'a mut self, chances: &'a [Chance]) -> LocalFuture<'a, Result<Vec<Vec<f64>>>> {
        Box::pin(async move {
            // There is at least one environment.
            self.slots[0].play(&Command::SampleTasks(chances.to_vec()), &self.fleet)?;
            Ok(self.slots[0].take_tasks())
        })
    }

    fn set_tasks<'a>(&'a mut self, tasks: &'a [Vec<f64>]) -> LocalFuture<'a, Result<()>> {
        Box::pin(async move {
            self.fleet.expect_tasks(tasks)?;
            self.all(&Command::SetTasks(tasks.to_vec())).map(|_| ())
        })
    }

    fn reset<'a>(&'a mut self, keys: &'a [Key]) -> LocalFuture<'a, Result<Vec<f64>>> {
        Box::pin(async move {
            self.fleet.expect("keys", keys.len(), self.fleet.tasks)?;
            Ok(self.all(&Command::Reset(keys.to_vec()))?.observations)
        })
    }

    fn step<'a>(&'a mut self, actions: &'a [f64], keys: &'a [Key]) -> LocalFuture<'a, Result<Stepped>> {
        Box::pin(async move {
            self.fleet.expect_step(actions, keys)?;
            self.all(&Command::Step(actions.to_vec(), keys.to_vec()))
        })
    }

    fn save(&self) -> LocalFuture<'_, Result<Option<Vec<Vec<u8>>>>> {
        Box::pin(async move {
            let states = self.slots.iter().map(|slot| slot.save(&self.fleet)).collect::<Result<Option<Vec<_>>>>()?;
            Ok(states.map(|states| groups_of(&states, &self.fleet)))
        })
    }

    fn check_saved(&self, group: &[u8]) -> Result<()> {
        states_of_group(group, &self.fleet).map(drop)
    }

    fn restore<'a>(&'a mut self, groups: &'a [Vec<u8>]) -> LocalFuture<'a, Result<()>> {
        Box::pin(async move {
            let states = states_of(groups, &self.fleet)?;
            self.slots.iter_mut().zip(states).try_for_each(|(slot, state)| slot.restore(state, &self.fleet))
        })
    }
}
