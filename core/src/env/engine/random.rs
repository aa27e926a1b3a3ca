//! Environments stepping alone with random actions: their speed without policy, memory or framework.

use super::pack::Pack;
use super::step::{Begin, StepParts};
use crate::env::real::Bits;
use crate::env::{ActionSpace, Draws, EnvSpec};
use crate::rng::{Key, fold_in};

/// Where random actions and first states come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The generator of training: threefry, both words of each block used.
    Threefry,
    /// A shift register for actions, the same first state for every episode: what is left is the environment's own
    /// work.
    Cheap,
}

/// Totals of random stepping.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RandomSteps {
    /// Environment steps.
    pub steps: u64,
    /// Episodes that ended.
    pub episodes: u64,
    /// Sum of all rewards.
    pub reward: f64,
}

/// Random steps of a block of environments.
#[derive(Clone, Copy, Debug)]
pub(in crate::env) struct Random {
    pub key: Key,
    /// Environments of the block.
    pub count: u32,
    /// Steps of each; an odd number makes one more.
    pub steps: u32,
    pub from: Source,
}

/// Random actions of one group of lanes after the other, and what their steps add up to.
///
/// A group makes rounds: the first begins its episodes, each of the others is a step.
pub(in crate::env) struct RandomActions<P: Pack> {
    random: Random,
    ranges: Vec<Range>,
    /// Blocks of random numbers for one action of several numbers.
    width: u32,
    action_key: [P::Bits; 2],
    group: P::Bits,
    register: P::Bits,
    words: [P::Bits; 2],
    reward: P,
    ended: P::Bits,
    total: RandomSteps,
}

impl<P: Pack> RandomActions<P> {
    #[inline(always)]
    pub fn new(random: Random, spec: &EnvSpec) -> Self {
        let (ranges, none) = (ranges(&spec.action), P::Bits::splat(0));
        RandomActions {
            random,
            width: ranges.len().div_ceil(2) as u32,
            ranges,
            action_key: fold_in(random.key, 0).map(P::Bits::splat),
            group: none,
            register: none,
            words: [none; 2],
            reward: P::lit(0.0),
            ended: none,
            total: RandomSteps::default(),
        }
    }

    /// Writes the task in the middle of its ranges.
    #[inline(always)]
    pub fn middle_of(&self, spec: &EnvSpec, task: &mut [P]) {
        for (number, dim) in task.iter_mut().zip(&spec.task) {
            *number = P::lit((dim.low + dim.high) / 2.0);
        }
    }

    /// The rounds of a group.
    #[inline(always)]
    pub fn rounds(&self) -> u32 {
        1 + self.random.steps.next_multiple_of(2)
    }

    /// The parts of a step that a round makes.
    #[inline(always)]
    pub fn parts(&self, round: u32, of_step: StepParts) -> StepParts {
        if round == 0 { StepParts { step: false, begin: Begin::All, ..of_step } } else { of_step }
    }

    /// Draws the actions of a round for the environments from number `at` on. Gives the key and the elements of the
    /// environments' own random numbers.
    #[inline(always)]
    pub fn draw(&mut self, round: u32, at: usize, action: &mut [P]) -> ([P::Bits; 2], P::Bits) {
        let Random { key, count, from, .. } = self.random;
        if round == 0 {
            self.group = P::count_from(at as u32);
            self.register = self.group.xor(P::Bits::splat(key[0] | 1));
            return (fold_in(key, 2).map(P::Bits::splat), self.group);
        }
        let t = round - 1;
        if t % 2 == 0 {
            self.words = match from {
                Source::Cheap => {
                    self.register = self.register.xor(self.register.shl(13));
                    self.register = self.register.xor(self.register.shr(17));
                    self.register = self.register.xor(self.register.shl(5));
                    [self.register, self.register.shl(16)]
                }
                Source::Threefry => P::Bits::threefry(self.action_key, [self.group, P::Bits::splat(t / 2)]),
            };
        }
        if let ([action], [range]) = (&mut *action, &self.ranges[..]) {
            *action = range.pick(if t % 2 == 0 { self.words[0] } else { self.words[1] });
        } else {
            let mut draws = Draws::<P>::new(self.action_key, self.group, (1 << 31) + t * self.width);
            for (action, range) in action.iter_mut().zip(&self.ranges) {
                *action = range.pick(draws.bits());
            }
        }
        // Every step of every environment draws under a number of its own.
        let step = P::Bits::splat(t.wrapping_add(1).wrapping_mul(count));
        (fold_in(key, 1).map(P::Bits::splat), self.group.add(step))
    }

    /// Counts a round. Gives the first state of later episodes, if all begin alike.
    #[inline(always)]
    pub fn note<S: Copy>(&mut self, round: u32, first: Option<S>, state: S, reward: P, ended: P::Mask) -> Option<S> {
        if round == 0 {
            return (self.random.from == Source::Cheap).then_some(state);
        }
        self.reward = self.reward + reward;
        self.ended = self.ended.add(P::mask_bits(ended));
        if round + 1 == self.rounds() || round % 128 == 0 {
            self.drain(round + 1 == self.rounds());
        }
        first
    }

    /// Adds rewards in f64 before they get too large for f32, and at the end of a group its episodes and steps.
    #[inline(always)]
    fn drain(&mut self, end: bool) {
        let mut lanes = [0.0; 16];
        self.reward.store(&mut lanes);
        self.total.reward += lanes[..P::LANES].iter().map(|&r| f64::from(r)).sum::<f64>();
        self.reward = P::lit(0.0);
        if end {
            P::store_bits(self.ended, &mut lanes);
            self.total.episodes += lanes[..P::LANES].iter().map(|n| u64::from(n.to_bits())).sum::<u64>();
            self.total.steps += u64::from(self.rounds() - 1) * P::LANES as u64;
            self.ended = P::Bits::splat(0);
        }
    }

    /// The sums of all groups.
    #[inline(always)]
    pub fn total(self) -> RandomSteps {
        self.total
    }
}

/// How one number of an action is drawn.
pub(in crate::env) enum Range {
    Choice { count: f64 },
    Interval { low: f64, width: f64 },
}

pub(in crate::env) fn ranges(action: &ActionSpace) -> Vec<Range> {
    match action {
        ActionSpace::Discrete { names } => vec![Range::Choice { count: names.len() as f64 }],
        ActionSpace::Box { dims } => {
            dims.iter().map(|d| Range::Interval { low: d.low, width: d.high - d.low }).collect()
        }
    }
}

impl Range {
    #[inline(always)]
    pub(in crate::env) fn pick<P: Pack>(&self, word: P::Bits) -> P {
        let uniform = P::uniform(word);
        match *self {
            Self::Choice { count } => (uniform * P::lit(count)).floor().min(P::lit(count - 1.0)),
            Self::Interval { low, width } => uniform * P::lit(width) + P::lit(low),
        }
    }
}
