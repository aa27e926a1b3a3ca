//! Environments behind a trait object.

use std::sync::Arc;

#[cfg(feature = "standalone")]
use super::block::{StepBlock, step_lanes};
#[cfg(feature = "standalone")]
use super::host_step::HostStep;
use super::lanes::{LaneBits, Lanes};
#[cfg(feature = "standalone")]
use super::random::{RandomSteps, Source, random_steps};
use super::{step, traced};
#[cfg(feature = "standalone")]
use crate::backend::cpu::simd::isa::Isa;
use crate::env::fields::Fields;
use crate::env::real::Bits;
#[cfg(feature = "standalone")]
use crate::env::real::{Mask, Real};
use crate::env::{Draws, Env, EnvDef, EnvSpec, STEP_BLOCK, Scene, TASK_BLOCK};
use crate::rng::Key;
use crate::tensor::Tensor;

/// The methods of an environment that do not depend on its type. Each is compiled for every environment.
pub trait Erased: Send + Sync {
    /// The environment's own spec, asked for anew.
    fn spec(&self) -> EnvSpec;
    /// The environment with another spec.
    fn with_spec(&self, spec: Arc<EnvSpec>) -> EnvDef;
    fn draw(&self, state: &[f32], task: &[f32]) -> Scene;
    fn trace_reset(&self, inputs: &[Tensor]) -> Vec<Tensor>;
    fn trace_step(&self, inputs: &[Tensor]) -> Vec<Tensor>;
    fn trace_tasks(&self, key: [Tensor; 2], element: Tensor) -> Tensor;
    fn trace_dense_reward(&self, before: Tensor, action: Tensor, task: Option<Tensor>) -> Option<Tensor>;
    fn trace_success(&self, before: Tensor, reward: Tensor, terminated: Tensor, task: Option<Tensor>)
    -> Option<Tensor>;
    fn sample_task_f32(&self, key: Key, element: u32) -> Vec<f32>;
    fn next_state(&self, state: &[f32], action: &[f32], task: &[f32], key: Key, element: u32) -> Vec<f32>;
    /// A step block, one lane at a time.
    #[cfg(feature = "standalone")]
    fn step_single(&self, lanes: usize, inputs: &[&[f32]], outputs: &mut [&mut [f32]]);
    #[cfg(feature = "standalone")]
    fn random_steps(&self, isa: Isa, key: Key, count: u32, steps: u32, from: Source) -> RandomSteps;
    #[cfg(feature = "standalone")]
    fn success(&self, before: &[f32], reward: f32, terminated: bool, task: &[f32]) -> Option<bool>;
    #[cfg(feature = "standalone")]
    fn sample_task_f64(&self, key: Key, element: u32) -> Vec<f64>;
    #[cfg(feature = "standalone")]
    fn reset_f64(&self, task: &[f64], key: Key, element: u32) -> Vec<f64>;
    #[cfg(feature = "standalone")]
    fn reset_f32(&self, task: &[f32], key: Key, element: u32) -> Vec<f32>;
    #[cfg(feature = "standalone")]
    fn observe_f64(&self, state: &[f64], task: &[f64]) -> Vec<f64>;
    #[cfg(feature = "standalone")]
    fn observe_f32(&self, state: &[f32], task: &[f32]) -> Vec<f32>;
    #[cfg(feature = "standalone")]
    fn step_f64(&self, s: &[f64], a: &[f64], task: &[f64], key: Key, element: u32) -> HostStep<f64>;
    #[cfg(feature = "standalone")]
    fn step_f32(&self, s: &[f32], a: &[f32], task: &[f32], key: Key, element: u32) -> HostStep<f32>;
}

/// An environment behind [`Erased`].
pub struct Typed<E> {
    pub env: Arc<E>,
    pub spec: Arc<EnvSpec>,
}

impl<E: Env> Erased for Typed<E> {
    fn spec(&self) -> EnvSpec {
        self.env.spec()
    }
    fn with_spec(&self, spec: Arc<EnvSpec>) -> EnvDef {
        EnvDef::with_spec(self.env.clone(), spec)
    }
    fn draw(&self, state: &[f32], task: &[f32]) -> Scene {
        self.env.draw(state, task)
    }
    fn trace_reset(&self, inputs: &[Tensor]) -> Vec<Tensor> {
        traced::reset(&*self.env, &self.spec, inputs)
    }
    fn trace_step(&self, inputs: &[Tensor]) -> Vec<Tensor> {
        step::step(&*self.env, &self.spec, inputs)
    }
    fn trace_tasks(&self, key: [Tensor; 2], element: Tensor) -> Tensor {
        traced::tasks(&*self.env, &self.spec, key, element)
    }
    fn trace_dense_reward(&self, before: Tensor, action: Tensor, task: Option<Tensor>) -> Option<Tensor> {
        traced::dense_reward(&*self.env, before, action, task)
    }
    fn trace_success(
        &self,
        before: Tensor,
        reward: Tensor,
        terminated: Tensor,
        task: Option<Tensor>,
    ) -> Option<Tensor> {
        traced::success(&*self.env, before, [reward, terminated], task)
    }
    fn sample_task_f32(&self, key: Key, element: u32) -> Vec<f32> {
        let mut task = vec![Lanes([0.0]); self.spec.task.len()];
        let mut draws = Draws::new(key.map(LaneBits::<1>::splat), LaneBits::splat(element), TASK_BLOCK);
        self.env.sample_task(&mut draws, &mut task);
        task.into_iter().map(|Lanes([number])| number).collect()
    }
    fn next_state(&self, state: &[f32], action: &[f32], task: &[f32], key: Key, element: u32) -> Vec<f32> {
        let lanes = |numbers: &[f32]| -> Vec<Lanes<1>> { numbers.iter().map(|x| Lanes([*x])).collect() };
        let state = <E::State<Lanes<1>> as Fields<Lanes<1>>>::from_fn(|f| Lanes([state[f]]));
        let mut draws = Draws::new(key.map(LaneBits::<1>::splat), LaneBits::splat(element), STEP_BLOCK);
        let next = self.env.step(state, &lanes(action), &lanes(task), &mut draws).next;
        (0..<E::State<Lanes<1>> as Fields<Lanes<1>>>::N).map(|f| next.get(f).0[0]).collect()
    }
    #[cfg(feature = "standalone")]
    fn step_single(&self, lanes: usize, inputs: &[&[f32]], outputs: &mut [&mut [f32]]) {
        let block = StepBlock { env: self.env.clone(), spec: self.spec.clone() };
        step_lanes::<E, Lanes<1>>(&block, lanes, inputs, outputs);
    }
    #[cfg(feature = "standalone")]
    fn random_steps(&self, isa: Isa, key: Key, count: u32, steps: u32, from: Source) -> RandomSteps {
        random_steps(isa, &*self.env, &self.spec, key, count, steps, from)
    }
    #[cfg(feature = "standalone")]
    fn success(&self, before: &[f32], reward: f32, terminated: bool, task: &[f32]) -> Option<bool> {
        let before = <E::State<Lanes<1>> as Fields<Lanes<1>>>::from_fn(|f| Lanes([before[f]]));
        let task: Vec<Lanes<1>> = task.iter().map(|x| Lanes([*x])).collect();
        let terminated = <Lanes<1> as Real>::Mask::splat(terminated);
        self.env.success(&before, Lanes([reward]), terminated, &task).map(Mask::any)
    }
    #[cfg(feature = "standalone")]
    fn sample_task_f64(&self, key: Key, element: u32) -> Vec<f64> {
        self.sample_task_one::<f64>(key, element)
    }
    #[cfg(feature = "standalone")]
    fn reset_f64(&self, task: &[f64], key: Key, element: u32) -> Vec<f64> {
        self.reset_one::<f64>(task, key, element)
    }
    #[cfg(feature = "standalone")]
    fn reset_f32(&self, task: &[f32], key: Key, element: u32) -> Vec<f32> {
        self.reset_one::<Lanes<1>>(task, key, element)
    }
    #[cfg(feature = "standalone")]
    fn observe_f64(&self, state: &[f64], task: &[f64]) -> Vec<f64> {
        self.observe_one::<f64>(state, task)
    }
    #[cfg(feature = "standalone")]
    fn observe_f32(&self, state: &[f32], task: &[f32]) -> Vec<f32> {
        self.observe_one::<Lanes<1>>(state, task)
    }
    #[cfg(feature = "standalone")]
    fn step_f64(&self, s: &[f64], a: &[f64], task: &[f64], key: Key, element: u32) -> HostStep<f64> {
        self.step_one::<f64>(s, a, task, key, element)
    }
    #[cfg(feature = "standalone")]
    fn step_f32(&self, s: &[f32], a: &[f32], task: &[f32], key: Key, element: u32) -> HostStep<f32> {
        self.step_one::<Lanes<1>>(s, a, task, key, element)
    }
}
