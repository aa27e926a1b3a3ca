//! Random actions of many steps, drawn beside these in registers.
#![cfg_attr(not(feature = "standalone"), expect(dead_code, reason = "random steps are for benchmarks"))]

use super::pack::Pack;
use crate::env::real::Bits;
use crate::env::{ActionSpace, Dim};
use crate::rng::Key;

/// Where random actions and first states come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The generator of training: threefry, both words of each block used.
    Threefry,
    /// A shift register for actions, the same first state for every episode: what is left is the environment's own
    /// work.
    Cheap,
}

/// Steps with random actions that one run makes of each environment.
#[derive(Clone, Copy, Debug)]
pub(in crate::env) struct Rounds<'a> {
    /// How many.
    pub repeat: u32,
    /// Each step's element is this much higher than that of the step before.
    pub count: u32,
    pub from: Source,
    pub key: Key,
    /// Number of the first block of two random words.
    pub block: u32,
    pub ranges: &'a [Range],
}

/// Random words of some environments.
pub(in crate::env) struct RandomActions<P: Pack> {
    /// The number of each environment, or its shift register.
    source: P::Bits,
    /// Number of the next block.
    block: u32,
    /// The second word of the block before, if it was not used.
    word: Option<P::Bits>,
}

impl<P: Pack> RandomActions<P> {
    #[inline(always)]
    pub fn new(source: P::Bits, block: u32) -> Self {
        Self { source, block, word: None }
    }

    /// Draws the next action of each environment.
    #[inline(always)]
    pub fn draw(&mut self, rounds: &Rounds<'_>, action: &mut [P]) {
        for (number, range) in action.iter_mut().zip(rounds.ranges) {
            let word = match self.word.take() {
                Some(word) => word,
                None => {
                    let [first, second] = match rounds.from {
                        Source::Threefry => {
                            let key = rounds.key.map(P::Bits::splat);
                            P::Bits::threefry(key, [self.source, P::Bits::splat(self.block)])
                        }
                        Source::Cheap => {
                            let register = self.source.xor(self.source.shl(13));
                            let register = register.xor(register.shr(17));
                            self.source = register.xor(register.shl(5));
                            [self.source, self.source.shl(16)]
                        }
                    };
                    self.block = self.block.wrapping_add(1);
                    self.word = Some(second);
                    first
                }
            };
            *number = range.pick(word);
        }
    }
}

/// How one number of an action is drawn.
#[derive(Clone, Copy, Debug)]
pub(in crate::env) enum Range {
    /// One of so many whole numbers from the lowest on.
    Choice {
        low: f32,
        count: f32,
    },
    Interval {
        low: f32,
        width: f32,
    },
}

pub(in crate::env) fn ranges(action: &ActionSpace) -> Vec<Range> {
    match action {
        ActionSpace::Discrete { .. } | ActionSpace::MultiDiscrete { .. } => {
            let counts = action.counts().unwrap_or_default();
            counts.into_iter().map(|count| Range::Choice { low: 0.0, count: count as f32 }).collect()
        }
        ActionSpace::Box { dims } => {
            let range = |d: &Dim| match (d.low as f32, (d.high - d.low) as f32) {
                (low, width) if d.whole => Range::Choice { low, count: width + 1.0 },
                (low, width) => Range::Interval { low, width },
            };
            dims.iter().map(range).collect()
        }
    }
}

impl Range {
    #[inline(always)]
    pub(in crate::env) fn pick<P: Pack>(&self, word: P::Bits) -> P {
        let uniform = P::uniform(word);
        match *self {
            Self::Choice { low, count } => {
                let number = (uniform * P::lit(count.into())).floor().min(P::lit((count - 1.0).into()));
                number + P::lit(low.into())
            }
            Self::Interval { low, width } => uniform * P::lit(width.into()) + P::lit(low.into()),
        }
    }
}
