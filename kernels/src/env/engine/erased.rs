//! Environments behind a trait object.

use std::sync::Arc;

use super::block::block_any;
#[cfg(feature = "standalone")]
use super::host_step::HostStep;
use super::job::Block;
use super::lanes::{LaneBits, Lanes};
use super::{step, traced};
use crate::backend::cpu::simd::isa::Isa;
use crate::env::fields::Fields;
use crate::env::real::Bits;
#[cfg(feature = "standalone")]
use crate::env::real::{Mask, Real};
use crate::env::{Draws, Env, EnvDef, EnvSpec, Scene, TASK_BLOCK};
#[cfg(feature = "standalone")]
use crate::env::{RESET_BLOCK, STEP_BLOCK, Step};
use crate::rng::Key;
use crate::tensor::Tensor;

/// The methods of an environment that do not depend on its type. Each is compiled for every environment.
pub trait Erased: Send + Sync {
    /// The environment's own spec, asked for anew.
    fn spec(&self) -> EnvSpec;
    /// The environment with another spec.
    fn with_spec(&self, spec: Arc<EnvSpec>) -> EnvDef;
    /// The names of a state's numbers.
    fn state_names(&self) -> Vec<String>;
    fn draw(&self, state: &[f32], task: &[f32]) -> Scene;
    fn trace_reset(&self, inputs: &[Tensor]) -> Vec<Tensor>;
    fn trace_step(&self, inputs: &[Tensor]) -> Vec<Tensor>;
    fn trace_tasks(&self, key: [Tensor; 2], element: Tensor) -> Tensor;
    fn trace_dense_reward(&self, before: Tensor, action: Tensor, task: Option<Tensor>) -> Option<Tensor>;
    fn trace_success(&self, before: Tensor, reward: Tensor, terminated: Tensor, task: Option<Tensor>)
    -> Option<Tensor>;
    fn sample_task_f32(&self, key: Key, element: u32) -> Vec<f32>;
    /// Does a job for a block of environments.
    fn run(&self, isa: Isa, block: Block<'_, '_>);
    #[cfg(feature = "standalone")]
    fn success(&self, before: &[f32], reward: f32, terminated: bool, task: &[f32]) -> Option<bool>;
    #[cfg(feature = "standalone")]
    fn sample_task_f64(&self, key: Key, element: u32) -> Vec<f64>;
    #[cfg(feature = "standalone")]
    fn reset_f64(&self, task: &[f64], key: Key, element: u32) -> Vec<f64>;
    #[cfg(feature = "standalone")]
    fn observe_f64(&self, state: &[f64], task: &[f64]) -> Vec<f64>;
    #[cfg(feature = "standalone")]
    fn step_f64(&self, s: &[f64], a: &[f64], task: &[f64], key: Key, element: u32) -> HostStep<f64>;
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
    fn state_names(&self) -> Vec<String> {
        <E::State<f64> as Fields<f64>>::names("")
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
    fn run(&self, isa: Isa, block: Block<'_, '_>) {
        block_any(isa, &*self.env, block);
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
        let mut task = vec![0.0; self.spec.task.len()];
        self.env.sample_task(&mut Draws::new(key, element, TASK_BLOCK), &mut task);
        task
    }
    #[cfg(feature = "standalone")]
    fn reset_f64(&self, task: &[f64], key: Key, element: u32) -> Vec<f64> {
        numbers::<E>(&self.env.reset(task, &mut Draws::new(key, element, RESET_BLOCK)))
    }
    #[cfg(feature = "standalone")]
    fn observe_f64(&self, state: &[f64], task: &[f64]) -> Vec<f64> {
        let state = <E::State<f64> as Fields<f64>>::from_fn(|f| state[f]);
        self.seen(&state, task)
    }
    #[cfg(feature = "standalone")]
    fn step_f64(&self, s: &[f64], a: &[f64], task: &[f64], key: Key, element: u32) -> HostStep<f64> {
        let state = <E::State<f64> as Fields<f64>>::from_fn(|f| s[f]);
        let mut draws = Draws::new(key, element, STEP_BLOCK);
        let Step { next, reward, terminated } = self.env.step(state, a, task, &mut draws);
        HostStep { state: numbers::<E>(&next), observation: self.seen(&next, task), reward, terminated }
    }
}

#[cfg(feature = "standalone")]
impl<E: Env> Typed<E> {
    fn seen(&self, state: &E::State<f64>, task: &[f64]) -> Vec<f64> {
        let mut seen = vec![0.0; self.spec.observation.len()];
        self.env.observe(state, task, &mut seen);
        seen
    }
}

#[cfg(feature = "standalone")]
fn numbers<E: Env>(state: &E::State<f64>) -> Vec<f64> {
    (0..<E::State<f64> as Fields<f64>>::N).map(|f| state.get(f)).collect()
}
