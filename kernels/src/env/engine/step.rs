//! One step of an environment with automatic reset, and its node in a graph: the single source of lane blocks and of
//! traced programs.

use std::panic::Location;

use super::graph_rows::{
    all, call_if_sound, column, join, join_state, key_pair, last_axis, parts, rows_of, state_of, two, width_fits,
};
use crate::env::draws::{Draws, RESET_BLOCK, STEP_BLOCK};
use crate::env::fields::Fields;
use crate::env::real::{Bits, Mask, Real};
use crate::env::{Env, EnvDef, EnvSpec};
use crate::tensor::Tensor;

/// Environments where they are: after a step that ended an episode, at the start of the next one.
#[derive(Clone, Copy)]
pub(crate) struct Current<R: Real, E: Env> {
    pub state: E::State<R>,
    /// Steps that the running episodes have taken.
    pub steps: R::Bits,
}

/// The inputs of a step beside the environments.
#[derive(Clone, Copy)]
pub(crate) struct StepInputs<'a, R: Real> {
    pub action: &'a [R],
    pub task: &'a [R],
    /// Holds the time step; draws count from [`STEP_BLOCK`] and [`RESET_BLOCK`] under it.
    pub key: [R::Bits; 2],
    pub element: R::Bits,
}

/// The outcome of a step of running episodes.
#[derive(Clone, Copy)]
pub(crate) struct StepEnd<R: Real> {
    pub reward: R,
    pub terminated: R::Mask,
    pub truncated: R::Mask,
    /// Some environment began a new episode: otherwise there are no observations but the last ones.
    pub begun: bool,
}

/// The parts of a step that are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StepParts {
    /// The environment steps; otherwise it stays where it is.
    pub step: bool,
    /// Environments that begin a new episode.
    pub begin: Begin,
    /// Observations are made, before and after a new episode begins.
    pub observe: bool,
}

/// Environments that begin a new episode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Begin {
    /// Environments whose episode has ended.
    Ended,
    /// All environments.
    All,
    /// No environments: they stay in a final state.
    None,
}

impl StepParts {
    /// A step as training makes it.
    pub const ALL: StepParts = StepParts { step: true, begin: Begin::Ended, observe: true };
}

/// Step, then start a new episode where one ended, as far as `parts` say; `first` is the first state of all episodes,
/// if it is not drawn.
///
/// `last` gets the observation before any reset; `seen` the one after, where [`begun`](StepEnd::begun). An episode that
/// terminates in its last allowed step is not truncated.
///
/// Environments change in place, as copies of large states take as long as a step.
#[inline(always)]
pub(crate) fn auto_step<R: Real, E: Env>(
    env: &E,
    horizon: u32,
    parts: StepParts,
    Current { state, steps }: &mut Current<R, E>,
    inputs: StepInputs<'_, R>,
    first: Option<&E::State<R>>,
    [last, seen]: [&mut [R]; 2],
) -> StepEnd<R> {
    let StepInputs { action, task, key, element } = inputs;
    let (mut reward, mut terminated) = (R::lit(0.0), R::Mask::splat(false));
    if parts.step {
        let step = env.step(*state, action, task, &mut Draws::new(key, element, STEP_BLOCK));
        (reward, terminated) = (step.reward, step.terminated);
        *state = step.next;
        *steps = steps.add(R::Bits::splat(1));
    }
    let truncated = R::count_lt(*steps, R::Bits::splat(horizon)).not().and(terminated.not());
    if parts.observe {
        env.observe(state, task, last);
    }
    let begin = match parts.begin {
        Begin::Ended => terminated.or(truncated),
        Begin::All => R::Mask::splat(true),
        Begin::None => R::Mask::splat(false),
    };
    let begun = begin.any();
    if begun {
        let fresh = match first {
            Some(first) => *first,
            None => env.reset(task, &mut Draws::new(key, element, RESET_BLOCK)),
        };
        *state = <E::State<R> as Fields<R>>::select(begin, fresh, *state);
        *steps = R::select_bits(begin, R::Bits::splat(0), *steps);
        if parts.observe {
            env.observe(state, task, seen);
        }
    }
    StepEnd { reward, terminated, truncated, begun }
}

/// The first state of an episode.
#[inline(always)]
pub(crate) fn first_state<R: Real, E: Env>(env: &E, task: &[R], key: [R::Bits; 2], element: R::Bits) -> E::State<R> {
    env.reset(task, &mut Draws::new(key, element, RESET_BLOCK))
}

/// Handles to what a step leads to, made by [`EnvDef::trace_step`]. Where an episode ended, `state`, `steps` and
/// `observation` are those of the next one's start.
#[derive(Clone, Copy, Debug)]
pub struct TracedStep {
    /// `[rows.., F]`
    pub state: Tensor,
    /// Steps that the running episode has taken, u32 `[rows..]`.
    pub steps: Tensor,
    /// `[rows..]`
    pub reward: Tensor,
    /// The episode ended in a final state: u32 0 or 1, `[rows..]`.
    pub terminated: Tensor,
    /// The episode was cut by its time limit, and had not terminated: u32 0 or 1, `[rows..]`.
    pub truncated: Tensor,
    /// The observation before any reset, for bootstrapping: `[rows.., O]`.
    pub last_observation: Tensor,
    /// The observation to act on next: `[rows.., O]`.
    pub observation: Tensor,
}

impl EnvDef {
    /// One step of rows of environments, with automatic reset.
    ///
    /// `state`: `[rows.., F]`; `steps`: u32 `[rows..]`; `action`: `[rows.., A]`, of a discrete space the index as f32;
    /// `key`, `element` and `task` as of [`trace_reset`](Self::trace_reset). The key must be another one at every time
    /// step; a reset at that step draws from the same key.
    #[track_caller]
    pub fn trace_step(
        &self,
        state: Tensor,
        steps: Tensor,
        action: Tensor,
        key: [Tensor; 2],
        element: Tensor,
        task: Option<Tensor>,
    ) -> TracedStep {
        let rows = steps.shape();
        let at = Location::caller();
        let fits = width_fits("env_step", "state", state, self.state_len(), at)
            && width_fits("env_step", "action", action, self.spec().action.dim(), at)
            && self.task_fits("env_step", task, at);
        let mut outs = Vec::new();
        if fits {
            let mut inputs = vec![state, column(steps, &rows), action, key_pair(key, &rows), column(element, &rows)];
            inputs.extend(task.map(|t| last_axis(t, &rows)));
            outs = call_if_sound("env_step", &inputs, self.step_block(), |p| self.env.trace_step(p));
        }
        let [state, steps, reward, terminated, truncated, last_observation, observation] = all(&outs);
        let [steps, reward, terminated, truncated] =
            [steps, reward, terminated, truncated].map(|t| t.index(rows.len(), 0));
        TracedStep { state, steps, reward, terminated, truncated, last_observation, observation }
    }
}

/// The sub-graph of a step: operands and results as of the lane block.
pub(super) fn step<E: Env>(env: &E, spec: &EnvSpec, inputs: &[Tensor]) -> Vec<Tensor> {
    let [state, steps, action, key, element, rest @ ..] = inputs else { return Vec::new() };
    let rows = rows_of(*steps);
    let (task, action) = (rest.first().map_or_else(Vec::new, |t| parts(*t)), parts(*action));
    let mut now = Current::<Tensor, E> { state: state_of::<E>(*state), steps: parts(*steps)[0] };
    let inputs = StepInputs { action: &action, task: &task, key: two(*key), element: parts(*element)[0] };
    let mut last = vec![Tensor::constant_f32(0.0); spec.observation.len()];
    let mut seen = last.clone();
    let horizon = u32::try_from(spec.horizon).unwrap_or(u32::MAX);
    let StepEnd { reward, terminated, truncated, begun: _ } =
        auto_step(env, horizon, StepParts::ALL, &mut now, inputs, None, [&mut last, &mut seen]);
    let single = |t: Tensor| join(&[t], &rows);
    vec![
        join_state::<E>(&now.state, &rows),
        single(now.steps),
        single(reward),
        single(terminated),
        single(truncated),
        join(&last, &rows),
        join(&seen, &rows),
    ]
}
