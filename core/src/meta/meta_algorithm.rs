//! The interface that algorithms offer to meta-tests on the host.

use crate::Result;
use crate::backend::LocalFuture;
use crate::host::{Actor, Fleet, Samples};

/// A policy that can adapt to episodes of its own; `adapt_policy` of garage's `MetaRLAlgorithm`.
pub trait MetaPolicy: Actor {
    /// Adapts the policy to these episodes, which it has played on the same tasks.
    ///
    /// # Errors
    /// If the episodes do not fit or the device fails.
    fn adapt<'a>(self: Box<Self>, episodes: &'a Samples) -> LocalFuture<'a, Result<Box<dyn MetaPolicy>>>;
}

/// An algorithm whose policies adapt.
pub trait MetaAlgorithm {
    /// The discount γ of its returns.
    fn discount(&self) -> f64;

    /// Rounds of exploration and adaptation, such as one per inner gradient step.
    fn rounds(&self) -> usize {
        1
    }

    /// The policy before it has seen anything of the tasks, one of which each group of the fleet
    /// plays; `get_exploration_policy` of garage.
    ///
    /// # Errors
    /// If the fleet does not fit or the device fails.
    fn exploration_policy<'a>(&'a mut self, fleet: &'a Fleet) -> LocalFuture<'a, Result<Box<dyn MetaPolicy>>>;
}
