//! Environments stepping alone with random actions: what they can do at most, without policy, memory or framework.
#![allow(
    unsafe_code,
    reason = "functions compiled for an instruction set are called once the processor is known to have it"
)]

use super::auto::first_state;
#[cfg(target_arch = "x86_64")]
use super::block::has;
use super::fields::Fields;
use super::lanes::{LaneBits, LaneMask, Lanes};
use super::real::{Bits, Mask, Real};
use super::{ActionSpace, Draws, Env, EnvSpec, STEP_BLOCK};
use crate::backend::cpu::simd::isa::Isa;
use crate::rng::{Key, fold_in};

/// Where random actions and first states come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// As everywhere: threefry, both words of each block used.
    Threefry,
    /// A shift register for actions, the same first state for every episode: what is left is the environment's own work.
    Cheap,
}

/// What random stepping did.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RandomSteps {
    /// Environment steps.
    pub steps: u64,
    /// Episodes that ended.
    pub episodes: u64,
    /// Sum of all rewards.
    pub reward: f64,
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vl,avx2,fma")]
fn random_avx512<E: Env>(env: &E, spec: &EnvSpec, key: Key, groups: u32, steps: u32, from: Source) -> RandomSteps {
    random_lanes::<E, 16>(env, spec, key, groups, steps, from)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn random_avx2<E: Env>(env: &E, spec: &EnvSpec, key: Key, groups: u32, steps: u32, from: Source) -> RandomSteps {
    random_lanes::<E, 8>(env, spec, key, groups, steps, from)
}

/// `count` environments (rounded up to a multiple of 16) for `steps` steps each (rounded up to an even number).
pub(super) fn random_steps<E: Env>(
    env: &E,
    spec: &EnvSpec,
    isa: Isa,
    key: Key,
    count: u32,
    steps: u32,
    from: Source,
) -> RandomSteps {
    let sixteens = count.div_ceil(16);
    match isa {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the processor has just been asked.
        Isa::Avx512 if has(isa) => unsafe { random_avx512(env, spec, key, sixteens, steps, from) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: as above.
        Isa::Avx2 if has(isa) => unsafe { random_avx2(env, spec, key, 2 * sixteens, steps, from) },
        _ => random_lanes::<E, 8>(env, spec, key, 2 * sixteens, steps, from),
    }
}

#[inline(always)]
fn random_lanes<E: Env, const N: usize>(
    env: &E,
    spec: &EnvSpec,
    key: Key,
    groups: u32,
    steps: u32,
    from: Source,
) -> RandomSteps {
    match (spec.action.dim(), from) {
        (1, Source::Threefry) => random_groups::<E, N, true, false>(env, spec, key, groups, steps),
        (1, Source::Cheap) => random_groups::<E, N, true, true>(env, spec, key, groups, steps),
        (_, Source::Threefry) => random_groups::<E, N, false, false>(env, spec, key, groups, steps),
        (_, Source::Cheap) => random_groups::<E, N, false, true>(env, spec, key, groups, steps),
    }
}

/// One group of lanes on its way.
struct Group<E: Env, const N: usize> {
    state: E::State<Lanes<N>>,
    first: E::State<Lanes<N>>,
    steps: LaneBits<N>,
    reward: Lanes<N>,
    ended: LaneBits<N>,
}

#[inline(always)]
fn random_groups<E: Env, const N: usize, const SINGLE: bool, const CHEAP: bool>(
    env: &E,
    spec: &EnvSpec,
    key: Key,
    groups: u32,
    steps: u32,
) -> RandomSteps {
    let task: Vec<Lanes<N>> = spec.task.iter().map(|d| Lanes::lit((d.low + d.high) / 2.0)).collect();
    let ranges = ranges(&spec.action);
    let horizon = u32::try_from(spec.horizon).unwrap_or(u32::MAX);
    let (action_key, env_key) = (fold_in(key, 0), fold_in(key, 1));
    let action_key = action_key.map(LaneBits::splat);
    let mut action = vec![Lanes([0.0; N]); ranges.len()];
    let mut total = RandomSteps::default();
    let width = ranges.len().div_ceil(2) as u32; // blocks of one action
    for group in 0..groups {
        let element = LaneBits::count_from(group * N as u32);
        let first = first_state(env, &task, fold_in(env_key, u32::MAX).map(LaneBits::splat), element);
        let mut now = Group::<E, N> {
            state: first,
            first,
            steps: LaneBits::splat(0),
            reward: Lanes::lit(0.0),
            ended: LaneBits::splat(0),
        };
        let mut register = element.xor(LaneBits::splat(key[0] | 1));
        for pair in 0..steps.div_ceil(2) {
            let words = if CHEAP {
                register = register.xor(register.shl(13));
                register = register.xor(register.shr(17));
                register = register.xor(register.shl(5));
                [register, register.rotl(16)]
            } else if SINGLE {
                LaneBits::threefry(action_key, [element, LaneBits::splat(pair)])
            } else {
                [LaneBits::splat(0); 2]
            };
            for half in 0..2 {
                let t = 2 * pair + half;
                if CHEAP || SINGLE {
                    for (action, range) in action.iter_mut().zip(&ranges) {
                        *action = range.pick(words[half as usize]);
                    }
                } else {
                    let mut draws = Draws::<Lanes<N>>::new(action_key, element, t * width);
                    for (action, range) in action.iter_mut().zip(&ranges) {
                        *action = range.pick(draws.bits());
                    }
                }
                advance::<E, N, CHEAP>(env, &mut now, &action, &task, fold_in(env_key, t), element, horizon);
            }
            if pair % 64 == 63 {
                total.reward += drain(&mut now.reward);
            }
        }
        total.reward += drain(&mut now.reward);
        total.episodes += now.ended.0.iter().map(|&n| u64::from(n)).sum::<u64>();
        total.steps += u64::from(steps.div_ceil(2)) * 2 * N as u64;
    }
    total
}

#[inline(always)]
fn advance<E: Env, const N: usize, const CHEAP: bool>(
    env: &E,
    now: &mut Group<E, N>,
    action: &[Lanes<N>],
    task: &[Lanes<N>],
    key: Key,
    element: LaneBits<N>,
    horizon: u32,
) {
    let key = key.map(LaneBits::splat);
    let step = env.step(now.state, action, task, &mut Draws::new(key, element, STEP_BLOCK));
    now.reward = now.reward + step.reward;
    now.state = step.next;
    now.steps = now.steps.add(LaneBits::splat(1));
    let late: LaneMask<N> = Lanes::count_lt(now.steps, LaneBits::splat(horizon)).not();
    let done = step.terminated.or(late);
    if done.any() {
        let fresh = if CHEAP { now.first } else { first_state(env, task, key, element) };
        now.state = <E::State<Lanes<N>> as Fields<Lanes<N>>>::select(done, fresh, now.state);
        now.steps = Lanes::select_bits(done, LaneBits::splat(0), now.steps);
        now.ended = now.ended.add(done.to_bits());
    }
}

/// Sums rewards in f64 before they get too large for f32.
#[inline(always)]
fn drain<const N: usize>(reward: &mut Lanes<N>) -> f64 {
    let sum = reward.0.iter().map(|&r| f64::from(r)).sum();
    *reward = Lanes([0.0; N]);
    sum
}

/// How one number of an action is drawn.
enum Range {
    Choice { count: f64 },
    Interval { low: f64, width: f64 },
}

fn ranges(action: &ActionSpace) -> Vec<Range> {
    match action {
        ActionSpace::Discrete { names } => vec![Range::Choice { count: names.len() as f64 }],
        ActionSpace::Box { dims } => {
            dims.iter().map(|d| Range::Interval { low: d.low, width: d.high - d.low }).collect()
        }
    }
}

impl Range {
    #[inline(always)]
    fn pick<const N: usize>(&self, word: LaneBits<N>) -> Lanes<N> {
        let uniform = Lanes::uniform(word);
        match *self {
            Self::Choice { count } => (uniform * Lanes::lit(count)).floor().min(Lanes::lit(count - 1.0)),
            Self::Interval { low, width } => uniform * Lanes::lit(width) + Lanes::lit(low),
        }
    }
}
