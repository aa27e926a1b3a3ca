//! Environments stepping alone with random actions: their speed without policy, memory or framework.
#![allow(
    unsafe_code,
    reason = "functions compiled for an instruction set are called once the processor is known to have it"
)]

use super::block::Job;
use super::pack::{Pack, per_pack};
use crate::backend::cpu::simd::isa::Isa;
use crate::env::real::Bits;
use crate::env::{ActionSpace, Draws, EnvDef};
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

/// Environments that are stepped at once.
const GROUP: u32 = 32;

/// Steps of a group whose actions are drawn at once: few enough for the first cache.
const ROUNDS: u32 = 128;

impl EnvDef {
    /// Random actions for `steps` steps (rounded up to an even number) in `count` environments (to a multiple of
    /// 16). Actions are drawn before the steps and lie in the first cache; states stay in registers, and nothing is
    /// observed.
    #[must_use]
    pub fn random_steps(&self, isa: Isa, key: Key, count: u32, steps: u32, from: Source) -> RandomSteps {
        let spec = self.spec();
        let (count, steps) = (count.next_multiple_of(16), steps.next_multiple_of(2));
        let ranges = ranges(&spec.action);
        let mut total = RandomSteps::default();
        for group in (0..count).step_by(GROUP as usize) {
            let lanes = GROUP.min(count - group) as usize;
            let zeros = |width: usize| vec![0.0; width * lanes];
            let all = |key: Key| key.map(|word| vec![f32::from_bits(word); lanes]).concat();
            let elements =
                |first: u32| (0..lanes as u32).map(|i| f32::from_bits(first.wrapping_add(i))).collect::<Vec<_>>();
            let task: Vec<f32> = spec.task.iter().flat_map(|d| vec![((d.low + d.high) / 2.0) as f32; lanes]).collect();
            let tasks = (!task.is_empty()).then_some(&task[..]);
            let (mut state, mut seen) = (zeros(self.state_len()), zeros(spec.observation.len()));
            let (begin, element) = (all(fold_in(key, 2)), elements(group));
            let inputs: Vec<&[f32]> = [&begin[..], &element].into_iter().chain(tasks).collect();
            self.env.run(isa, Job::Reset, lanes, &inputs, &mut [&mut state, &mut seen]);
            let first = if from == Source::Cheap { state.clone() } else { Vec::new() };
            let mut register: Vec<f32> =
                element.iter().map(|word| f32::from_bits(word.to_bits() ^ (key[0] | 1))).collect();
            let (mut counts, mut actions) = (zeros(1), zeros(ranges.len() * ROUNDS as usize));
            let (mut next, mut next_counts, [mut reward, mut ended, mut none]) =
                (state.clone(), zeros(1), [zeros(1), zeros(1), zeros(1)]);
            let keys = all(fold_in(key, 1));
            for at in (0..steps).step_by(ROUNDS as usize) {
                let rounds = ROUNDS.min(steps - at);
                let actions = &mut actions[..ranges.len() * rounds as usize * lanes];
                let drawn = ActionRounds { key: fold_in(key, 0), group, at, rounds, from, ranges: &ranges };
                draw_any(isa, &drawn, lanes, &mut register, actions);
                // Every step of every environment draws under a number of its own.
                let element = elements(group.wrapping_add(at.wrapping_add(1).wrapping_mul(count)));
                let inputs: Vec<&[f32]> =
                    [&state[..], &counts, actions, &keys, &element, &first].into_iter().chain(tasks).collect();
                let mut outputs: [&mut [f32]; 7] =
                    [&mut next, &mut next_counts, &mut reward, &mut ended, &mut none, &mut [], &mut []];
                self.env.run(isa, Job::Rounds { rounds, count }, lanes, &inputs, &mut outputs);
                std::mem::swap(&mut state, &mut next);
                std::mem::swap(&mut counts, &mut next_counts);
                // In f64, before sums get too large for f32.
                total.reward += reward.iter().map(|&r| f64::from(r)).sum::<f64>();
                total.episodes += ended.iter().map(|n| u64::from(n.to_bits())).sum::<u64>();
                total.steps += u64::from(rounds) * lanes as u64;
            }
        }
        total
    }
}

/// Actions that are drawn for a group of environments from number `group` on, in some rounds from round `at` on.
struct ActionRounds<'a> {
    key: Key,
    group: u32,
    at: u32,
    rounds: u32,
    from: Source,
    ranges: &'a [Range],
}

per_pack! {
    /// Draws actions, `[rounds · A][lanes]`. The shift registers, one for each environment, go on.
    fn draw_any(drawn: &ActionRounds<'_>, lanes: usize, registers: &mut [f32], actions: &mut [f32]) = draw_lanes
}

#[inline(always)]
fn draw_lanes<P: Pack>(drawn: &ActionRounds<'_>, lanes: usize, registers: &mut [f32], actions: &mut [f32]) {
    let ActionRounds { key, group, at, rounds, from, ranges } = *drawn;
    let key = key.map(P::Bits::splat);
    // Blocks of random numbers for one action of several numbers.
    let width = ranges.len().div_ceil(2) as u32;
    for lane in (0..lanes).step_by(P::LANES) {
        let mut numbers = [0.0; 16];
        for (i, number) in numbers.iter_mut().enumerate() {
            *number = f32::from_bits(group.wrapping_add((lane + i) as u32));
        }
        let (element, mut register) = (P::load_bits(&numbers), P::load_bits(&registers[lane..]));
        for t in 0..rounds {
            let to = t as usize * ranges.len() * lanes + lane;
            if let [range] = ranges {
                // Both words of each block are used.
                if t % 2 == 1 {
                    continue;
                }
                let words = match from {
                    Source::Cheap => {
                        register = register.xor(register.shl(13));
                        register = register.xor(register.shr(17));
                        register = register.xor(register.shl(5));
                        [register, register.shl(16)]
                    }
                    Source::Threefry => P::Bits::threefry(key, [element, P::Bits::splat((at + t) / 2)]),
                };
                range.pick::<P>(words[0]).store(&mut actions[to..]);
                range.pick::<P>(words[1]).store(&mut actions[to + lanes..]);
            } else {
                let mut draws = Draws::<P>::new(key, element, (1 << 31) + (at + t) * width);
                for (i, range) in ranges.iter().enumerate() {
                    range.pick::<P>(draws.bits()).store(&mut actions[to + i * lanes..]);
                }
            }
        }
        P::store_bits(register, &mut registers[lane..]);
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
