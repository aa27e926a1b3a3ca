//! The room that a trace has for whole episodes.

use crate::{Error, Result};

/// The steps of each environment for which a play of whole episodes has room.
///
/// Work and memory of an iteration grow with it, and episodes may end long before their time limit. So a trace may have
/// room for fewer steps than there can be; where a play then needs more, the iteration is made again with more room.
/// Results do not depend on it: steps behind the last episode count nowhere, and zeros behind an axis change no sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// T, the steps for which there is room.
    pub steps: usize,
    /// The most steps that there can be, at least T.
    pub most: usize,
}

impl Room {
    /// True if a play may need more room.
    #[must_use]
    pub fn is_limited(self) -> bool {
        self.steps < self.most
    }
}

/// Room for all steps that there can be.
impl From<usize> for Room {
    fn from(most: usize) -> Room {
        Room { steps: most, most }
    }
}

/// The room that plays have needed, of that which a trace has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Needed {
    /// All plays had room, and the longest one has needed this number of steps; 0 if none was limited.
    Steps(usize),
    /// A play needs more room: for this number of steps, if that is known.
    More(Option<usize>),
}

/// The least number of steps for which a trace is given room.
const LEAST: usize = 16;
/// The number of steps for which the first trace has room.
pub(crate) const FIRST: usize = 64;

impl Needed {
    /// Counts a play that took this number of `steps`, or of which only is known that it had too little room: none.
    ///
    /// # Errors
    /// If it needs more room; the iteration goes no further.
    pub(super) fn met(&mut self, steps: Option<usize>) -> Result<()> {
        match (*self, steps) {
            (Needed::Steps(before), Some(steps)) => *self = Needed::Steps(before.max(steps)),
            (Needed::More(_), _) => {}
            (Needed::Steps(_), None) => *self = Needed::More(None),
        }
        self.expect_enough()
    }

    /// Counts a play that took this number of `steps`, with room for `room`.
    ///
    /// # Errors
    /// As [`met`](Needed::met).
    pub(super) fn met_or(&mut self, steps: usize, room: usize) -> Result<()> {
        if steps > room {
            *self = Needed::More(Some(steps));
            return self.expect_enough();
        }
        self.met(Some(steps))
    }

    fn expect_enough(self) -> Result<()> {
        match self {
            Needed::Steps(_) => Ok(()),
            Needed::More(_) => Err(Error::Program("whole episodes need more room than the trace has".to_owned())),
        }
    }

    /// The room for the next plays, after those that had room for `now` steps.
    ///
    /// It grows at once, and shrinks when a quarter would do: each change takes a trace and a compilation.
    pub(crate) fn next_room(self, now: usize) -> usize {
        let enough = |steps: usize| steps.next_power_of_two().max(LEAST);
        match self {
            Needed::Steps(0) => now,
            Needed::Steps(steps) if enough(steps).saturating_mul(4) <= now => 2 * enough(steps),
            Needed::Steps(_) => now,
            Needed::More(Some(steps)) => enough(steps).max(now.saturating_mul(2)),
            Needed::More(None) => now.saturating_mul(4),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_grows_to_what_is_needed_and_shrinks_where_a_quarter_would_do() {
        let cases = [
            (Needed::Steps(0), 64, 64),
            (Needed::Steps(17), 64, 64),
            (Needed::Steps(16), 64, 32),
            (Needed::Steps(3), 64, 32),
            (Needed::Steps(3), 32, 32),
            (Needed::Steps(100), 4096, 256),
            (Needed::More(None), 64, 256),
            (Needed::More(Some(65)), 64, 128),
            (Needed::More(Some(900)), 64, 1024),
        ];
        for (needed, now, next) in cases {
            assert_eq!(needed.next_room(now), next, "{needed:?} of {now}");
            // Where plays go on as they did, the room stays.
            if let Needed::Steps(steps) = needed {
                assert_eq!(Needed::Steps(steps).next_room(next), next, "{needed:?} of {next}");
            }
        }
    }
}
