//! The position of a host environment in its episode, as bytes.

use super::Fleet;
use crate::{Error, Result};

/// The position of an environment in its episode: all that a slot needs to go on as if it had never stopped.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct EpisodeState {
    /// Steps of the running episode; none before the first reset and after an error.
    pub steps: Option<u64>,
    /// The newest observation.
    pub seen: Vec<f64>,
    /// The last task that the environment accepted.
    pub task: Option<Vec<f64>>,
    /// The environment's own state, as it saved it.
    pub env: Vec<u8>,
}

impl EpisodeState {
    /// Appends the state to `to`.
    pub fn write(&self, to: &mut Vec<u8>) {
        write_count(to, self.steps.map_or(0, |steps| steps + 1));
        write_numbers(to, &self.seen);
        write_count(to, u64::from(self.task.is_some()));
        write_numbers(to, self.task.as_deref().unwrap_or_default());
        write_bytes(to, &self.env);
    }

    /// Reads a state that [`write`](EpisodeState::write) appended, and cuts its bytes off from `from`.
    pub fn read(from: &mut &[u8]) -> Result<EpisodeState> {
        let steps = read_count(from)?.checked_sub(1);
        let seen = read_numbers(from)?;
        let task = match (read_count(from)?, read_numbers(from)?) {
            (0, none) if none.is_empty() => None,
            (1, task) => Some(task),
            _ => return Err(cut_off()),
        };
        Ok(EpisodeState { steps, seen, task, env: read_bytes(from)?.to_vec() })
    }

    /// The reason why no environment of `fleet` can be in this position, if there is one.
    fn problem(&self, fleet: &Fleet) -> Option<String> {
        let horizon = fleet.horizon as u64;
        let numbers = |what: &str, numbers: &[f64], want: usize| match numbers.iter().find(|x| !x.is_finite()) {
            _ if numbers.len() != want => {
                Some(format!("has {} numbers in its {what} instead of {want}", numbers.len()))
            }
            Some(x) => Some(format!("has {x} in its {what}")),
            None => None,
        };
        match self.steps {
            None => Some("is in no episode".to_owned()),
            Some(steps) if steps >= horizon => {
                Some(format!("has made {steps} steps of a running episode, which ends after {horizon}"))
            }
            Some(_) => numbers("observation", &self.seen, fleet.observations())
                .or_else(|| numbers("task", self.task.as_ref()?, fleet.spec.task.len())),
        }
    }
}

/// Serialises the states of all environments, in order of their numbers, as one element per group.
pub(super) fn groups_of(states: &[EpisodeState], fleet: &Fleet) -> Vec<Vec<u8>> {
    let of_group = |states: &[EpisodeState]| {
        let mut bytes = Vec::new();
        states.iter().for_each(|state| state.write(&mut bytes));
        bytes
    };
    states.chunks(fleet.envs_per_task).map(of_group).collect()
}

/// Reads the states that [`groups_of`] serialised.
pub(super) fn states_of(groups: &[Vec<u8>], fleet: &Fleet) -> Result<Vec<EpisodeState>> {
    fleet.expect("saved groups", groups.len(), fleet.tasks)?;
    let mut states = Vec::with_capacity(fleet.num_envs());
    for group in groups {
        states.extend(states_of_group(group, fleet)?);
    }
    Ok(states)
}

/// Reads the states of one group, and checks that environments of `fleet` can be in them.
pub(super) fn states_of_group(mut group: &[u8], fleet: &Fleet) -> Result<Vec<EpisodeState>> {
    let wrong = |copy: usize, problem: &str| Error::Snapshot(format!("its environment {copy} {problem}"));
    let mut states = Vec::with_capacity(fleet.envs_per_task);
    for copy in 0..fleet.envs_per_task {
        let state = EpisodeState::read(&mut group).map_err(|_| wrong(copy, "is damaged"))?;
        if let Some(problem) = state.problem(fleet) {
            return Err(wrong(copy, &problem));
        }
        states.push(state);
    }
    match group.len() {
        0 => Ok(states),
        more => Err(Error::Snapshot(format!("it has {more} bytes behind its last environment"))),
    }
}

/// Appends a count to `to`.
fn write_count(to: &mut Vec<u8>, count: u64) {
    to.extend(count.to_le_bytes());
}

/// Appends the length of `numbers`, and then the numbers, to `to`.
pub(super) fn write_numbers(to: &mut Vec<u8>, numbers: &[f64]) {
    write_count(to, numbers.len() as u64);
    to.extend(numbers.iter().flat_map(|x| x.to_le_bytes()));
}

/// Appends the length of `bytes`, and then the bytes, to `to`.
pub(super) fn write_bytes(to: &mut Vec<u8>, bytes: &[u8]) {
    write_count(to, bytes.len() as u64);
    to.extend_from_slice(bytes);
}

fn read_count(from: &mut &[u8]) -> Result<u64> {
    let (count, rest) = from.split_first_chunk().ok_or_else(cut_off)?;
    *from = rest;
    Ok(u64::from_le_bytes(*count))
}

/// Reads bytes that [`write_bytes`] appended, and cuts them off from `from`.
pub(super) fn read_bytes<'a>(from: &mut &'a [u8]) -> Result<&'a [u8]> {
    let count = usize::try_from(read_count(from)?).map_err(|_| cut_off())?;
    let (bytes, rest) = from.split_at_checked(count).ok_or_else(cut_off)?;
    *from = rest;
    Ok(bytes)
}

/// Reads numbers that [`write_numbers`] appended, and cuts them off from `from`.
pub(super) fn read_numbers(from: &mut &[u8]) -> Result<Vec<f64>> {
    let count = usize::try_from(read_count(from)?).ok().and_then(|count| count.checked_mul(8)).ok_or_else(cut_off)?;
    let (bytes, rest) = from.split_at_checked(count).ok_or_else(cut_off)?;
    *from = rest;
    Ok(bytes.as_chunks().0.iter().map(|bytes| f64::from_le_bytes(*bytes)).collect())
}

/// The error for saved episodes that cannot be read.
pub(crate) fn cut_off() -> Error {
    Error::Snapshot("the saved episodes of environments of the host are damaged".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::env::{ActionSpace, Dim, EnvSpec};

    #[test]
    fn states_are_read_as_they_were_written_and_cut_ones_are_refused() {
        let begun = EpisodeState { steps: Some(3), seen: vec![0.1, -2.0], task: Some(vec![7.0]), env: vec![1, 2, 3] };
        let fresh = EpisodeState { steps: None, seen: Vec::new(), task: None, env: Vec::new() };
        let mut bytes = Vec::new();
        [&begun, &fresh].iter().for_each(|state| state.write(&mut bytes));
        let mut rest = &bytes[..];
        assert_eq!(EpisodeState::read(&mut rest), Ok(begun));
        assert_eq!((EpisodeState::read(&mut rest), rest.len()), (Ok(fresh.clone()), 0));
        let mut whole = Vec::new();
        fresh.write(&mut whole);
        for len in 0..whole.len() {
            assert!(EpisodeState::read(&mut &whole[..len]).is_err(), "{len}");
        }
    }

    #[test]
    fn states_that_no_environment_of_a_fleet_can_be_in_say_why() {
        let task = vec![Dim::new("goal", 0.0, 9.0)];
        let action = ActionSpace::discrete(&["wait"]);
        let spec = EnvSpec::new("line", vec![Dim::unbounded("x"); 2], action, 50).task(task);
        let fleet = Fleet::of(spec, Vec::new(), 1, 2, 20).unwrap();
        let good = EpisodeState { steps: Some(19), seen: vec![0.5, 1.0], task: Some(vec![7.0]), env: vec![1, 2, 3] };
        let bytes = |second: &EpisodeState| groups_of(&[good.clone(), second.clone()], &fleet).remove(0);
        let untold = EpisodeState { task: None, ..good.clone() };
        assert_eq!(states_of_group(&bytes(&untold), &fleet).unwrap(), [good.clone(), untold]);
        for (state, problem) in [
            (EpisodeState { steps: None, ..good.clone() }, "is in no episode"),
            (
                EpisodeState { steps: Some(20), ..good.clone() },
                "has made 20 steps of a running episode, which ends after",
            ),
            (EpisodeState { seen: vec![0.5], ..good.clone() }, "has 1 numbers in its observation instead of 2"),
            (EpisodeState { seen: vec![0.5, f64::NAN], ..good.clone() }, "has NaN in its observation"),
            (EpisodeState { task: Some(Vec::new()), ..good.clone() }, "has 0 numbers in its task instead of 1"),
            (EpisodeState { task: Some(vec![f64::INFINITY]), ..good.clone() }, "has inf in its task"),
        ] {
            let error = states_of_group(&bytes(&state), &fleet).unwrap_err().to_string();
            assert!(error.starts_with(&format!("snapshot: its environment 1 {problem}")), "{error}");
        }
        let more = [bytes(&good), vec![0; 3]].concat();
        let error = states_of_group(&more, &fleet).unwrap_err().to_string();
        assert_eq!(error, "snapshot: it has 3 bytes behind its last environment");
    }
}
