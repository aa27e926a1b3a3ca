//! The rule by which a run ends, as headers of snapshots have it.

use serde::{Deserialize, Serialize};

use crate::train::setup::length::Length;

/// The rule by which a run of a number of steps ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(in crate::train) enum EndRule {
    /// After the iterations that are planned to make the steps. It is the rule of earlier versions, whose files name
    /// none.
    #[default]
    Planned,
    /// With the iteration in which the steps are made.
    Made,
    /// After so many iterations, which are planned to make the steps. Versions that do not know the rule refuse it.
    Iterations(u64),
}

impl EndRule {
    /// The length of a run that ends by this rule, where its file says `steps`.
    pub(in crate::train) fn length(self, steps: u64) -> Length {
        match self {
            EndRule::Planned | EndRule::Made => Length::Steps(steps),
            EndRule::Iterations(iterations) => Length::Iterations(iterations),
        }
    }

    /// True of the rule of earlier versions.
    pub(in crate::train) fn is_planned(&self) -> bool {
        *self == EndRule::Planned
    }
}
