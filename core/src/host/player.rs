//! The one loop that steps environments on the host.

use super::episode_state::{read_numbers, write_numbers};
use super::{Acted, Actor, Executor, Fleet, Stepped};
use crate::backend::LocalFuture;
use crate::rng::{Key, fold_in};
use crate::{Error, Result};

/// An executor's environments in the middle of their episodes.
pub struct Player<E: Executor + ?Sized = dyn Executor> {
    executor: Box<E>,
    /// The present observations; none before the first episodes and after an error.
    seen: Option<Vec<f64>>,
    env_steps: u64,
}

/// One step of all environments.
pub struct PlayedStep<'a> {
    /// The environments that were stepped.
    pub fleet: &'a Fleet,
    /// Observations acted on, `[M · E · O]`.
    pub observations: &'a [f64],
    /// The actions of the step.
    pub acted: &'a Acted,
    /// The outcome of the step.
    pub stepped: &'a Stepped,
}

impl<E: Executor + ?Sized> Player<E> {
    /// Wraps an executor whose environments have yet to begin.
    #[must_use]
    pub fn new(executor: Box<E>) -> Player<E> {
        Player { executor, seen: None, env_steps: 0 }
    }

    /// The executor that runs the environments.
    #[must_use]
    pub fn executor(&self) -> &E {
        &self.executor
    }

    /// The executor that runs the environments, to set its tasks.
    pub fn executor_mut(&mut self) -> &mut E {
        &mut self.executor
    }

    /// Steps that environments have made.
    #[must_use]
    pub fn env_steps(&self) -> u64 {
        self.env_steps
    }

    /// The present observations, `[M · E · O]`; none before [`begin`](Player::begin) and after an error.
    #[must_use]
    pub fn seen(&self) -> Option<&[f64]> {
        self.seen.as_deref()
    }

    /// Ends the running episodes: the next play has to begin with new ones.
    pub(crate) fn end(&mut self) {
        self.seen = None;
    }

    /// Begins new episodes everywhere. `keys` name the first states, one key per group.
    ///
    /// # Errors
    /// If an environment fails.
    pub async fn begin(&mut self, keys: &[Key]) -> Result<()> {
        self.seen = None;
        let first = self.executor.reset(keys).await?;
        self.executor.fleet().expect_first(&first)?;
        self.seen = Some(first);
        Ok(())
    }

    /// Saves the position of each group in its episodes; none if environments have not begun, or cannot save it.
    ///
    /// # Errors
    /// If an environment fails.
    pub(crate) async fn save(&self) -> Result<Option<Vec<Vec<u8>>>> {
        let Some(seen) = &self.seen else { return Ok(None) };
        let Some(groups) = self.executor.save().await? else { return Ok(None) };
        let width = seen.len() / groups.len().max(1);
        let with_seen = |(seen, group): (&[f64], Vec<u8>)| {
            let mut bytes = Vec::new();
            write_numbers(&mut bytes, seen);
            bytes.extend(group);
            bytes
        };
        Ok(Some(seen.chunks(width.max(1)).zip(groups).map(with_seen).collect()))
    }

    /// Checks what [`save`](Player::save) gave of one group, as far as that is possible without going back to it.
    ///
    /// # Errors
    /// [`Error::Snapshot`] if it cannot have given these bytes.
    pub(crate) fn check_saved(&self, group: &[u8]) -> Result<()> {
        let mut own = group;
        read_numbers(&mut own)?;
        self.executor.check_saved(own)
    }

    /// Goes on from positions that a player like this one saved, one element per group.
    ///
    /// # Errors
    /// If environments cannot go back to them.
    pub(crate) async fn restore(&mut self, groups: &[Vec<u8>]) -> Result<()> {
        let (mut seen, mut rest) = (Vec::new(), Vec::with_capacity(groups.len()));
        for group in groups {
            let mut bytes = &group[..];
            seen.extend(read_numbers(&mut bytes)?);
            rest.push(bytes.to_vec());
        }
        self.seen = None;
        self.executor.restore(&rest).await?;
        self.executor.fleet().expect_first(&seen)?;
        self.seen = Some(seen);
        Ok(())
    }

    /// Steps the environments until `each` returns false. Steps are counted from `first`; step t of a group draws
    /// with `fold_in(key, t)` of the group's key.
    ///
    /// # Errors
    /// If environments have not begun, or if an environment or the actor fails; the next play must then begin new
    /// episodes.
    pub fn play<'a>(
        &'a mut self,
        actor: &'a mut dyn Actor,
        keys: &'a [Key],
        first: u32,
        each: &'a mut dyn FnMut(PlayedStep<'_>) -> bool,
    ) -> LocalFuture<'a, Result<()>> {
        Box::pin(async move {
            let Some(mut seen) = self.seen.take() else {
                return Err(Error::Program("environments have to begin before they are played".to_owned()));
            };
            let infos = actor.info().len();
            let mut number = first;
            loop {
                let mut acted = actor.act(&seen, number).await?;
                let fleet = self.executor.fleet();
                fleet.spec.action.limit(&mut acted.played);
                let num_envs = fleet.num_envs();
                fleet.expect("numbers of the actor's info", acted.info.len(), num_envs * infos)?;
                fleet.expect("numbers that the actor drew", acted.drawn.len(), num_envs * fleet.actions())?;
                let at: Vec<Key> = keys.iter().map(|key| fold_in(*key, number)).collect();
                let stepped = self.executor.step(&acted.played, &at).await?;
                let fleet = self.executor.fleet();
                fleet.expect_stepped(&stepped)?;
                actor.observe(&acted, &stepped).await?;
                self.env_steps += num_envs as u64;
                let goes_on = each(PlayedStep { fleet, observations: &seen, acted: &acted, stepped: &stepped });
                seen = stepped.observations;
                if !goes_on {
                    self.seen = Some(seen);
                    return Ok(());
                }
                number = number.checked_add(1).ok_or_else(endless)?;
            }
        })
    }
}

fn endless() -> Error {
    Error::Program("a collection took 2³² steps; is a time limit missing?".to_owned())
}
