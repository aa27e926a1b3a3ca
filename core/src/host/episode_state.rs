//! Where an environment of the host is in its episode, as bytes.

use crate::{Error, Result};

/// Where an environment is in its episode: all that a slot needs to go on as if it had never stopped.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct EpisodeState {
    /// Steps of the running episode; none before the first one.
    pub steps: Option<u64>,
    /// The newest observation.
    pub seen: Vec<f64>,
    /// The task that was last set.
    pub task: Option<Vec<f64>>,
    /// The environment's own state, as it saved it.
    pub env: Vec<u8>,
}

impl EpisodeState {
    /// Puts it behind other bytes.
    pub fn write(&self, to: &mut Vec<u8>) {
        write_count(to, self.steps.map_or(0, |steps| steps + 1));
        write_numbers(to, &self.seen);
        write_count(to, u64::from(self.task.is_some()));
        write_numbers(to, self.task.as_deref().unwrap_or_default());
        write_bytes(to, &self.env);
    }

    /// The inverse of [`write`](EpisodeState::write); the bytes that it took are cut off.
    pub fn read(from: &mut &[u8]) -> Result<EpisodeState> {
        let steps = read_count(from)?.checked_sub(1);
        let seen = read_numbers(from)?;
        let (has_task, task) = (read_count(from)? > 0, read_numbers(from)?);
        Ok(EpisodeState { steps, seen, task: has_task.then_some(task), env: read_bytes(from)?.to_vec() })
    }
}

/// Puts a count behind other bytes.
fn write_count(to: &mut Vec<u8>, count: u64) {
    to.extend(count.to_le_bytes());
}

/// Puts numbers, and how many there are, behind other bytes.
pub(super) fn write_numbers(to: &mut Vec<u8>, numbers: &[f64]) {
    write_count(to, numbers.len() as u64);
    to.extend(numbers.iter().flat_map(|x| x.to_le_bytes()));
}

/// Puts bytes, and how many there are, behind others.
pub(crate) fn write_bytes(to: &mut Vec<u8>, bytes: &[u8]) {
    write_count(to, bytes.len() as u64);
    to.extend_from_slice(bytes);
}

fn read_count(from: &mut &[u8]) -> Result<u64> {
    let (count, rest) = from.split_first_chunk().ok_or_else(cut_off)?;
    *from = rest;
    Ok(u64::from_le_bytes(*count))
}

/// The inverse of [`write_bytes`].
pub(crate) fn read_bytes<'a>(from: &mut &'a [u8]) -> Result<&'a [u8]> {
    let count = usize::try_from(read_count(from)?).map_err(|_| cut_off())?;
    let (bytes, rest) = from.split_at_checked(count).ok_or_else(cut_off)?;
    *from = rest;
    Ok(bytes)
}

/// The inverse of [`write_numbers`].
pub(super) fn read_numbers(from: &mut &[u8]) -> Result<Vec<f64>> {
    let count = usize::try_from(read_count(from)?).ok().and_then(|count| count.checked_mul(8)).ok_or_else(cut_off)?;
    let (bytes, rest) = from.split_at_checked(count).ok_or_else(cut_off)?;
    *from = rest;
    Ok(bytes.as_chunks().0.iter().map(|bytes| f64::from_le_bytes(*bytes)).collect())
}

/// The error that saved episodes are no such.
pub(crate) fn cut_off() -> Error {
    Error::Snapshot("the saved episodes of environments of the host are damaged".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
