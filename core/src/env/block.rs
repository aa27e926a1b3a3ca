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

use super::auto::{After, Before, auto_step, first_state};
use super::fields::Fields;
use super::lanes::{LaneBits, Lanes};
use super::{Env, EnvSpec};
use crate::backend::cpu::simd::isa::Isa;
use crate::program::NativeCall;

/// First states.
///
/// Inputs: key `[2]`, element `[1]` (u32), then task `[D]` if there is one. Outputs: state `[F]`, observation `[O]`.
pub(super) struct ResetBlock<E> {
    pub env: Arc<E>,
    pub spec: Arc<EnvSpec>,
}

/// One step with automatic reset.
///
/// Inputs: state `[F]`, steps taken `[1]` (u32), action `[A]`, key `[2]`, element `[1]` (u32), then task `[D]` if there
/// is one. Outputs: state `[F]` and steps `[1]` after any reset, reward `[1]`, terminated `[1]`, truncated `[1]` (u32 0
/// or 1), observation before `[O]` and after any reset `[O]`.
pub(super) struct StepBlock<E> {
    pub env: Arc<E>,
    pub spec: Arc<EnvSpec>,
}

/// Whether this processor has an instruction set; the answers are cached by the standard library.
#[cfg(target_arch = "x86_64")]
pub(super) fn has(isa: Isa) -> bool {
    use std::arch::is_x86_feature_detected as has;
    let avx2 = has!("avx2") && has!("fma");
    match isa {
        Isa::Baseline => true,
        Isa::Avx2 => avx2,
        Isa::Avx512 => avx2 && has!("avx512f") && has!("avx512bw") && has!("avx512dq") && has!("avx512vl"),
    }
}

/// Makes a function that runs `$body::<.., N>` compiled for each instruction set, and one that chooses among them.
macro_rules! per_isa {
    ($choose:ident, $avx512:ident, $avx2:ident, $body:ident, $block:ident) => {
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vl,avx2,fma")]
        fn $avx512<E: Env>(block: &$block<E>, lanes: usize, inputs: &[&[f32]], outputs: &mut [&mut [f32]]) {
            $body::<E, 16>(block, lanes, inputs, outputs);
        }

        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx2,fma")]
        fn $avx2<E: Env>(block: &$block<E>, lanes: usize, inputs: &[&[f32]], outputs: &mut [&mut [f32]]) {
            $body::<E, 8>(block, lanes, inputs, outputs);
        }

        fn $choose<E: Env>(block: &$block<E>, isa: Isa, lanes: usize, inputs: &[&[f32]], outputs: &mut [&mut [f32]]) {
            match isa {
                #[cfg(target_arch = "x86_64")]
                // SAFETY: the processor has just been asked.
                Isa::Avx512 if has(isa) => unsafe { $avx512(block, lanes, inputs, outputs) },
                #[cfg(target_arch = "x86_64")]
                // SAFETY: as above.
                Isa::Avx2 if has(isa) => unsafe { $avx2(block, lanes, inputs, outputs) },
                _ => $body::<E, 8>(block, lanes, inputs, outputs),
            }
        }
    };
}

per_isa!(reset_any, reset_avx512, reset_avx2, reset_lanes, ResetBlock);
per_isa!(step_any, step_avx512, step_avx2, step_lanes, StepBlock);

impl<E: Env> NativeCall for ResetBlock<E> {
    fn run(&self, isa: Isa, lanes: usize, inputs: &[&[f32]], outputs: &mut [&mut [f32]]) {
        reset_any(self, isa, lanes, inputs, outputs);
    }
}

impl<E: Env> NativeCall for StepBlock<E> {
    fn run(&self, isa: Isa, lanes: usize, inputs: &[&[f32]], outputs: &mut [&mut [f32]]) {
        step_any(self, isa, lanes, inputs, outputs);
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
fn reset_lanes<E: Env, const N: usize>(
    block: &ResetBlock<E>,
    lanes: usize,
    inputs: &[&[f32]],
    outputs: &mut [&mut [f32]],
) {
    let ([key, element, rest @ ..], [state_out, seen_out]) = (inputs, outputs) else {
        debug_assert!(false, "reset of {}: two outputs", block.spec.name);
        return;
    };
    let (mut task, mut seen) = (Scratch::<N>::new(), Scratch::<N>::new());
    let task = task.take(block.spec.task.len());
    let seen = seen.take(block.spec.observation.len());
    for at in (0..lanes).step_by(N) {
        load_all(task, rest, lanes, at);
        let state = first_state(&*block.env, task, load_key(key, lanes, at), load_bits(element, at));
        block.env.observe(&state, task, seen);
        store_state::<E, N>(state_out, lanes, at, &state);
        store_all(seen_out, lanes, at, seen);
    }
}

#[inline(always)]
fn step_lanes<E: Env, const N: usize>(
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
    let (mut action, mut task) = (Scratch::<N>::new(), Scratch::<N>::new());
    let (mut last, mut seen) = (Scratch::<N>::new(), Scratch::<N>::new());
    let action = action.take(spec.action.dim());
    let task = task.take(spec.task.len());
    let last = last.take(spec.observation.len());
    let seen = seen.take(spec.observation.len());
    let horizon = u32::try_from(spec.horizon).unwrap_or(u32::MAX);
    for at in (0..lanes).step_by(N) {
        load_all(action, std::slice::from_ref(action_in), lanes, at);
        load_all(task, rest, lanes, at);
        let before = Before {
            state: <E::State<Lanes<N>> as Fields<Lanes<N>>>::from_fn(|f| load(state, f * lanes + at)),
            steps: load_bits(steps, at),
            action,
            task,
            key: load_key(key, lanes, at),
            element: load_bits(element, at),
        };
        let after: After<Lanes<N>, E> = auto_step(&*block.env, horizon, before, last, seen);
        store_state::<E, N>(state_out, lanes, at, &after.state);
        store_bits(steps_out, at, after.steps);
        store(reward, at, after.reward);
        store_bits(terminated, at, after.terminated.to_bits());
        store_bits(truncated, at, after.truncated.to_bits());
        store_all(last_out, lanes, at, last);
        store_all(seen_out, lanes, at, seen);
    }
}

/// Numbers per lane that a block keeps on the stack; more go to the heap, once per block.
const ON_STACK: usize = 64;

/// Room for a vector of lanes whose length is known at run time only.
struct Scratch<const N: usize> {
    stack: [MaybeUninit<Lanes<N>>; ON_STACK],
    heap: Vec<Lanes<N>>,
}

impl<const N: usize> Scratch<N> {
    #[inline(always)]
    fn new() -> Self {
        Self { stack: [MaybeUninit::uninit(); ON_STACK], heap: Vec::new() }
    }

    /// `len` zeros.
    #[inline(always)]
    fn take(&mut self, len: usize) -> &mut [Lanes<N>] {
        match self.stack.get_mut(..len) {
            Some(stack) => {
                for lane in stack.iter_mut() {
                    lane.write(Lanes([0.0; N]));
                }
                // SAFETY: all `len` elements have just been written, and `MaybeUninit<T>` has the layout of `T`.
                unsafe { &mut *(std::ptr::from_mut(stack) as *mut [Lanes<N>]) }
            }
            None => {
                self.heap.resize(len, Lanes([0.0; N]));
                &mut self.heap
            }
        }
    }
}

#[inline(always)]
fn load<const N: usize>(block: &[f32], at: usize) -> Lanes<N> {
    let mut out = [0.0; N];
    out.copy_from_slice(&block[at..at + N]);
    Lanes(out)
}

#[inline(always)]
fn load_bits<const N: usize>(block: &[f32], at: usize) -> LaneBits<N> {
    let mut out = [0; N];
    for (word, number) in out.iter_mut().zip(&block[at..at + N]) {
        *word = number.to_bits();
    }
    LaneBits(out)
}

#[inline(always)]
fn load_key<const N: usize>(block: &[f32], lanes: usize, at: usize) -> [LaneBits<N>; 2] {
    [load_bits(block, at), load_bits(block, lanes + at)]
}

/// Loads as many rows as `to` has from the first block, if there is one.
#[inline(always)]
fn load_all<const N: usize>(to: &mut [Lanes<N>], blocks: &[&[f32]], lanes: usize, at: usize) {
    if let [block, ..] = blocks {
        for (i, value) in to.iter_mut().enumerate() {
            *value = load(block, i * lanes + at);
        }
    }
}

#[inline(always)]
fn store<const N: usize>(block: &mut [f32], at: usize, value: Lanes<N>) {
    block[at..at + N].copy_from_slice(&value.0);
}

#[inline(always)]
fn store_bits<const N: usize>(block: &mut [f32], at: usize, value: LaneBits<N>) {
    for (number, word) in block[at..at + N].iter_mut().zip(value.0) {
        *number = f32::from_bits(word);
    }
}

#[inline(always)]
fn store_all<const N: usize>(block: &mut [f32], lanes: usize, at: usize, values: &[Lanes<N>]) {
    for (i, value) in values.iter().enumerate() {
        store(block, i * lanes + at, *value);
    }
}

#[inline(always)]
fn store_state<E: Env, const N: usize>(block: &mut [f32], lanes: usize, at: usize, state: &E::State<Lanes<N>>) {
    for f in 0..<E::State<Lanes<N>> as Fields<Lanes<N>>>::N {
        store(block, f * lanes + at, state.get(f));
    }
}
