//! Environments inside a traced program: the `call` nodes of a reset, and what else a graph asks of an environment.
//! [`step`](super::step) has the node of a step.

use std::panic::Location;

use super::graph_rows::{all, call_if_sound, column, join, key_pair, last_axis, parts, rows_of, two, width_fits};
use super::step::{first_state, numbers_of};
use crate::env::fields::Fields;
use crate::env::real::Real;
use crate::env::{Draws, Env, EnvDef, EnvSpec, TASK_BLOCK};
use crate::tensor::Tensor;

/// Handles to first states, made by [`EnvDef::trace_reset`].
#[derive(Clone, Copy, Debug)]
pub struct TracedReset {
    /// `[rows.., F]`
    pub state: Tensor,
    /// `[rows.., O]`
    pub observation: Tensor,
}

impl EnvDef {
    /// First states of rows of environments.
    ///
    /// `key`: two u32 words, `[]` or anything that broadcasts to the rows; `element`: u32 `[rows..]`, the number of
    /// each environment, which tells its random numbers from the others'; `task`: `[rows.., D]`, only if the spec has
    /// task parameters. Wrong shapes are errors of the trace.
    #[track_caller]
    pub fn trace_reset(&self, key: [Tensor; 2], element: Tensor, task: Option<Tensor>) -> TracedReset {
        let rows = element.shape();
        let at = Location::caller();
        if !self.task_fits("env_reset", task, at) {
            return TracedReset { state: Tensor::poison(), observation: Tensor::poison() };
        }
        let mut inputs = vec![key_pair(key, &rows), column(element, &rows)];
        inputs.extend(task.map(|t| last_axis(t, &rows)));
        let outs = call_if_sound("env_reset", &inputs, self.reset_block(), |p| self.env.trace_reset(p));
        let [state, observation] = all(&outs);
        TracedReset { state, observation }
    }

    /// Tells of each step whether it was a success, u32 `[rows.., 1]`; none if the environment
    /// [does not know](crate::env::Env::success).
    ///
    /// `before`: the states that were acted in, `[rows.., F]`; `reward` and `terminated` (u32): `[rows.., 1]`; `task`
    /// as of [`trace_reset`](Self::trace_reset).
    #[track_caller]
    pub fn trace_success(
        &self,
        before: Tensor,
        reward: Tensor,
        terminated: Tensor,
        task: Option<Tensor>,
    ) -> Option<Tensor> {
        if [before, reward, terminated].iter().any(|x| x.is_poison())
            || !width_fits("env_success", "state", before, self.state_len(), Location::caller())
        {
            return None;
        }
        let rows = rows_of(reward);
        let single = |x: Tensor| x.index(rows.len(), 0);
        let task = task.map(|task| last_axis(task, &rows));
        let found = self.env.trace_success(before, single(reward), single(terminated), task)?;
        Some(column(found, &rows))
    }

    /// The [dense reward](crate::env::Env::dense_reward) of each step, `[rows.., 1]`; none if the environment has no
    /// such.
    ///
    /// `before`: the states that were acted in, `[rows.., F]`; `action`: `[rows.., A]`; `task` as of
    /// [`trace_reset`](Self::trace_reset).
    #[track_caller]
    pub fn trace_dense_reward(&self, before: Tensor, action: Tensor, task: Option<Tensor>) -> Option<Tensor> {
        if [before, action].iter().any(|x| x.is_poison())
            || !width_fits("env_dense_reward", "state", before, self.state_len(), Location::caller())
        {
            return None;
        }
        let rows = rows_of(before);
        let task = task.map(|task| last_axis(task, &rows));
        let found = self.env.trace_dense_reward(before, action, task)?;
        Some(column(found, &rows))
    }
}

/// The task of each row, `[rows.., D]`.
pub(in crate::env) fn tasks<E: Env>(env: &E, spec: &EnvSpec, key: [Tensor; 2], element: Tensor) -> Tensor {
    let mut task = vec![Tensor::constant_f32(0.0); spec.task.len()];
    env.sample_task(&mut Draws::new(key, element, TASK_BLOCK), &mut task);
    join(&task, &element.shape())
}

/// Tells of each step whether it was a success, u32 `[rows..]`; none if the environment does not know. `before`:
/// `[rows.., F]`; reward and `terminated`: `[rows..]`; `task`: `[rows.., D]`.
pub(in crate::env) fn success<E: Env>(
    env: &E,
    before: Tensor,
    [reward, terminated]: [Tensor; 2],
    task: Option<Tensor>,
) -> Option<Tensor> {
    let fields = parts(before);
    let before = <E::State<Tensor> as Fields<Tensor>>::from_fn(|i| fields[i]);
    env.success(&before, reward, terminated, &task.map_or_else(Vec::new, parts))
}

/// The dense reward of each step, `[rows..]`; none if the environment has no such. `before`: `[rows.., F]`;
/// `action`: `[rows.., A]`; `task`: `[rows.., D]`.
pub(in crate::env) fn dense_reward<E: Env>(
    env: &E,
    before: Tensor,
    action: Tensor,
    task: Option<Tensor>,
) -> Option<Tensor> {
    let fields = parts(before);
    let before = <E::State<Tensor> as Fields<Tensor>>::from_fn(|i| fields[i]);
    env.dense_reward(&before, &parts(action), &task.map_or_else(Vec::new, parts))
}

/// First states of rows of environments and what is seen there, number by number.
pub(in crate::env) fn whole_reset<R: Real, E: Env>(
    env: &E,
    spec: &EnvSpec,
    key: [R::Bits; 2],
    element: R::Bits,
    task: &[R],
) -> [Vec<R>; 2] {
    let state = first_state::<R, E>(env, task, key, element);
    let mut seen = vec![R::lit(0.0); spec.observation.len()];
    env.observe(&state, task, &mut seen);
    [numbers_of::<R, E>(&state), seen]
}

/// The sub-graph of a reset: operands and results as of the lane block.
pub(in crate::env) fn reset<E: Env>(env: &E, spec: &EnvSpec, inputs: &[Tensor]) -> Vec<Tensor> {
    let [key, element, rest @ ..] = inputs else { return Vec::new() };
    let rows = rows_of(*element);
    let task = rest.first().map_or_else(Vec::new, |t| parts(*t));
    whole_reset::<Tensor, E>(env, spec, two(*key), parts(*element)[0], &task)
        .map(|numbers| join(&numbers, &rows))
        .into()
}
