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
use super::random::{Random, RandomActions, RandomSteps};
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
    /// Inputs: key `[2]`, element `[1]` (u32), then task `[D]` if there is one. Outputs: state `[F]`, observation `[O]`.
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
    /// Steps with random actions from first states on. There are neither inputs nor outputs.
    #[cfg_attr(not(feature = "standalone"), expect(dead_code, reason = "random steps are for benchmarks"))]
    Random(Random),
}

impl Job {
    fn parts(self) -> StepParts {
        match self {
            Job::Reset => StepParts { step: false, begin: Begin::All, observe: true },
            Job::Step => StepParts::ALL,
            Job::Bare => StepParts { begin: Begin::None, ..StepParts::ALL },
            Job::Observe => StepParts { step: false, begin: Begin::None, observe: true },
            Job::Random(_) => StepParts { observe: false, ..StepParts::ALL },
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
    /// Does a job for `lanes` rows; what random steps added up to, if it is that.
    pub(in crate::env) fn block_any<E: Env>(
        env: &E,
        spec: &EnvSpec,
        job: Job,
        lanes: usize,
        inputs: &[&[f32]],
        outputs: &mut [&mut [f32]],
    ) -> RandomSteps = block_lanes
}

#[inline(always)]
fn block_lanes<E: Env, P: Pack>(
    env: &E,
    spec: &EnvSpec,
    job: Job,
    lanes: usize,
    inputs: &[&[f32]],
    outputs: &mut [&mut [f32]],
) -> RandomSteps {
    let mut random = match job {
        Job::Random(random) if cfg!(feature = "standalone") => Some(RandomActions::<P>::new(random, spec)),
        _ => None,
    };
    let (mut action, mut task) = (Scratch::<P>::new(), Scratch::<P>::new());
    let (mut last, mut seen) = (Scratch::<P>::new(), Scratch::<P>::new());
    let action = action.take(spec.action.dim());
    let task = task.take(spec.task.len());
    let last = last.take(spec.observation.len());
    let seen = seen.take(spec.observation.len());
    let horizon = u32::try_from(spec.horizon).unwrap_or(u32::MAX);
    let (moving, [keys, elements], tasks): (Option<[&[f32]; 3]>, [&[f32]; 2], &[&[f32]]) = match (job, inputs) {
        (Job::Random(_), _) => (None, [&[]; 2], &[]),
        (Job::Reset, [key, element, rest @ ..]) => (None, [*key, *element], rest),
        (_, [state, steps, action, key, element, rest @ ..]) => {
            (Some([*state, *steps, *action]), [*key, *element], rest)
        }
        _ => {
            debug_assert!(false, "{job:?} of {}: inputs are missing", spec.name);
            return RandomSteps::default();
        }
    };
    if let Some(random) = &random {
        random.middle_of(spec, task);
    }
    for at in (0..lanes).step_by(P::LANES) {
        let (mut state, mut steps) = (zeros::<E, P>(), P::Bits::splat(0));
        if let Some([states, counts, actions]) = moving {
            state = <E::State<P> as Fields<P>>::from_fn(|f| P::load(&states[f * lanes + at..]));
            steps = P::load_bits(&counts[at..]);
            load_all(action, &[actions], lanes, at);
        }
        load_all(task, tasks, lanes, at);
        let (mut key, mut element) = ([P::Bits::splat(0); 2], P::Bits::splat(0));
        if random.is_none() {
            (key, element) = (load_key::<P>(keys, lanes, at), P::load_bits(&elements[at..]));
        }
        let (mut first, mut made) = (None, (P::lit(0.0), [P::Bits::splat(0); 2]));
        // One copy of the environment's code serves all jobs: it is called from here alone.
        for round in 0..random.as_ref().map_or(1, RandomActions::rounds) {
            let mut parts = job.parts();
            if let Some(random) = &mut random {
                parts = random.parts(round, parts);
                (key, element) = random.draw(round, at, action);
            }
            let before = Before { state, steps, action: &*action, task: &*task, key, element };
            let After { state: next, steps: counted, reward, terminated, truncated } =
                auto_step(env, horizon, parts, before, first, [&mut *last, &mut *seen]);
            (state, steps) = (next, counted);
            if let Some(random) = &mut random {
                first = random.note(round, first, state, reward, terminated.or(truncated));
            }
            made = (reward, [P::mask_bits(terminated), P::mask_bits(truncated)]);
        }
        let (reward, [terminated, truncated]) = made;
        match outputs {
            [state_out, seen_out] => {
                store_state::<E, P>(state_out, lanes, at, &state);
                store_all(seen_out, lanes, at, seen);
            }
            [state_out, steps_out, reward_out, terminated_out, truncated_out, last_out, seen_out] => {
                store_state::<E, P>(state_out, lanes, at, &state);
                P::store_bits(steps, &mut steps_out[at..]);
                reward.store(&mut reward_out[at..]);
                P::store_bits(terminated, &mut terminated_out[at..]);
                P::store_bits(truncated, &mut truncated_out[at..]);
                store_all(last_out, lanes, at, last);
                store_all(seen_out, lanes, at, seen);
            }
            _ => debug_assert!(random.is_some(), "{job:?} of {}: outputs are missing", spec.name),
        }
    }
    random.map_or_else(RandomSteps::default, |random| random.total())
}

#[inline(always)]
fn zeros<E: Env, P: Pack>() -> E::State<P> {
    <E::State<P> as Fields<P>>::from_fn(|_| P::lit(0.0))
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
