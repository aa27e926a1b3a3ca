//! Actors, which choose actions in environments on the host.

use super::Stepped;
use crate::Result;
use crate::backend::LocalFuture;
use crate::rng::Key;

/// One step's actions of all environments of an executor.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Acted {
    /// The actions that the policy drew, `[M · E · A]`: learners need these.
    pub drawn: Vec<f64>,
    /// The actions that environments get, `[M · E · A]`: those drawn, limited to the bounds of the action space.
    pub played: Vec<f64>,
    /// Values that the policy reports about each action, `[M · E · I]`, in the order of [`Actor::info`].
    pub info: Vec<f64>,
}

/// A policy for environments on the host.
pub trait Actor {
    /// Names of the values that it reports about each action, such as `mean`.
    fn info(&self) -> &[String] {
        &[]
    }

    /// Begins a collection, with new episodes everywhere. `keys` has one key per group, that of the collection; draws
    /// belong to its stream [`ACTION`](crate::rng::streams::ACTION).
    ///
    /// # Errors
    /// If the device fails.
    fn begin(&mut self, _keys: &[Key]) -> Result<()> {
        Ok(())
    }

    /// Shows the policy its last actions and their outcome; one without a memory ignores them.
    ///
    /// # Errors
    /// If the device fails.
    fn observe<'a>(&'a mut self, _acted: &'a Acted, _stepped: &'a Stepped) -> LocalFuture<'a, Result<()>> {
        Box::pin(async { Ok(()) })
    }

    /// Chooses actions at `observations: [M · E · O]`, group by group. `step`, from 1, is the number of
    /// the step in this collection.
    ///
    /// # Errors
    /// If the device fails.
    fn act<'a>(&'a mut self, observations: &'a [f64], step: u32) -> LocalFuture<'a, Result<Acted>>;
}
