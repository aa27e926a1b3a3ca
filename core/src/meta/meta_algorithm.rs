//! The interface of algorithms for meta-tests.

use crate::Result;
use crate::backend::LocalFuture;
use crate::host::{Actor, Fleet, Samples};

/// A policy that can adapt to what it saw: `adapt_policy` of garage's `MetaRLAlgorithm`.
pub trait MetaPolicy: Actor {
    /// The policy after these episodes of its own, on the same tasks.
    ///
    /// # Errors
    /// If the episodes do not fit or the device fails.
    fn adapt<'a>(self: Box<Self>, episodes: &'a Samples) -> LocalFuture<'a, Result<Box<dyn MetaPolicy>>>;
}

/// An algorithm whose policies adapt.
pub trait MetaAlgorithm {
    /// Discount γ of its returns.
    fn discount(&self) -> f64;

    /// How often it explores and adapts in turn, such as once per inner gradient step.
    fn rounds(&self) -> usize {
        1
    }

    /// The policy before it knows anything of the tasks, each of which the fleet plays: `get_exploration_policy` of garage.
    ///
    /// # Errors
    /// If the fleet does not fit or the device fails.
    fn exploration_policy<'a>(&'a mut self, fleet: &'a Fleet) -> LocalFuture<'a, Result<Box<dyn MetaPolicy>>>;
}
