//! Episodes of policies in environments of the host.

use super::adapted::MetaTest;
use super::evaluate::{Episode, Evaluator, MAX_EPISODES, bad_count, eval_key};
use crate::algo::Family;
use crate::host::{Actor, Executor, Fleet, HostPath, MetaSampler};
use crate::meta::MetaAlgorithm as _;
use crate::policy::How;
use crate::rng::{Key, fold_in};
use crate::{Error, Result};

impl Evaluator {
    /// It as an actor in environments of the host; the most probable actions if `deterministic`, which policies that adapt by a memory do not
    /// have.
    ///
    /// # Errors
    /// If the fleet does not fit or the device fails.
    pub async fn actor(&self, fleet: &Fleet, deterministic: bool) -> Result<Box<dyn Actor>> {
        if self.family() == Family::Memory {
            return Ok(self.meta_algorithm()?.exploration_policy(fleet).await?);
        }
        let how = if deterministic { How::Exploit } else { How::Explore };
        // One policy for all tasks: to it they are more rows of one batch.
        Ok(Box::new(self.adaptive().actor(fleet, 1, how, &[])?.0))
    }

    /// True if it adapts to tasks.
    pub fn adapts(&self) -> bool {
        self.family() != Family::SingleTask
    }

    /// The fleet that an executor must play for so many episodes of [`play`](Self::play): groups, environments of each, and the steps after
    /// which an episode is cut off.
    ///
    /// # Errors
    /// [`Error::Config`] if there are too few or too many.
    pub fn fleet(&self, episodes: usize) -> Result<[usize; 3]> {
        match self.adapts() {
            true => self.test_fleet(&MetaTest { tasks: episodes, deterministic: false, ..MetaTest::default() }),
            false if episodes == 0 || episodes > MAX_EPISODES => Err(bad_count(episodes)),
            false => Ok([1, episodes, self.env().spec().horizon]),
        }
    }

    /// An episode in each environment of an executor, in order of their numbers. `seed` names first states and draws.
    ///
    /// A policy that adapts plays one in each group, after it has adapted to a held-out task there; or a trial of several, by its memory.
    /// It draws its actions.
    ///
    /// # Errors
    /// If the executor does not fit, for the most probable actions of a policy that adapts, or if an environment or the device fails.
    pub async fn play(&self, executor: Box<dyn Executor>, seed: u64, deterministic: bool) -> Result<Vec<Episode>> {
        if self.adapts() {
            if deterministic {
                return Err(drawn_only());
            }
            return self.play_adapted(executor, seed).await;
        }
        let fleet = executor.fleet().clone();
        let mut actor = self.actor(&fleet, deterministic).await?;
        let mut sampler = MetaSampler::episodes(executor, 1);
        let keys: Vec<Key> = (0..fleet.tasks as u32).map(|task| fold_in(eval_key(seed), task)).collect();
        let samples = sampler.obtain(&mut *actor, &keys).await?;
        let episode = |path: &HostPath| Episode {
            ret: path.rewards.iter().sum(),
            length: path.len() as u32,
            terminated: path.terminated,
            adapted: None,
        };
        Ok(samples.paths().map(episode).collect())
    }
}

/// The error that a policy which adapts on the host has no most probable actions there.
pub(super) fn drawn_only() -> Error {
    let problem = "policies draw their actions where they adapt to environments of the host; set it to false";
    Error::config("deterministic", problem)
}
