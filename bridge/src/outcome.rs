//! The outcome of a step of one worker's environments, as it lies in the message.

use crate::failure::{Failure, Raised};
use crate::message::{HEAD, numbers};

/// Bytes of what one environment has raised, as JSON, at most.
const LONGEST_EXCEPTION: usize = 1 << 16;
const TERMINATED: u8 = 1;
const FAILED: u8 = 4;

/// The outcome of a reset or of a step of n environments. The message's numbers stay where they are.
#[derive(Clone, Debug)]
pub(crate) struct Outcome<'a> {
    rewards: &'a [u8],
    observations: &'a [u8],
    flags: &'a [u8],
    success: &'a [u8],
    last: &'a [u8],
    /// Exceptions of environments.
    pub raised: Vec<Raised>,
    /// O.
    width: usize,
}

/// How an environment's step ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// The episode goes on.
    None,
    Terminated,
    Truncated,
    /// The step failed, and the environment was replaced.
    Failed,
}

impl<'a> Outcome<'a> {
    /// Bytes of a message of `n` environments at most.
    pub fn longest(n: usize, width: usize) -> usize {
        HEAD + n * (16 * width + 10) + 8 + n * LONGEST_EXCEPTION
    }

    /// Reads the message of `n` environments with observations of `width` numbers.
    pub fn read(message: &'a [u8], n: usize, width: usize) -> Result<Outcome<'a>, Failure> {
        let short = || Failure::garbled("fewer numbers than there are");
        let mut rest = message.get(HEAD..).ok_or_else(short)?;
        let mut take = |bytes: usize| {
            let (taken, others) = rest.split_at_checked(bytes).ok_or_else(short)?;
            rest = others;
            Ok::<_, Failure>(taken)
        };
        let (rewards, observations) = (take(8 * n)?, take(8 * n * width)?);
        let (flags, success) = (take(n)?, take(n)?);
        take((2 * n).next_multiple_of(8) - 2 * n)?;
        let ended = flags.iter().filter(|flag| **flag != 0).count();
        let last = take(8 * ended * width)?;
        let raised = match rest {
            [] => Vec::new(),
            json => serde_json::from_slice(json).map_err(|_| Failure::garbled("bytes behind its numbers"))?,
        };
        let raised: Vec<Raised> = raised;
        if raised.iter().any(|raised| raised.env.is_none_or(|env| env >= n)) {
            return Err(Failure::garbled("an exception of no environment"));
        }
        let all = numbers(rewards).chain(numbers(observations)).chain(numbers(last));
        match all.into_iter().all(f64::is_finite) {
            true => Ok(Outcome { rewards, observations, flags, success, last, raised, width }),
            false => Err(Failure::garbled("a number that is not finite")),
        }
    }

    pub fn rewards(&self) -> impl Iterator<Item = f64> + '_ {
        numbers(self.rewards)
    }

    /// The observations to act on next, `[n · O]`.
    pub fn observations(&self) -> impl Iterator<Item = f64> + '_ {
        numbers(self.observations)
    }

    /// How each environment's step ended.
    pub fn ends(&self) -> impl Iterator<Item = End> + '_ {
        self.flags.iter().map(|flags| match flags {
            0 => End::None,
            flags if flags & FAILED != 0 => End::Failed,
            flags if flags & TERMINATED != 0 => End::Terminated,
            _ => End::Truncated,
        })
    }

    /// 1 where a step was a success, otherwise 0.
    pub fn success(&self) -> impl Iterator<Item = f64> + '_ {
        self.success.iter().map(|success| f64::from(u8::from(*success != 0)))
    }

    /// The last observation of the episode that is the `nth` of those which ended.
    pub fn last(&self, nth: usize) -> impl Iterator<Item = f64> + '_ {
        let row = 8 * self.width;
        numbers(&self.last[nth * row..(nth + 1) * row])
    }
}
