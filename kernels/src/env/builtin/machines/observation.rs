//! Numbers that are observed.

use crate::env::Dim;

/// Observed sines and cosines.
pub(super) fn circle(names: &[&str]) -> Vec<Dim> {
    names.iter().map(|name| Dim::new(*name, -1.0, 1.0)).collect()
}

/// Observed numbers without bounds: a last state is beyond those of its episode.
pub(super) fn free(names: &[&str]) -> Vec<Dim> {
    names.iter().map(|name| Dim::unbounded(*name)).collect()
}
