//! The bridge to `quickstudy-core`: errors and sessions as the rest of the command line sees them.

use crate::metrics::Row;
use crate::outcome::{INTERRUPTED, NON_FINITE, Stop};
use crate::run::{Copied, Encode, Training};
use crate::segments::SegmentFolder;
use quickstudy_core::algo::Family;
use quickstudy_core::env::Classes;
use quickstudy_core::train::{Episode, Evaluation, Session, Snapshots};

/// The exit code and sentence for an error of the core.
impl From<quickstudy_core::Error> for Stop {
    fn from(error: quickstudy_core::Error) -> Self {
        use quickstudy_core::Error;
        let (kind, message) = (error.kind(), error.to_string());
        let stop = |code| Stop { code, kind, message, hint: String::new() };
        match error {
            Error::NonFinite(_) => stop(NON_FINITE),
            Error::Unknown { kind: "key", .. } => {
                stop(2).hint("`quickstudy list settings` explains those of each algorithm")
            }
            Error::Unknown { kind: "environment", name, .. } if is_id(&name) => stop(2).hint(format!(
                "an environment of Gymnasium is named gymnasium:{name}, one that a module registers gymnasium:MODULE:ID"
            )),
            Error::Unknown { .. } => stop(2).hint("`quickstudy list` shows what there is"),
            Error::ManyTasks(name) if name.starts_with("metaworld:") => {
                stop(2).hint("add ?task_per_episode=true to its name, and each episode has another task")
            }
            Error::Config { .. } | Error::ManyTasks(_) | Error::Snapshot(_) | Error::NewerSnapshot { .. } => stop(2),
            // What is known to be too much; an allocation that fails may succeed another time.
            Error::Memory(shortage) if shortage.limit.is_some() => {
                stop(2).hint("--memory says how much may be taken, without it what is free")
            }
            Error::Interrupted => {
                Stop { message: "stopped within an iteration, which is lost".to_owned(), ..stop(INTERRUPTED) }
            }
            Error::Lost(_) => stop(1).hint("run it again, or with --device cpu"),
            _ => stop(1),
        }
    }
}

/// True for names like those of Gymnasium: `CartPole-v1`.
fn is_id(name: &str) -> bool {
    let version = name.rsplit_once("-v").map(|(_, version)| version.chars().next());
    version.flatten().is_some_and(|first| first.is_ascii_digit())
}

impl Training for Session {
    fn step(&mut self) -> Result<Vec<(usize, Row)>, Stop> {
        let rows = pollster::block_on(Session::step(self))?;
        Ok(self.running().iter().copied().zip(rows).collect())
    }

    fn steps_made(&self, index: usize) -> u64 {
        Session::steps_made(self, index)
    }

    fn is_done(&self, index: usize) -> bool {
        Session::is_done(self, index)
    }

    fn adapts(&self) -> bool {
        self.setup().algorithm.family != Family::SingleTask
    }

    fn classes(&self) -> Option<&Classes> {
        self.setup().env.spec().classes.as_ref()
    }

    fn total_steps(&self) -> u64 {
        Session::total_steps(self)
    }

    fn snapshots(&self, seeds: &[usize]) -> Result<Box<dyn Copied + '_>, Stop> {
        Ok(Box::new(pollster::block_on(Session::snapshots_of(self, seeds))?))
    }

    fn policy_snapshots(&self, seeds: &[usize]) -> Result<Encode<'_>, Stop> {
        let copy = pollster::block_on(Session::policy_snapshots_of(self, seeds))?;
        Ok(Box::new(move |index| Ok(pollster::block_on(copy.encode(index))?)))
    }

    fn evaluate(&mut self, seeds: &[usize], played: Evaluation) -> Result<Vec<Vec<Episode>>, Stop> {
        Ok(pollster::block_on(Session::evaluate_seeds(self, seeds, played))?)
    }
}

impl Copied for Snapshots<'_> {
    fn parts(&self, index: usize, segments: &mut SegmentFolder) -> Result<Vec<u8>, Stop> {
        let mut part = Snapshots::parts(self, index, segments.saved())?;
        while let Some(rows) = pollster::block_on(part.rows())? {
            segments.append(&rows)?;
        }
        let (file, rings) = pollster::block_on(part.encode())?;
        segments.expect(rings);
        Ok(file)
    }

    fn whole(&self, index: usize) -> Result<Vec<u8>, Stop> {
        Ok(pollster::block_on(self.encode(index))?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::LOST;
    use quickstudy_core::{Error, Shortage};

    #[test]
    fn what_the_user_can_change_is_code_2() {
        let code = |error: Error| Stop::from(error).code;
        assert_eq!(code(Error::config("gamma", "2 is not in 0 to 1")), 2);
        assert_eq!(code(Error::unknown("environment", "cartpol", ["cartpole"])), 2);
        assert_eq!(code(Error::Snapshot("damaged".into())), 2);
        assert_eq!(code(Error::Device("gone".into())), 1);
        let lost = Stop::from(Error::Lost("the GPU was lost".into()));
        assert_eq!((lost.code, lost.kind), (1, LOST));
        assert_eq!(code(Error::NonFinite("loss".into())), 3);
        assert_eq!(code(Error::Interrupted), 130);
        let shortage = |limit| code(Error::Memory(Box::new(Shortage::new(2_000_000_000, limit))));
        assert_eq!((shortage(Some(1)), shortage(None)), (2, 1));
    }
}
