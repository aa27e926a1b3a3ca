//! The running episodes of one run's groups of environments, as bytes.

use super::FleetSize;
use super::episode_state::{read_bytes, read_numbers, write_bytes};
use crate::Result;

/// Joins the saved episodes of groups, each with the observations that it acts on next in front.
pub(crate) fn joined(groups: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = Vec::new();
    groups.iter().for_each(|group| write_bytes(&mut bytes, group));
    bytes
}

/// Takes apart what [`joined`] joined.
///
/// # Errors
/// If bytes are missing.
pub(crate) fn split(mut bytes: &[u8]) -> Result<Vec<&[u8]>> {
    let mut groups = Vec::new();
    while !bytes.is_empty() {
        groups.push(read_bytes(&mut bytes)?);
    }
    Ok(groups)
}

/// The reason why these are no episodes of groups of this size, with observations of this length, if there is one. All
/// is looked at but what an executor adds of its own.
pub(crate) fn problem(bytes: &[u8], size: FleetSize, observation: usize) -> Option<String> {
    let Ok(groups) = split(bytes) else { return Some("is cut off".to_owned()) };
    let FleetSize { tasks, envs_per_task, .. } = size;
    if groups.len() != tasks {
        return Some(format!("has {} groups of environments, and these settings play {tasks}", groups.len()));
    }
    let of_group = |(group, mut bytes): (usize, &[u8])| {
        let Ok(seen) = read_numbers(&mut bytes) else { return Some(format!("is cut off in group {group}")) };
        let want = envs_per_task * observation;
        match seen.iter().find(|x| !x.is_finite()) {
            _ if seen.len() != want => Some(format!(
                "has {} observed numbers in group {group}, and {envs_per_task} environments observe {want}",
                seen.len()
            )),
            Some(x) => Some(format!("holds {x} among the observations of group {group}")),
            None => None,
        }
    };
    groups.into_iter().enumerate().find_map(of_group)
}
