//! The rule by which a run is finished, as headers of snapshots have it.

use serde::{Deserialize, Serialize};

/// The rule by which a run of so many steps ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(in crate::train) enum EndRule {
    /// After the iterations that are planned to make them, as earlier versions had it, whose files do not tell.
    #[default]
    Planned,
    /// With the iteration in which they are made.
    Made,
}

impl EndRule {
    /// True of files of earlier versions.
    pub(in crate::train) fn is_planned(&self) -> bool {
        *self == EndRule::Planned
    }
}
