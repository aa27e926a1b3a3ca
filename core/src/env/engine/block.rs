//! Blocks of environments on the CPU, compiled once per type of environment and instruction set: the native twins of
//! the traced reset and step, single steps on the host, and steps with random actions are jobs of one function.
//!
//! A block of `lanes` rows is lane-major: a value of M numbers is `[M][lanes]`, u32 values bit-cast to f32.
#![allow(
    unsafe_code,
    reason = "functions compiled for an instruction set are called once the processor is known to have it"
)]

use std::fmt;
use std::mem::MaybeUninit;
use std::sync::Arc;

use super::erased::Erased;
use super::pack::{Pack, per_pack};
use super::step::{After, Before, Begin, StepParts, auto_step};
use crate::backend::cpu::simd::isa::Isa;
use crate::env::fields::Fields;
use crate::env::real::{Bits, Mask};
use crate::env::{Env, EnvSpec};
use crate::program::NativeCall;

/// The job of a run over a block of environments: its inputs and outputs in order.
#[derive(Clone, Copy, Debug)]
pub(in crate::env) enum Job {
    /// First states.
    ///
    /// Inputs: key `[2]`, element `[1]` (u32), then task `[D]` if there is one. Outputs: state `[F]`, observation
    /// `[O]`.
    Reset,
    /// One step with automatic reset.
    ///
    /// Inputs: state `[F]`, steps taken `[1]` (u32), action `[A]`, key `[2]`, element `[1]` (u32), then task `[D]` if
    /// there is one. Outputs: state `[F]` and steps `[1]` after any reset, reward `[1]`, terminated `[1]`, truncated
    /// `[1]` (u32 0 or 1), observation before `[O]` and after any reset `[O]`.
    Step,
    /// One step without reset; inputs and outputs are those of a step.
    Bare,
    /// Observations of states; inputs and outputs are those of a step.
    #[cfg_attr(not(feature = "standalone"), expect(dead_code, reason = "states are observed on the host alone"))]
    Observe,
    /// Rounds of steps with automatic reset, of which nothing is observed. The elements of each round are `count`
    /// higher than those of the round before.
    ///
    /// Inputs: those of a step, but for actions `[rounds · A]`, and in front of the task the first state `[F]` of all
    /// episodes, or nothing if these are drawn. Outputs: those of a step, but the sum of all rewards, and in place of
    /// `terminated` the number of episodes that ended.
    #[cfg_attr(not(feature = "standalone"), expect(dead_code, reason = "rounds are for benchmarks"))]
    Rounds { rounds: u32, count: u32 },
}

impl Job {
    fn parts(self) -> StepParts {
        match self {
            Job::Reset => StepParts { step: false, begin: Begin::All, observe: true },
            Job::Step => StepParts::ALL,
            Job::Bare => StepParts { begin: Begin::None, ..StepParts::ALL },
            Job::Observe => StepParts { step: false, begin: Begin::None, observe: true },
            Job::Rounds { .. } => StepParts { observe: false, ..StepParts::ALL },
        }
    }
}

/// A job of an environment as the native twin of a sub-graph.
pub(in crate::env) struct NativeJob {
    pub env: Arc<dyn Erased>,
    pub job: Job,
}

impl NativeCall for NativeJob {
    fn run(&self, isa: Isa, lanes: usize, inputs: &[&[f32]], outputs: &mut [&mut [f32]]) {
        self.env.run(isa, self.job, lanes, inputs, outputs);
    }
}

impl fmt::Debug for NativeJob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} of {}", self.job, self.env.spec().name)
    }
}

per_pack! {
    /// Does a job for `lanes` rows.
    pub(in crate::env) fn block_any<E: Env>(
        env: &E,
        spec: &EnvSpec,
        job: Job,
        lanes: usize,
        inputs: &[&[f32]],
        outputs: &mut [&mut [f32]],
    ) = block_lanes
}

#[inline(always)]
fn block_lanes<E: Env, P: Pack>(
    env: &E,
    spec: &EnvSpec,
    job: Job,
    lanes: usize,
    inputs: &[&[f32]],
    outputs: &mut [&mut [f32]],
) {
    const NONE: &[f32] = &[];
    let ([states, counts, actions], [keys, elements], firsts, tasks) = match (job, inputs) {
        (Job::Reset, [key, element, rest @ ..]) => ([NONE; 3], [*key, *element], NONE, rest),
        (Job::Rounds { .. }, [state, steps, action, key, element, first, rest @ ..]) => {
            ([*state, *steps, *action], [*key, *element], *first, rest)
        }
        (_, [state, steps, action, key, element, rest @ ..]) => {
            ([*state, *steps, *action], [*key, *element], NONE, rest)
        }
        _ => {
            debug_assert!(false, "{job:?} of {}: inputs are missing", spec.name);
            return;
        }
    };
    let (state_out, mut rest, seen_out) = match outputs {
        [state, seen] => (state, None, seen),
        [state, steps, reward, terminated, truncated, last, seen] => {
            (state, Some([steps, reward, terminated, truncated, last]), seen)
        }
        _ => {
            debug_assert!(false, "{job:?} of {}: outputs are missing", spec.name);
            return;
        }
    };
    let (observed, acted) = (spec.observation.len(), spec.action.dim());
    let mut scratch = Scratch::<P>::new();
    let numbers = scratch.take(2 * observed + acted + spec.task.len());
    let (last, numbers) = numbers.split_at_mut(observed);
    let (seen, numbers) = numbers.split_at_mut(observed);
    let (action, task) = numbers.split_at_mut(acted);
    let horizon = u32::try_from(spec.horizon).unwrap_or(u32::MAX);
    let (rounds, count) = if let Job::Rounds { rounds, count } = job { (rounds, count) } else { (1, 0) };
    let parts = job.parts();
    for at in (0..lanes).step_by(P::LANES) {
        let (mut state, mut steps) = (load_state::<E, P>(states, lanes, at), P::Bits::splat(0));
        if !counts.is_empty() {
            steps = P::load_bits(&counts[at..]);
        }
        let first = (!firsts.is_empty()).then(|| load_state::<E, P>(firsts, lanes, at));
        load_all(task, tasks, lanes, at);
        let (key, mut element) = (load_key::<P>(keys, lanes, at), P::load_bits(&elements[at..]));
        let (mut sum, mut ends, mut late) = (P::lit(0.0), P::Bits::splat(0), P::Bits::splat(0));
        // One copy of the environment's code serves all jobs: it is called from here alone.
        for round in 0..rounds as usize {
            if !actions.is_empty() {
                load_all(action, &[&actions[round * action.len() * lanes..]], lanes, at);
            }
            let before = Before { state, steps, action: &*action, task: &*task, key, element };
            let after: After<P, E> = auto_step(env, horizon, parts, before, first, [&mut *last, &mut *seen]);
            let After { reward, terminated, truncated, .. } = after;
            (state, steps) = (after.state, after.steps);
            if let Job::Rounds { .. } = job {
                sum = sum + reward;
                ends = ends.add(P::mask_bits(terminated.or(truncated)));
                element = element.add(P::Bits::splat(count));
            } else {
                (sum, ends, late) = (reward, P::mask_bits(terminated), P::mask_bits(truncated));
            }
        }
        store_state::<E, P>(state_out, lanes, at, &state);
        if let Some([steps_out, reward, terminated, truncated, last_out]) = &mut rest {
            P::store_bits(steps, &mut steps_out[at..]);
            sum.store(&mut reward[at..]);
            P::store_bits(ends, &mut terminated[at..]);
            P::store_bits(late, &mut truncated[at..]);
            if parts.observe {
                store_all(last_out, lanes, at, last);
            }
        }
        if parts.observe {
            store_all(seen_out, lanes, at, seen);
        }
    }
}

/// The states from lane `at` on; zeros where there are none.
#[inline(always)]
fn load_state<E: Env, P: Pack>(block: &[f32], lanes: usize, at: usize) -> E::State<P> {
    let number = |f: usize| if block.is_empty() { P::lit(0.0) } else { P::load(&block[f * lanes + at..]) };
    <E::State<P> as Fields<P>>::from_fn(number)
}

/// Numbers per lane that a block keeps on the stack; more go to the heap, once per block.
const ON_STACK: usize = 256;

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
