//! The rule by which a run ends, as headers of snapshots have it.

use serde::{Deserialize, Serialize};

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
}

impl EndRule {
    /// True of the rule of earlier versions.
    pub(in crate::train) fn is_planned(&self) -> bool {
        *self == EndRule::Planned
    }
}
