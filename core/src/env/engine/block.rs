//! Blocks of environments on the CPU: the native twins of the traced reset and step, one compilation per instruction
//! set.
//!
//! A block of `lanes` rows is lane-major: a value of M numbers is `[M][lanes]`, u32 values bit-cast to f32.
#![allow(
    unsafe_code,
    reason = "functions compiled for an instruction set are called once the processor is known to have it"
)]

use std::fmt;
use std::mem::MaybeUninit;
use std::sync::Arc;

use super::pack::{Pack, per_pack};
use super::step::{After, Before, auto_step, first_state};
use crate::backend::cpu::simd::isa::Isa;
use crate::env::fields::Fields;
use crate::env::{Env, EnvSpec};
use crate::program::NativeCall;

/// First states.
///
/// Inputs: key `[2]`, element `[1]` (u32), then task `[D]` if there is one. Outputs: state `[F]`, observation `[O]`.
pub(in crate::env) struct ResetBlock<E> {
    pub env: Arc<E>,
    pub spec: Arc<EnvSpec>,
}

/// One step with automatic reset.
///
/// Inputs: state `[F]`, steps taken `[1]` (u32), action `[A]`, key `[2]`, element `[1]` (u32), then task `[D]` if there
/// is one. Outputs: state `[F]` and steps `[1]` after any reset, reward `[1]`, terminated `[1]`, truncated `[1]` (u32 0
/// or 1), observation before `[O]` and after any reset `[O]`.
pub(in crate::env) struct StepBlock<E> {
    pub env: Arc<E>,
    pub spec: Arc<EnvSpec>,
}

per_pack! {
    fn reset_any<E: Env>(
        block: &ResetBlock<E>,
        lanes: usize,
        inputs: &[&[f32]],
        outputs: &mut [&mut [f32]],
    ) = reset_lanes
}
per_pack! {
    fn step_any<E: Env>(
        block: &StepBlock<E>,
        lanes: usize,
        inputs: &[&[f32]],
        outputs: &mut [&mut [f32]],
    ) = step_lanes
}

impl<E: Env> NativeCall for ResetBlock<E> {
    fn run(&self, isa: Isa, lanes: usize, inputs: &[&[f32]], outputs: &mut [&mut [f32]]) {
        reset_any(isa, self, lanes, inputs, outputs);
    }
}

impl<E: Env> NativeCall for StepBlock<E> {
    fn run(&self, isa: Isa, lanes: usize, inputs: &[&[f32]], outputs: &mut [&mut [f32]]) {
        step_any(isa, self, lanes, inputs, outputs);
    }
}

impl<E> fmt::Debug for ResetBlock<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "reset of {}", self.spec.name)
    }
}

impl<E> fmt::Debug for StepBlock<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "step of {}", self.spec.name)
    }
}

#[inline(always)]
fn reset_lanes<E: Env, P: Pack>(block: &ResetBlock<E>, lanes: usize, inputs: &[&[f32]], outputs: &mut [&mut [f32]]) {
    let ([key, element, rest @ ..], [state_out, seen_out]) = (inputs, outputs) else {
        debug_assert!(false, "reset of {}: two outputs", block.spec.name);
        return;
    };
    let (mut task, mut seen) = (Scratch::<P>::new(), Scratch::<P>::new());
    let task = task.take(block.spec.task.len());
    let seen = seen.take(block.spec.observation.len());
    for at in (0..lanes).step_by(P::LANES) {
        load_all(task, rest, lanes, at);
        let state = first_state(&*block.env, task, load_key::<P>(key, lanes, at), P::load_bits(&element[at..]));
        block.env.observe(&state, task, seen);
        store_state::<E, P>(state_out, lanes, at, &state);
        store_all(seen_out, lanes, at, seen);
    }
}

#[inline(always)]
pub(in crate::env) fn step_lanes<E: Env, P: Pack>(
    block: &StepBlock<E>,
    lanes: usize,
    inputs: &[&[f32]],
    outputs: &mut [&mut [f32]],
) {
    let (
        [state, steps, action_in, key, element, rest @ ..],
        [state_out, steps_out, reward, terminated, truncated, last_out, seen_out],
    ) = (inputs, outputs)
    else {
        debug_assert!(false, "step of {}: seven outputs", block.spec.name);
        return;
    };
    let spec = &*block.spec;
    let (mut action, mut task) = (Scratch::<P>::new(), Scratch::<P>::new());
    let (mut last, mut seen) = (Scratch::<P>::new(), Scratch::<P>::new());
    let action = action.take(spec.action.dim());
    let task = task.take(spec.task.len());
    let last = last.take(spec.observation.len());
    let seen = seen.take(spec.observation.len());
    let horizon = u32::try_from(spec.horizon).unwrap_or(u32::MAX);
    for at in (0..lanes).step_by(P::LANES) {
        load_all(action, std::slice::from_ref(action_in), lanes, at);
        load_all(task, rest, lanes, at);
        let before = Before {
            state: <E::State<P> as Fields<P>>::from_fn(|f| P::load(&state[f * lanes + at..])),
            steps: P::load_bits(&steps[at..]),
            action,
            task,
            key: load_key::<P>(key, lanes, at),
            element: P::load_bits(&element[at..]),
        };
        let after: After<P, E> = auto_step(&*block.env, horizon, before, last, seen);
        store_state::<E, P>(state_out, lanes, at, &after.state);
        P::store_bits(after.steps, &mut steps_out[at..]);
        after.reward.store(&mut reward[at..]);
        P::store_bits(P::mask_bits(after.terminated), &mut terminated[at..]);
        P::store_bits(P::mask_bits(after.truncated), &mut truncated[at..]);
        store_all(last_out, lanes, at, last);
        store_all(seen_out, lanes, at, seen);
    }
}

/// Numbers per lane that a block keeps on the stack; more go to the heap, once per block.
const ON_STACK: usize = 64;

/// Room for a vector of lanes whose length is known at run time only.
struct Scratch<P> {
    stack: [MaybeUninit<P>; ON_STACK],
    heap: Vec<P>,
}

impl<P: Pack> Scratch<P> {
    #[inline(always)]
    fn new() -> Self {
        Self { stack: [MaybeUninit::uninit(); ON_STACK], heap: Vec::new() }
    }

    /// `len` zeros.
    #[inline(always)]
    fn take(&mut self, len: usize) -> &mut [P] {
        match self.stack.get_mut(..len) {
            Some(stack) => {
                for lane in stack.iter_mut() {
                    lane.write(P::lit(0.0));
                }
                // SAFETY: all `len` elements have just been written, and `MaybeUninit<T>` has the layout of `T`.
                unsafe { &mut *(std::ptr::from_mut(stack) as *mut [P]) }
            }
            None => {
                self.heap.resize(len, P::lit(0.0));
                &mut self.heap
            }
        }
    }
}

#[inline(always)]
fn load_key<P: Pack>(block: &[f32], lanes: usize, at: usize) -> [P::Bits; 2] {
    [P::load_bits(&block[at..]), P::load_bits(&block[lanes + at..])]
}

/// Loads as many rows as `to` has from the first block, if there is one.
#[inline(always)]
fn load_all<P: Pack>(to: &mut [P], blocks: &[&[f32]], lanes: usize, at: usize) {
    if let [block, ..] = blocks {
        for (i, value) in to.iter_mut().enumerate() {
            *value = P::load(&block[i * lanes + at..]);
        }
    }
}

#[inline(always)]
fn store_all<P: Pack>(block: &mut [f32], lanes: usize, at: usize, values: &[P]) {
    for (i, value) in values.iter().enumerate() {
        value.store(&mut block[i * lanes + at..]);
    }
}

#[inline(always)]
fn store_state<E: Env, P: Pack>(block: &mut [f32], lanes: usize, at: usize, state: &E::State<P>) {
    for f in 0..<E::State<P> as Fields<P>>::N {
        state.get(f).store(&mut block[f * lanes + at..]);
    }
}
