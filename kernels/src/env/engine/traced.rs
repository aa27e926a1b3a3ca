//! Environments inside a traced program: the `call` nodes of a reset, and what else a graph asks of an environment.
//! [`step`](super::step) has the node of a step.

use std::panic::Location;

use super::graph_rows::{
    all, call_if_sound, column, join, join_state, key_pair, last_axis, parts, rows_of, state_of, two, width_fits,
};
use super::step::first_state;
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
pub(super) fn tasks<E: Env>(env: &E, spec: &EnvSpec, key: [Tensor; 2], element: Tensor) -> Tensor {
    let mut task = vec![Tensor::constant_f32(0.0); spec.task.len()];
    env.sample_task(&mut Draws::new(key, element, TASK_BLOCK), &mut task);
    join(&task, &element.shape())
}

/// Tells of each step whether it was a success, u32 `[rows..]`; none if the environment does not know. `before`:
/// `[rows.., F]`; reward and `terminated`: `[rows..]`; `task`: `[rows.., D]`.
pub(super) fn success<E: Env>(
    env: &E,
    before: Tensor,
    [reward, terminated]: [Tensor; 2],
    task: Option<Tensor>,
) -> Option<Tensor> {
    env.success(&state_of::<E>(before), reward, terminated, &task.map_or_else(Vec::new, parts))
}

/// The dense reward of each step, `[rows..]`; none if the environment has no such. `before`: `[rows.., F]`;
/// `action`: `[rows.., A]`; `task`: `[rows.., D]`.
pub(super) fn dense_reward<E: Env>(env: &E, before: Tensor, action: Tensor, task: Option<Tensor>) -> Option<Tensor> {
    env.dense_reward(&state_of::<E>(before), &parts(action), &task.map_or_else(Vec::new, parts))
}

/// The sub-graph of a reset: operands and results as of the lane block.
pub(super) fn reset<E: Env>(env: &E, spec: &EnvSpec, inputs: &[Tensor]) -> Vec<Tensor> {
    let [key, element, rest @ ..] = inputs else { return Vec::new() };
    let rows = rows_of(*element);
    let task = rest.first().map_or_else(Vec::new, |t| parts(*t));
    let state = first_state::<Tensor, E>(env, &task, two(*key), parts(*element)[0]);
    let mut seen = vec![Tensor::constant_f32(0.0); spec.observation.len()];
    env.observe(&state, &task, &mut seen);
    vec![join_state::<E>(&state, &rows), join(&seen, &rows)]
}
