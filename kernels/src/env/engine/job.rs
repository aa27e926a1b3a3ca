//! Jobs of blocks of environments, and the memory that they read and write.
//!
//! A block of `lanes` rows is lane-major: a value of M numbers is `[M][lanes]`, u32 values bit-cast to f32.
use std::mem::MaybeUninit;

use super::random_actions::Rounds;
use super::step::{Begin, StepParts};
use crate::env::EnvSpec;

/// The job of a run over a block of environments: its inputs and outputs in order.
#[derive(Clone, Copy, Debug)]
pub(in crate::env) enum Job<'a> {
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
    /// Rounds of steps with automatic reset and random actions, of which nothing is observed.
    ///
    /// Inputs: those of a step, but for actions one random word per environment `[1]` (u32). Outputs: those of a step,
    /// but the sum of all rewards, the number of episodes that ended in place of `terminated`, and no observations.
    #[cfg_attr(not(feature = "standalone"), expect(dead_code, reason = "rounds are for benchmarks"))]
    Rounds(Rounds<'a>),
}

impl Job<'_> {
    fn parts(self) -> StepParts {
        match self {
            Job::Reset => StepParts { step: false, begin: Begin::All, observe: true },
            Job::Step => StepParts::ALL,
            Job::Bare => StepParts { begin: Begin::None, ..StepParts::ALL },
            Job::Observe => StepParts { step: false, begin: Begin::None, observe: true },
            Job::Rounds(_) => StepParts { observe: false, ..StepParts::ALL },
        }
    }
}

/// A job with the memory of a block. Inputs that the job does not have are empty; all others and the outputs hold as
/// many numbers as [`Job`] says.
pub(in crate::env) struct Block<'a, 'b> {
    _checked: (),
    pub parts: StepParts,
    /// Steps with random actions; none for a single step.
    pub rounds: Option<&'a Rounds<'a>>,
    pub horizon: u32,
    pub lanes: usize,
    pub states: &'a [f32],
    pub counts: &'a [f32],
    pub actions: &'a [f32],
    pub keys: &'a [f32],
    pub elements: &'a [f32],
    pub tasks: &'a [f32],
    pub next_states: &'a mut [f32],
    pub step: Option<StepOutputs<'a, 'b>>,
    /// Observations to act on next.
    pub observations: &'a mut [f32],
    /// How many numbers a state, an observation, an action and a task have.
    pub widths: [usize; 4],
    /// Room for two observations, two actions and a task of as many lanes as a pack has.
    pub room: &'a mut [MaybeUninit<Sixteen>],
}

/// Results of steps.
pub(in crate::env) struct StepOutputs<'a, 'b> {
    pub counts: &'a mut &'b mut [f32],
    pub rewards: &'a mut &'b mut [f32],
    pub terminated: &'a mut &'b mut [f32],
    pub truncated: &'a mut &'b mut [f32],
    /// Observations before any reset.
    pub last_observations: &'a mut &'b mut [f32],
}

/// A number in each of 16 lanes, as many as the widest pack has.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(in crate::env) struct Sixteen([f32; 16]);

/// Numbers per lane that a block keeps on the stack; more go to the heap, once per block.
const ON_STACK: usize = 256;

impl Block<'_, '_> {
    /// Lays out the memory of a job for `lanes` environments with states of `state_len` numbers, and does it by `run`.
    pub fn with(
        spec: &EnvSpec,
        job: Job<'_>,
        [lanes, state_len]: [usize; 2],
        inputs: &[&[f32]],
        outputs: &mut [&mut [f32]],
        run: impl FnOnce(Block<'_, '_>),
    ) {
        const NONE: &[f32] = &[];
        let (states, counts, actions, keys, elements, tasks) = match (job, inputs) {
            (Job::Reset, [key, element, rest @ ..]) => (NONE, NONE, NONE, *key, *element, rest),
            (_, [state, steps, action, key, element, rest @ ..]) => (*state, *steps, *action, *key, *element, rest),
            _ => return debug_assert!(false, "{job:?} of {}: inputs are missing", spec.name),
        };
        let (next_states, step, observations) = match outputs {
            [state, seen] => (state, None, seen),
            [state, counts, rewards, terminated, truncated, last_observations, seen] => {
                (state, Some(StepOutputs { counts, rewards, terminated, truncated, last_observations }), seen)
            }
            _ => return debug_assert!(false, "{job:?} of {}: outputs are missing", spec.name),
        };
        let (observed, acted, told) = (spec.observation.len(), spec.action.dim(), spec.task.len());
        let tasks = tasks.first().copied().unwrap_or(NONE);
        let seen = if let Job::Rounds(_) = job { 0 } else { observed };
        // Reads and writes of packs rely on this.
        let mut fits = keys.len() == 2 * lanes && elements.len() == lanes && tasks.len() == told * lanes;
        fits &= next_states.len() == state_len * lanes && observations.len() == seen * lanes;
        match (job, &step) {
            (Job::Reset, None) => {}
            (Job::Reset, Some(_)) | (_, None) => fits = false,
            (_, Some(step)) => {
                let acted = if let Job::Rounds(_) = job { 1 } else { acted };
                fits &= states.len() == state_len * lanes && counts.len() == lanes && actions.len() == acted * lanes;
                let StepOutputs { counts, rewards, terminated, truncated, last_observations } = step;
                fits &= [counts, rewards, terminated, truncated].iter().all(|x| x.len() == lanes);
                fits &= last_observations.len() == seen * lanes;
            }
        }
        assert!(fits, "{job:?} of {}: blocks of other lengths than its documentation says", spec.name);
        let numbers = 2 * (observed + acted) + told;
        let mut stack = [MaybeUninit::<Sixteen>::uninit(); ON_STACK];
        let mut heap = Vec::new();
        let room = match stack.get_mut(..numbers) {
            Some(stack) => stack,
            None => {
                heap.resize(numbers, MaybeUninit::uninit());
                &mut heap[..]
            }
        };
        run(Block {
            _checked: (),
            parts: job.parts(),
            rounds: if let Job::Rounds(rounds) = &job { Some(rounds) } else { None },
            horizon: u32::try_from(spec.horizon).unwrap_or(u32::MAX),
            lanes,
            states,
            counts,
            actions,
            keys,
            elements,
            tasks,
            next_states,
            step,
            observations,
            widths: [state_len, observed, acted, told],
            room,
        });
    }
}
