//! Blocks of environments on the CPU, compiled once per type of environment and instruction set: the native twins of
//! the traced reset and step, single steps on the host, and steps with random actions are jobs of one function.
#![allow(
    unsafe_code,
    reason = "functions compiled for an instruction set are called once the processor is known to have it"
)]

use std::mem::MaybeUninit;

use super::job::{Block, Sixteen, StepOutputs};
use super::pack::{Pack, per_pack};
use super::random_actions::{RandomActions, Source};
use super::step::{Current, StepInputs, auto_step};
use crate::backend::cpu::simd::isa::Isa;
use crate::env::Env;
use crate::env::fields::Fields;
use crate::env::real::{Bits, Mask};

per_pack! {
    /// Does a job.
    pub(in crate::env) fn block_any<E: Env>(env: &E, block: Block<'_, '_>) = block_lanes
}

#[inline(always)]
fn block_lanes<E: Env, P: Pack>(env: &E, mut block: Block<'_, '_>) {
    let (lanes, parts, horizon) = (block.lanes, block.parts, block.horizon);
    // WebAssembly has no rounds.
    let rounds = if cfg!(feature = "standalone") { block.rounds } else { None };
    let (passes, count) = rounds.map_or((1, 0), |r| (r.repeat + 1, r.count));
    let [numbers, observed, acted, told] = block.widths;
    // Reads and writes of packs rely on this.
    assert!(numbers == <E::State<P> as Fields<P>>::N && lanes.is_multiple_of(P::LANES), "a block of {lanes} lanes");
    let drawn = if rounds.is_some() { acted } else { 0 };
    let (last, numbers) = zeros::<P>(block.room, 2 * observed + acted + drawn + told).split_at_mut(observed);
    let (seen, numbers) = numbers.split_at_mut(observed);
    let (mut action, numbers) = numbers.split_at_mut(acted);
    let (mut ahead, task) = numbers.split_at_mut(drawn);
    for at in (0..lanes).step_by(P::LANES) {
        let mut now = Current::<P, E> { state: load_state::<E, P>(block.states, lanes, at), steps: P::Bits::splat(0) };
        if !block.counts.is_empty() {
            now.steps = P::load_bits(lanes_of::<P>(block.counts, at));
        }
        // Without random numbers every episode starts alike.
        let first = rounds.is_some_and(|r| r.from == Source::Cheap).then_some(now.state);
        load_all(task, block.tasks, lanes, at);
        let key = [0, lanes].map(|row| P::load_bits(lanes_of::<P>(block.keys, row + at)));
        let mut element = P::load_bits(lanes_of::<P>(block.elements, at));
        let mut random = RandomActions::<P>::new(P::Bits::splat(0), 0);
        if let Some(rounds) = rounds {
            random = RandomActions::new(P::load_bits(lanes_of::<P>(block.actions, at)), rounds.block);
        } else {
            load_all(action, block.actions, lanes, at);
        }
        // Sums begin with −0, to which any reward adds up to itself.
        let (mut sum, mut ends) = (P::lit(-0.0), P::Bits::splat(0));
        let (mut terminated, mut truncated) = (P::Mask::splat(false), P::Mask::splat(false));
        let mut begun = false;
        // One copy of the environment's code serves all jobs: it is called from here alone.
        for pass in 0..passes {
            if let Some(rounds) = rounds {
                // Actions are drawn a step ahead: their random numbers do not wait for the step before.
                std::mem::swap(&mut action, &mut ahead);
                random.draw(rounds, ahead);
                // Hidden, or the compiler makes a second copy of what draws.
                if std::hint::black_box(pass) == 0 {
                    continue;
                }
            }
            let inputs = StepInputs { action: &*action, task: &*task, key, element };
            let observations = [&mut *last, &mut *seen];
            let end = auto_step(env, horizon, parts, &mut now, inputs, first.as_ref(), observations);
            sum = sum + end.reward;
            (terminated, truncated, begun) = (end.terminated, end.truncated, end.begun);
            if begun {
                ends = ends.add(P::mask_bits(terminated.or(truncated)));
            }
            element = element.add(P::Bits::splat(count));
        }
        for f in 0..<E::State<P> as Fields<P>>::N {
            now.state.get(f).store(lanes_in::<P>(block.next_states, f * lanes + at));
        }
        if let Some(StepOutputs { counts, rewards, terminated: ended, truncated: late, last_observations }) =
            &mut block.step
        {
            P::store_bits(now.steps, lanes_in::<P>(counts, at));
            sum.store(lanes_in::<P>(rewards, at));
            let single = rounds.is_none();
            P::store_bits(if single { P::mask_bits(terminated) } else { ends }, lanes_in::<P>(ended, at));
            P::store_bits(P::mask_bits(truncated), lanes_in::<P>(late, at));
            if parts.observe {
                store_all(last_observations, lanes, at, last);
            }
        }
        if parts.observe {
            store_all(block.observations, lanes, at, if begun { seen } else { last });
        }
    }
}

/// The states from lane `at` on; zeros where there are none.
#[inline(always)]
fn load_state<E: Env, P: Pack>(block: &[f32], lanes: usize, at: usize) -> E::State<P> {
    if block.is_empty() {
        <E::State<P> as Fields<P>>::from_fn(|_| P::lit(0.0))
    } else {
        <E::State<P> as Fields<P>>::from_fn(|f| {
            // Known while compiling, but that a type of state of one's own may break its word.
            assert!(f < <E::State<P> as Fields<P>>::N, "a state asked for more numbers than it has");
            P::load(lanes_of::<P>(block, f * lanes + at))
        })
    }
}

/// `len` zeros in the room for as many numbers of sixteen lanes.
#[inline(always)]
fn zeros<P: Pack>(room: &mut [MaybeUninit<Sixteen>], len: usize) -> &mut [P] {
    const { assert!(size_of::<P>() <= size_of::<Sixteen>() && align_of::<P>() <= align_of::<Sixteen>()) };
    let room = &mut room[..len];
    // SAFETY: a pack is no larger than what it takes the place of.
    let packs = unsafe { std::slice::from_raw_parts_mut(room.as_mut_ptr().cast::<MaybeUninit<P>>(), len) };
    for pack in packs.iter_mut() {
        pack.write(P::lit(0.0));
    }
    // SAFETY: all have just been written, and `MaybeUninit<T>` has the layout of `T`.
    unsafe { &mut *(std::ptr::from_mut(packs) as *mut [P]) }
}

/// Loads as many rows as `to` has, if there are any.
#[inline(always)]
fn load_all<P: Pack>(to: &mut [P], block: &[f32], lanes: usize, at: usize) {
    if !block.is_empty() {
        for (i, value) in to.iter_mut().enumerate() {
            *value = P::load(lanes_of::<P>(block, i * lanes + at));
        }
    }
}

#[inline(always)]
fn store_all<P: Pack>(block: &mut [f32], lanes: usize, at: usize, values: &[P]) {
    for (i, value) in values.iter().enumerate() {
        value.store(lanes_in::<P>(block, i * lanes + at));
    }
}

/// The lanes of a pack from number `at` of a block on. Bounds are checked once per block, and not here.
#[inline(always)]
fn lanes_of<P: Pack>(block: &[f32], at: usize) -> &[f32] {
    debug_assert!(at + P::LANES <= block.len());
    // SAFETY: a block has the length that its job says (`Block::with`), which is a multiple of the pack's lanes.
    unsafe { block.get_unchecked(at..at + P::LANES) }
}

/// The lanes of a pack from number `at` of a block on, to be written.
#[inline(always)]
fn lanes_in<P: Pack>(block: &mut [f32], at: usize) -> &mut [f32] {
    debug_assert!(at + P::LANES <= block.len());
    // SAFETY: as above.
    unsafe { block.get_unchecked_mut(at..at + P::LANES) }
}
