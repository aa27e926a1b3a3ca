//! Environments stepping alone with random actions: what they can do at most, without policy, memory or framework.
#![allow(
    unsafe_code,
    reason = "functions compiled for an instruction set are called once the processor is known to have it"
)]

use super::pack::{Pack, per_pack};
use super::step::first_state;
use crate::backend::cpu::simd::isa::Isa;
use crate::env::fields::Fields;
use crate::env::real::{Bits, Mask};
use crate::env::{ActionSpace, Draws, Env, EnvSpec, STEP_BLOCK};
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

per_pack! {
    /// `count` environments for `steps` steps each, see [`super::EnvDef::random_steps`].
    pub(in crate::env) fn random_steps<E: Env>(
        env: &E,
        spec: &EnvSpec,
        key: Key,
        count: u32,
        steps: u32,
        from: Source,
    ) -> RandomSteps = random_lanes
}

/// One group of lanes on its way.
struct LaneGroup<E: Env, P: Pack> {
    state: E::State<P>,
    first: E::State<P>,
    steps: P::Bits,
    reward: P,
    ended: P::Bits,
}

/// Data that all groups share.
struct LaneInputs<'a, E, P> {
    env: &'a E,
    task: &'a [P],
    key: Key,
    horizon: u32,
    from: Source,
}

#[inline(always)]
fn random_lanes<E: Env, P: Pack>(
    env: &E,
    spec: &EnvSpec,
    key: Key,
    count: u32,
    steps: u32,
    from: Source,
) -> RandomSteps {
    let task: Vec<P> = spec.task.iter().map(|d| P::lit((d.low + d.high) / 2.0)).collect();
    let horizon = u32::try_from(spec.horizon).unwrap_or(u32::MAX);
    let shared = LaneInputs { env, task: &task, key: fold_in(key, 1), horizon, from };
    let ranges = ranges(&spec.action);
    let mut action = vec![P::lit(0.0); ranges.len()];
    let action_key = fold_in(key, 0).map(P::Bits::splat);
    let width = ranges.len().div_ceil(2) as u32; // blocks of one action of several numbers
    let (count, pairs) = (count.next_multiple_of(16), steps.div_ceil(2));
    let mut total = RandomSteps::default();
    for group in (0..count).step_by(P::LANES) {
        let element = P::count_from(group);
        let first = first_state(env, &task, fold_in(key, 2).map(P::Bits::splat), element);
        let mut now = LaneGroup::<E, P> {
            state: first,
            first,
            steps: P::Bits::splat(0),
            reward: P::lit(0.0),
            ended: P::Bits::splat(0),
        };
        let mut register = element.xor(P::Bits::splat(key[0] | 1));
        for pair in 0..pairs {
            let words = if from == Source::Cheap {
                register = register.xor(register.shl(13));
                register = register.xor(register.shr(17));
                register = register.xor(register.shl(5));
                [register, register.shl(16)]
            } else {
                P::Bits::threefry(action_key, [element, P::Bits::splat(pair)])
            };
            for (half, word) in words.into_iter().enumerate() {
                let t = 2 * pair + half as u32;
                if let ([action], [range]) = (&mut action[..], &ranges[..]) {
                    *action = range.pick(word);
                } else {
                    let mut draws = Draws::<P>::new(action_key, element, (1 << 31) + t * width);
                    for (action, range) in action.iter_mut().zip(&ranges) {
                        *action = range.pick(draws.bits());
                    }
                }
                // Every step of every environment draws under a number of its own.
                let at = element.add(P::Bits::splat(t.wrapping_add(1).wrapping_mul(count)));
                advance(&shared, &mut now, &action, at);
            }
            if pair % 64 == 63 {
                total.reward += drain(&mut now.reward);
            }
        }
        total.reward += drain(&mut now.reward);
        let mut ended = [0.0; 16];
        P::store_bits(now.ended, &mut ended);
        total.episodes += ended[..P::LANES].iter().map(|n| u64::from(n.to_bits())).sum::<u64>();
        total.steps += u64::from(pairs) * 2 * P::LANES as u64;
    }
    total
}

#[inline(always)]
fn advance<E: Env, P: Pack>(shared: &LaneInputs<'_, E, P>, now: &mut LaneGroup<E, P>, action: &[P], element: P::Bits) {
    let LaneInputs { env, task, horizon, .. } = *shared;
    let key = shared.key.map(P::Bits::splat);
    let step = env.step(now.state, action, task, &mut Draws::new(key, element, STEP_BLOCK));
    now.reward = now.reward + step.reward;
    now.state = step.next;
    now.steps = now.steps.add(P::Bits::splat(1));
    let late = P::count_lt(now.steps, P::Bits::splat(horizon)).not();
    let done = step.terminated.or(late);
    if done.any() {
        let fresh = match shared.from {
            Source::Threefry => first_state(env, task, key, element),
            Source::Cheap => now.first,
        };
        now.state = <E::State<P> as Fields<P>>::select(done, fresh, now.state);
        now.steps = P::select_bits(done, P::Bits::splat(0), now.steps);
        now.ended = now.ended.add(P::mask_bits(done));
    }
}

/// Sums rewards in f64 before they get too large for f32.
#[inline(always)]
fn drain<P: Pack>(reward: &mut P) -> f64 {
    let mut lanes = [0.0; 16];
    reward.store(&mut lanes);
    let sum = lanes[..P::LANES].iter().map(|&r| f64::from(r)).sum();
    *reward = P::lit(0.0);
    sum
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
