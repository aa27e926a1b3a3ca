//! One environment at a time on the host, in `f64` or in `f32`: to compare with, and for people's own programs.

use std::fmt;

use super::host_step::HostStep;
use super::one::One;
use crate::Result;
use crate::env::EnvDef;
use crate::rng::Key;

/// Numbers that one environment can be stepped with: `f64`, and `f32` with the lanes' arithmetic.
pub trait Scalar: Copy + fmt::Debug + Into<f64> + sealed::Sealed {}

impl Scalar for f64 {}
impl Scalar for f32 {}

mod sealed {
    use super::{EnvDef, HostStep, Key};

    pub trait Sealed: Sized {
        fn sample_task(env: &EnvDef, key: Key, element: u32) -> Vec<Self>;
        fn reset(env: &EnvDef, task: &[Self], key: Key, element: u32) -> Vec<Self>;
        fn observe(env: &EnvDef, state: &[Self], task: &[Self]) -> Vec<Self>;
        fn step(env: &EnvDef, state: &[Self], action: &[Self], task: &[Self], key: Key, element: u32)
        -> HostStep<Self>;
    }
}

impl sealed::Sealed for f64 {
    fn sample_task(env: &EnvDef, key: Key, element: u32) -> Vec<f64> {
        env.env.sample_task_f64(key, element)
    }
    fn reset(env: &EnvDef, task: &[f64], key: Key, element: u32) -> Vec<f64> {
        env.env.reset_f64(task, key, element)
    }
    fn observe(env: &EnvDef, state: &[f64], task: &[f64]) -> Vec<f64> {
        env.env.observe_f64(state, task)
    }
    fn step(env: &EnvDef, state: &[f64], action: &[f64], task: &[f64], key: Key, element: u32) -> HostStep<f64> {
        env.env.step_f64(state, action, task, key, element)
    }
}

impl sealed::Sealed for f32 {
    fn sample_task(env: &EnvDef, key: Key, element: u32) -> Vec<f32> {
        env.env.sample_task_f32(key, element)
    }
    fn reset(env: &EnvDef, task: &[f32], key: Key, element: u32) -> Vec<f32> {
        One { env, task, key, element }.reset()
    }
    fn observe(env: &EnvDef, state: &[f32], task: &[f32]) -> Vec<f32> {
        One { env, task, key: [0; 2], element: 0 }.observe(state)
    }
    fn step(env: &EnvDef, state: &[f32], action: &[f32], task: &[f32], key: Key, element: u32) -> HostStep<f32> {
        One { env, task, key, element }.step(state, action)
    }
}

impl EnvDef {
    /// A first state, drawn as a lane block with the same key and element draws it.
    ///
    /// # Errors
    /// [`crate::Error::Environment`] if `task` has the wrong length.
    pub fn reset<T: Scalar>(&self, task: &[T], key: Key, element: u32) -> Result<Vec<T>> {
        self.expect("reset", "task", task.len(), self.spec().task.len())?;
        Ok(T::reset(self, task, key, element))
    }

    /// The agent's observation of a state.
    ///
    /// # Errors
    /// [`crate::Error::Environment`] if `state` or `task` has the wrong length.
    pub fn observe<T: Scalar>(&self, state: &[T], task: &[T]) -> Result<Vec<T>> {
        self.expect("observe", "state", state.len(), self.state_len())?;
        self.expect("observe", "task", task.len(), self.spec().task.len())?;
        Ok(T::observe(self, state, task))
    }

    /// One step without reset or time limit. `key` holds the time step.
    ///
    /// # Errors
    /// [`crate::Error::Environment`] if `state`, `action` or `task` has the wrong length.
    pub fn step<T: Scalar>(
        &self,
        state: &[T],
        action: &[T],
        task: &[T],
        key: Key,
        element: u32,
    ) -> Result<HostStep<T>> {
        self.expect("step", "state", state.len(), self.state_len())?;
        self.expect("step", "action", action.len(), self.spec().action.dim())?;
        self.expect("step", "task", task.len(), self.spec().task.len())?;
        Ok(T::step(self, state, action, task, key, element))
    }
}
