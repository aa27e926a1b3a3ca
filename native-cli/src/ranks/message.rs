//! Messages between ranks: a line of JSON, and bytes behind it.

use super::Team;
use crate::json::train::TrainLine;
use crate::outcome::Stop;
use quickstudy_core::backend::Ranks as _;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::ffi::OsString;

/// An order of rank 0.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Order {
    /// Make the session that the command asks for.
    Begin {
        /// Looks for gradients that are not finite.
        debug: bool,
    },
    /// Make a session of the snapshots that follow, of these lengths, for a run of so many steps or iterations.
    Restore {
        /// The lengths of the snapshots.
        lengths: Vec<usize>,
        /// Environment steps that the run is to make.
        steps: u64,
        /// Iterations that it is to make, if it is as long as these say.
        iterations: Option<u64>,
        /// Looks for gradients that are not finite.
        debug: bool,
    },
    /// Make an iteration.
    Step,
    /// Give the snapshots of these seeds.
    Save(Vec<usize>),
    /// Drop the session.
    Leave,
    /// Run a training as a process.
    Job(usize, Job),
    /// Pass a Ctrl-C on to all processes.
    Press,
    /// End.
    End,
}

/// A thing that happened to a training that a rank runs as a process.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum JobReport {
    /// The process printed a line of JSON.
    Line(usize, TrainLine),
    /// It said something to people.
    Said(usize, String),
    /// It has ended.
    Ended(usize, Ending),
}

/// The way in which a process ended.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Ending {
    /// As [`JobEnd::Finished`].
    Finished,
    /// As [`JobEnd::Stopped`].
    Stopped,
    /// As [`JobEnd::Failed`]: exit code, message and hint.
    Failed(u8, String, String),
}

impl From<JobEnd> for Ending {
    fn from(end: JobEnd) -> Self {
        match end {
            JobEnd::Finished => Self::Finished,
            JobEnd::Stopped => Self::Stopped,
            JobEnd::Failed(stop) => Self::Failed(stop.code, stop.message, stop.hint),
        }
    }
}

impl From<Ending> for JobEnd {
    fn from(ending: Ending) -> Self {
        match ending {
            Ending::Finished => Self::Finished,
            Ending::Stopped => Self::Stopped,
            Ending::Failed(code, message, hint) => Self::Failed(Stop { code, hint, ..Stop::failure(message) }),
        }
    }
}

/// The bytes of a message, with `more` behind it.
pub(crate) fn write(message: &impl Serialize, more: &[&[u8]]) -> Vec<u8> {
    // All fields are numbers, texts and lists of them.
    let mut bytes = serde_json::to_vec(message).unwrap_or_default();
    bytes.push(b'\n');
    more.iter().for_each(|part| bytes.extend_from_slice(part));
    bytes
}

/// The message in these bytes, and what is behind it; none if it is of another version of this program.
pub(crate) fn read<T: DeserializeOwned>(bytes: &[u8]) -> Option<(T, &[u8])> {
    let end = bytes.iter().position(|byte| *byte == b'\n')?;
    Some((serde_json::from_slice(&bytes[..end]).ok()?, &bytes[end + 1..]))
}

/// Orders all other ranks.
pub(crate) fn order(team: &Team, order: &Order, more: &[&[u8]]) {
    let message = write(order, more);
    (1..team.count()).for_each(|rank| team.send(rank, &message));
}

/// Lets all other ranks go.
pub(crate) fn dismiss(team: &Team) {
    order(team, &Order::End, &[]);
}

/// A training of some seeds.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Job {
    /// Its name in tables: `cartpole · ppo`.
    pub name: String,
    /// The algorithm.
    pub algorithm: String,
    /// The environment.
    pub environment: String,
    /// The number of runs that it trains.
    pub runs: usize,
    /// Environment steps that each of them is to make in all.
    pub steps: u64,
    /// True if it stops by itself before its runs have made all steps, and goes on later.
    pub pauses: bool,
    /// Arguments of the command line, from the verb on.
    pub arguments: Vec<OsString>,
}

/// How a job ended.
#[derive(Debug)]
pub(crate) enum JobEnd {
    /// Its runs have made all their steps.
    Finished,
    /// It was stopped before, with snapshots, or was not begun.
    Stopped,
    /// It failed.
    Failed(Stop),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_arrive_as_they_were_sent() {
        let order = Order::Restore { lengths: vec![3, 2], steps: 7, iterations: None, debug: true };
        let bytes = write(&order, &[b"a\nb", b"cd"]);
        let (got, more) = read::<Order>(&bytes).unwrap();
        assert_eq!((format!("{got:?}"), more), (format!("{order:?}"), &b"a\nbcd"[..]));
        let job = Job {
            name: "a · b".into(),
            algorithm: "ppo".into(),
            environment: "cartpole".into(),
            runs: 2,
            steps: 100,
            pauses: false,
            arguments: vec!["train".into(), "--out=a b".into()],
        };
        let bytes = write(&Order::Job(4, job.clone()), &[]);
        let Some((Order::Job(4, got), _)) = read::<Order>(&bytes) else { panic!("no job") };
        assert_eq!(format!("{got:?}"), format!("{job:?}"));
        assert!(read::<Order>(b"no line").is_none() && read::<Order>(b"{}\n").is_none());
    }
}
