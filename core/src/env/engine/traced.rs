//! Environments inside a traced program: [`Real`] for [`Tensor`], and the `call` nodes of reset and step.

use std::panic::Location;
use std::sync::Arc;

use super::auto::{After, Before, auto_step, first_state};
use crate::Error;
use crate::env::fields::Fields;
use crate::env::real::{Bits, Mask, Real};
use crate::env::{Draws, Env, EnvDef, EnvSpec, TASK_BLOCK};
use crate::program::NativeCall;
use crate::tensor::{Loop, Tensor, call, fail, scan};

impl Mask for Tensor {
    fn splat(value: bool) -> Self {
        Tensor::constant_u32(u32::from(value))
    }
    // Truth values that are constant (an environment that never terminates) leave no nodes behind.
    fn and(self, other: Self) -> Self {
        match (self.constant(), other.constant()) {
            (Some(0.0), _) => self,
            (_, Some(0.0)) => other,
            (Some(_), _) => other,
            (_, Some(_)) => self,
            _ => self.bit_and(other),
        }
    }
    fn or(self, other: Self) -> Self {
        match (self.constant(), other.constant()) {
            (Some(0.0), _) => other,
            (_, Some(0.0)) => self,
            (Some(_), _) => self,
            (_, Some(_)) => other,
            _ => self.bit_or(other),
        }
    }
    fn not(self) -> Self {
        match self.constant() {
            Some(value) => Tensor::constant_u32(u32::from(value == 0.0)),
            None => Tensor::not(self),
        }
    }
    fn any(self) -> bool {
        true
    }
}

impl Bits for Tensor {
    fn splat(value: u32) -> Self {
        Tensor::constant_u32(value)
    }
    fn add(self, other: Self) -> Self {
        self + other
    }
    fn xor(self, other: Self) -> Self {
        self.bit_xor(other)
    }
    fn and(self, other: Self) -> Self {
        self.bit_and(other)
    }
    fn or(self, other: Self) -> Self {
        self.bit_or(other)
    }
    fn shl(self, n: u32) -> Self {
        Tensor::shl(self, Tensor::constant_u32(n))
    }
    fn shr(self, n: u32) -> Self {
        Tensor::shr(self, Tensor::constant_u32(n))
    }
    fn threefry(key: [Self; 2], counter: [Self; 2]) -> [Self; 2] {
        [Tensor::threefry(key, counter, 0), Tensor::threefry(key, counter, 1)]
    }
}

/// Values of any shapes that broadcast; truth values are u32 0 or 1. Operations are those of the graph.
impl Real for Tensor {
    type Mask = Tensor;
    type Bits = Tensor;

    fn lit(value: f64) -> Self {
        Tensor::constant_f32(value)
    }
    fn recip(self) -> Self {
        Tensor::recip(self)
    }
    fn sqrt(self) -> Self {
        Tensor::sqrt(self)
    }
    fn exp(self) -> Self {
        Tensor::exp(self)
    }
    fn log(self) -> Self {
        Tensor::log(self)
    }
    fn sin(self) -> Self {
        Tensor::sin(self)
    }
    fn cos(self) -> Self {
        Tensor::cos(self)
    }
    fn tanh(self) -> Self {
        Tensor::tanh(self)
    }
    fn floor(self) -> Self {
        Tensor::floor(self)
    }
    fn max(self, other: Self) -> Self {
        Tensor::max(self, other)
    }
    fn min(self, other: Self) -> Self {
        Tensor::min(self, other)
    }
    // What is known while tracing, such as where an episode starts, leaves no nodes behind.
    fn lt(self, other: Self) -> Self {
        known(self, other, |a, b| a < b).unwrap_or_else(|| Tensor::lt(self, other))
    }
    fn le(self, other: Self) -> Self {
        let below = || Tensor::lt(self, other).bit_or(Tensor::eq(self, other));
        known(self, other, |a, b| a <= b).unwrap_or_else(below)
    }
    fn eq(self, other: Self) -> Self {
        known(self, other, |a, b| a == b).unwrap_or_else(|| Tensor::eq(self, other))
    }
    fn select(mask: Self, a: Self, b: Self) -> Self {
        match mask.constant() {
            Some(value) => {
                if value != 0.0 {
                    a
                } else {
                    b
                }
            }
            None => Tensor::select(mask, a, b),
        }
    }
    fn uniform(bits: Self) -> Self {
        Bits::shr(bits, 8).to_f32() * (1.0 / 16_777_216.0)
    }
    fn from_count(bits: Self) -> Self {
        bits.to_f32()
    }
    fn to_count(self) -> Self {
        self.to_u32()
    }
    fn count_lt(a: Self, b: Self) -> Self {
        Tensor::lt(a, b)
    }
    fn select_bits(mask: Self, a: Self, b: Self) -> Self {
        Tensor::select(mask, a, b)
    }
    fn lookup(table: &[f64], index: Self) -> Self {
        if table.is_empty() {
            return Tensor::constant_f32(0.0);
        }
        let shape = index.shape();
        Tensor::literal_f32(table).gather(index.to_u32().flatten()).reshape(&shape)
    }
    fn repeat<S: Fields<Self>>(n: usize, state: S, f: impl Fn(S) -> S) -> S {
        if n == 0 {
            return state;
        }
        // A carry keeps its shape; what one application leads to tells which. Its nodes are dropped as unused.
        let once = f(state);
        let shapes: Vec<Vec<usize>> = (0..S::N).map(|i| (state.get(i) * 0.0 + once.get(i)).shape()).collect();
        let init: Vec<Tensor> = (0..S::N).map(|i| state.get(i).broadcast_to(&shapes[i])).collect();
        let (carry, _) = scan(n, false, &init, &[], |_, carry, _| {
            let next = f(S::from_fn(|i| carry[i]));
            Loop { carry: (0..S::N).map(|i| next.get(i).broadcast_to(&shapes[i])).collect(), ys: Vec::new() }
        });
        S::from_fn(|i| carry[i])
    }
}

/// The result of comparing two constants, as the numbers in `f32` that they stand for.
fn known(a: Tensor, b: Tensor, compare: impl Fn(f32, f32) -> bool) -> Option<Tensor> {
    let (a, b) = (a.constant()? as f32, b.constant()? as f32);
    Some(Tensor::constant_u32(u32::from(compare(a, b))))
}

/// Handles to first states, made by [`EnvDef::trace_reset`].
#[derive(Clone, Copy, Debug)]
pub struct TracedReset {
    /// `[rows.., F]`
    pub state: Tensor,
    /// `[rows.., O]`
    pub observation: Tensor,
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

    fn task_fits(&self, op: &'static str, task: Option<Tensor>, at: &'static Location<'static>) -> bool {
        match (task, self.spec().task.len()) {
            (None, 0) => true,
            (Some(task), width) if width > 0 => width_fits(op, "task", task, width, at),
            (task, width) => {
                let got = task.map_or("none".to_owned(), |t| format!("{:?}", t.shape()));
                let expected = if width == 0 { "no task".to_owned() } else { format!("a task [rows.., {width}]") };
                fail(Error::Shape { op, expected, got, at: at.to_string() });
                false
            }
        }
    }
}

/// A call, unless an earlier error left one of its inputs without a meaning.
#[track_caller]
fn call_if_sound(
    name: &'static str,
    inputs: &[Tensor],
    native: &Arc<dyn NativeCall>,
    body: impl FnOnce(&[Tensor]) -> Vec<Tensor>,
) -> Vec<Tensor> {
    if inputs.iter().any(|t| t.is_poison()) { Vec::new() } else { call(name, inputs, native.clone(), body) }
}

/// Tells whether a tensor's last axis has `width` elements; records an error if not. Poison gives false: its error is
/// recorded already.
fn width_fits(op: &'static str, what: &str, x: Tensor, width: usize, at: &'static Location<'static>) -> bool {
    let shape = x.shape();
    let fits = x.is_poison() || shape.last() == Some(&width);
    if !fits {
        let expected = format!("{what} [rows.., {width}]");
        fail(Error::Shape { op, expected, got: format!("{shape:?}"), at: at.to_string() });
    }
    fits && !x.is_poison()
}

/// The results of a call; poison where it failed.
fn all<const N: usize>(outs: &[Tensor]) -> [Tensor; N] {
    std::array::from_fn(|i| outs.get(i).copied().unwrap_or(Tensor::poison()))
}

/// `[rows..]` as `[rows.., 1]`.
fn column(x: Tensor, rows: &[usize]) -> Tensor {
    x.broadcast_to(rows).unsqueeze(rows.len())
}

fn key_pair(key: [Tensor; 2], rows: &[usize]) -> Tensor {
    Tensor::stack(&key.map(|word| word.broadcast_to(rows)), rows.len())
}

/// `[.., M]` broadcast to `[rows.., M]`.
fn last_axis(x: Tensor, rows: &[usize]) -> Tensor {
    let width = x.shape().last().copied().unwrap_or(1);
    x.broadcast_to(&[rows, &[width]].concat())
}

/// The numbers of the last axis as single tensors.
fn parts(x: Tensor) -> Vec<Tensor> {
    let axis = x.rank().saturating_sub(1);
    (0..x.size(axis)).map(|i| x.index(axis, i)).collect()
}

/// Single tensors as the numbers of a last axis.
fn join(parts: &[Tensor], rows: &[usize]) -> Tensor {
    let parts: Vec<Tensor> = parts.iter().map(|p| p.broadcast_to(rows)).collect();
    Tensor::stack(&parts, rows.len())
}

fn join_state<E: Env>(state: &E::State<Tensor>, rows: &[usize]) -> Tensor {
    let fields: Vec<Tensor> = (0..<E::State<Tensor> as Fields<Tensor>>::N).map(|i| state.get(i)).collect();
    join(&fields, rows)
}

fn rows_of(x: Tensor) -> Vec<usize> {
    let mut shape = x.shape();
    shape.pop();
    shape
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

/// The sub-graph of a reset: operands and results as of the lane block.
pub(in crate::env) fn reset<E: Env>(env: &E, spec: &EnvSpec, inputs: &[Tensor]) -> Vec<Tensor> {
    let [key, element, rest @ ..] = inputs else { return Vec::new() };
    let rows = rows_of(*element);
    let task = rest.first().map_or_else(Vec::new, |t| parts(*t));
    let state = first_state::<Tensor, E>(env, &task, two(*key), parts(*element)[0]);
    let mut seen = vec![Tensor::constant_f32(0.0); spec.observation.len()];
    env.observe(&state, &task, &mut seen);
    vec![join_state::<E>(&state, &rows), join(&seen, &rows)]
}

/// The sub-graph of a step: operands and results as of the lane block.
pub(in crate::env) fn step<E: Env>(env: &E, spec: &EnvSpec, inputs: &[Tensor]) -> Vec<Tensor> {
    let [state, steps, action, key, element, rest @ ..] = inputs else { return Vec::new() };
    let rows = rows_of(*steps);
    let (task, action) = (rest.first().map_or_else(Vec::new, |t| parts(*t)), parts(*action));
    let fields = parts(*state);
    let before = Before {
        state: <E::State<Tensor> as Fields<Tensor>>::from_fn(|i| fields[i]),
        steps: parts(*steps)[0],
        action: &action,
        task: &task,
        key: two(*key),
        element: parts(*element)[0],
    };
    let mut last = vec![Tensor::constant_f32(0.0); spec.observation.len()];
    let mut seen = last.clone();
    let horizon = u32::try_from(spec.horizon).unwrap_or(u32::MAX);
    let After { state, steps, reward, terminated, truncated } =
        auto_step::<Tensor, E>(env, horizon, before, &mut last, &mut seen);
    let single = |t: Tensor| join(&[t], &rows);
    vec![
        join_state::<E>(&state, &rows),
        single(steps),
        single(reward),
        single(terminated),
        single(truncated),
        join(&last, &rows),
        join(&seen, &rows),
    ]
}

fn two(key: Tensor) -> [Tensor; 2] {
    let axis = key.rank().saturating_sub(1);
    [key.index(axis, 0), key.index(axis, 1)]
}
