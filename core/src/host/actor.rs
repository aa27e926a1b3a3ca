//! Who acts in environments on the host.

use super::Stepped;
use crate::Result;
use crate::backend::LocalFuture;
use crate::rng::Key;

/// Actions for all environments of an executor.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Acted {
    /// The actions that the policy drew, `[M · E · A]`: learners need these.
    pub drawn: Vec<f64>,
    /// The actions that environments get, `[M · E · A]`: the same within the bounds of the action space.
    pub played: Vec<f64>,
    /// Values of [`Actor::info`], `[M · E · I]`.
    pub info: Vec<f64>,
}

/// A policy for environments on the host.
pub trait Actor {
    /// Names of what it reports about each action, such as `mean`.
    fn info(&self) -> &[String] {
        &[]
    }

    /// A collection begins, with new episodes everywhere. `keys`: one per group, those of the collection; draws belong to their
    /// stream [`ACTION`](crate::rng::streams::ACTION).
    ///
    /// # Errors
    /// If the device fails.
    fn begin(&mut self, _keys: &[Key]) -> Result<()> {
        Ok(())
    }

    /// The last actions and their outcome, for policies that remember.
    ///
    /// # Errors
    /// If the device fails.
    fn observe<'a>(&'a mut self, _acted: &'a Acted, _stepped: &'a Stepped) -> LocalFuture<'a, Result<()>> {
        Box::pin(async { Ok(()) })
    }

    /// Actions at `observations: [M · E · O]`, group by group. `step` counts the steps of this collection from 1.
    ///
    /// # Errors
    /// If the device fails.
    fn act<'a>(&'a mut self, observations: &'a [f64], step: u32) -> LocalFuture<'a, Result<Acted>>;
}
