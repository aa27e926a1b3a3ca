//! Environments without type parameters.

use std::fmt;
use std::sync::Arc;

use super::engine::erased::{Erased, Typed};
use super::engine::job::{Block, Job};
use super::engine::native_job::NativeJob;
use super::fields::Fields;
use super::{ActionSpace, Env, EnvSpec, Scene};
use crate::backend::cpu::simd::isa::Isa;
use crate::program::NativeCall;
use crate::{Error, Result};

/// A handle to an environment: what algorithms, sessions and painters take. Cheap to clone.
#[derive(Clone)]
pub struct EnvDef {
    spec: Arc<EnvSpec>,
    state_len: usize,
    pub(super) env: Arc<dyn Erased>,
    reset: Arc<dyn NativeCall>,
    step: Arc<dyn NativeCall>,
}

impl EnvDef {
    /// Erases the type of an environment.
    ///
    /// # Errors
    /// [`Error::Environment`] if its spec cannot work: an empty state, observation or action, a range from high to low
    /// or not finite where it must be, a time limit of 0, steps that take no time, tasks that are not finite.
    pub fn new<E: Env>(env: E) -> Result<Self> {
        let spec = Arc::new(env.spec());
        let state_len = <E::State<f64> as Fields<f64>>::N;
        if let Some(problem) = spec_problem(&spec, state_len) {
            return Err(Error::Environment { name: spec.name.clone(), problem });
        }
        let def = Self::with_spec(Arc::new(env), spec);
        match def.task_problem() {
            Some(problem) => Err(Error::Environment { name: def.spec.name.clone(), problem }),
            None => Ok(def),
        }
    }

    /// Erases the type of an environment with a spec that can work.
    pub(super) fn with_spec<E: Env>(env: Arc<E>, spec: Arc<EnvSpec>) -> Self {
        let env: Arc<dyn Erased> = Arc::new(Typed { env, spec: spec.clone() });
        let state_len = <E::State<f64> as Fields<f64>>::N;
        let native = |job| Arc::new(NativeJob { env: env.clone(), spec: spec.clone(), state_len, job });
        let (reset, step) = (native(Job::Reset), native(Job::Step));
        Self { spec, state_len, env, reset, step }
    }

    /// Spaces, time limit and task parameters.
    #[must_use]
    pub fn spec(&self) -> &EnvSpec {
        &self.spec
    }

    /// How many numbers a state has.
    #[must_use]
    pub fn state_len(&self) -> usize {
        self.state_len
    }

    /// The names of a state's numbers, in order: those of the fields, such as `speed` or `links.2.angle`; an array's
    /// numbers are counted from 0.
    #[must_use]
    pub fn state_names(&self) -> Vec<String> {
        self.env.state_names()
    }

    /// Shapes to paint a state.
    ///
    /// # Errors
    /// [`Error::Environment`] if `state` or `task` has the wrong length.
    pub fn draw(&self, state: &[f32], task: &[f32]) -> Result<Scene> {
        self.expect("draw", "state", state.len(), self.state_len)?;
        self.expect("draw", "task", task.len(), self.spec.task.len())?;
        Ok(self.env.draw(state, task))
    }

    /// Tells whether a step was a success, if the environment [knows](super::Env::success).
    ///
    /// # Errors
    /// [`Error::Environment`] if `before` or `task` has the wrong length.
    #[cfg(feature = "standalone")]
    pub fn success(&self, before: &[f32], reward: f32, terminated: bool, task: &[f32]) -> Result<Option<bool>> {
        self.expect("success", "state", before.len(), self.state_len)?;
        self.expect("success", "task", task.len(), self.spec.task.len())?;
        Ok(self.env.success(before, reward, terminated, task))
    }

    /// First states of a block of rows. Inputs: key `[2]`, element `[1]` (u32), then task `[D]` if there is one.
    /// Outputs: state `[F]`, observation `[O]`.
    #[must_use]
    pub fn reset_block(&self) -> &Arc<dyn NativeCall> {
        &self.reset
    }

    /// One step with automatic reset of a block of rows.
    ///
    /// Inputs: state `[F]`, steps taken `[1]` (u32), action `[A]`, key `[2]`, element `[1]` (u32), then task `[D]` if
    /// there is one. Outputs: state `[F]` and steps `[1]` after any reset, reward `[1]`, terminated `[1]`, truncated
    /// `[1]` (u32 0 or 1), observation before `[O]` and after any reset `[O]`. Each is lane-major, `[M][lanes]`.
    #[must_use]
    pub fn step_block(&self) -> &Arc<dyn NativeCall> {
        &self.step
    }

    /// Does a job for a block of `lanes` environments.
    pub(in crate::env) fn run(
        &self,
        isa: Isa,
        job: Job<'_>,
        lanes: usize,
        inputs: &[&[f32]],
        outputs: &mut [&mut [f32]],
    ) {
        Block::with(&self.spec, job, [lanes, self.state_len], inputs, outputs, |block| self.env.run(isa, block));
    }

    pub(super) fn expect(&self, op: &str, what: &str, got: usize, expected: usize) -> Result<()> {
        if got == expected {
            return Ok(());
        }
        let problem = format!("{op}: {what} has {got} numbers, expected {expected}");
        Err(Error::Environment { name: self.spec.name.clone(), problem })
    }
}

impl fmt::Debug for EnvDef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EnvDef").field("spec", &self.spec).finish_non_exhaustive()
    }
}

/// Describes the first fault of a spec, if it has one.
pub fn spec_problem(spec: &EnvSpec, state_len: usize) -> Option<String> {
    if state_len == 0 {
        return Some("the state has no numbers; keep at least one, a constant if need be".to_owned());
    }
    let (bounded, several) = match &spec.action {
        ActionSpace::Discrete { .. } => (&[][..], &[][..]),
        ActionSpace::Box { dims } => (&dims[..], &[][..]),
        ActionSpace::MultiDiscrete { choices } => (&[][..], &choices[..]),
    };
    if spec.observation.is_empty() || spec.action.dim() == 0 || spec.action.choices() == Some(0) {
        return Some("observation and action need at least one number or choice".to_owned());
    }
    if let Some(choice) = several.iter().find(|choice| choice.names.is_empty()) {
        return Some(format!("the choice `{}` of actions needs at least one option", choice.name));
    }
    if spec.horizon == 0 || u32::try_from(spec.horizon).is_err() {
        return Some(format!("the time limit is {}, expected 1 to 2³² − 1 steps", spec.horizon));
    }
    if !(spec.dt > 0.0 && spec.dt.is_finite()) {
        return Some(format!("a step takes {} s, expected a time above 0", spec.dt));
    }
    if let Some(dim) = bounded.iter().find(|d| !(d.low.is_finite() && d.high.is_finite())) {
        return Some(format!("action `{}` needs finite bounds", dim.name));
    }
    if let Some(problem) = bounded.iter().find_map(super::Dim::problem_of_action) {
        return Some(problem);
    }
    if let Some(problem) = spec.goal.as_ref().and_then(|goal| goal.problem(spec.observation.len())) {
        return Some(problem);
    }
    let mut all = spec.observation.iter().chain(bounded).chain(&spec.task);
    all.find(|d| d.low >= d.high || d.low.is_nan() || d.high.is_nan())
        .map(|d| format!("`{}` has the range {} to {}", d.name, d.low, d.high))
}
