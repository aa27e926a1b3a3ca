//! One environment at a time on the host, in `f64` or in `f32`: for tests, evaluation and pictures.

use std::fmt;
use std::sync::Arc;

use super::auto::first_state;
#[cfg(not(target_arch = "wasm32"))]
use super::block::{StepBlock, step_lanes};
use super::fields::Fields;
use super::lanes::{LaneBits, Lanes};
#[cfg(not(target_arch = "wasm32"))]
use super::random::{RandomSteps, Source, random_steps};
use super::real::{Bits, Mask, Real};
use super::{Draws, Env, EnvSpec, STEP_BLOCK, Scene, Step, TASK_BLOCK, traced};
#[cfg(not(target_arch = "wasm32"))]
use crate::backend::cpu::simd::isa::Isa;
use crate::rng::Key;
use crate::tensor::Tensor;

/// What a step of one environment leads to, without any reset.
#[derive(Clone, Debug, PartialEq)]
pub struct HostStep<T> {
    /// The next state, also where the episode ended.
    pub state: Vec<T>,
    /// What an agent sees in it.
    pub observation: Vec<T>,
    /// The step's reward.
    pub reward: T,
    /// Whether the episode ended in a final state.
    pub terminated: bool,
}

/// Numbers that one environment can be stepped with: `f64`, and `f32` with the lanes' arithmetic.
pub trait Scalar: Copy + fmt::Debug + Into<f64> + sealed::Sealed {}

impl Scalar for f64 {}
impl Scalar for f32 {}

mod sealed {
    use super::{Erased, HostStep, Key};

    pub trait Sealed: Sized {
        fn sample_task(env: &dyn Erased, key: Key, element: u32) -> Vec<Self>;
        fn reset(env: &dyn Erased, task: &[Self], key: Key, element: u32) -> Vec<Self>;
        fn observe(env: &dyn Erased, state: &[Self], task: &[Self]) -> Vec<Self>;
        fn step(env: &dyn Erased, s: &[Self], a: &[Self], task: &[Self], key: Key, element: u32) -> HostStep<Self>;
    }
}

macro_rules! scalar {
    ($t:ty, $sample_task:ident, $reset:ident, $observe:ident, $step:ident) => {
        impl sealed::Sealed for $t {
            fn sample_task(env: &dyn Erased, key: Key, element: u32) -> Vec<$t> {
                env.$sample_task(key, element)
            }
            fn reset(env: &dyn Erased, task: &[$t], key: Key, element: u32) -> Vec<$t> {
                env.$reset(task, key, element)
            }
            fn observe(env: &dyn Erased, state: &[$t], task: &[$t]) -> Vec<$t> {
                env.$observe(state, task)
            }
            fn step(env: &dyn Erased, s: &[$t], a: &[$t], task: &[$t], key: Key, element: u32) -> HostStep<$t> {
                env.$step(s, a, task, key, element)
            }
        }
    };
}

scalar!(f64, sample_task_f64, reset_f64, observe_f64, step_f64);
scalar!(f32, sample_task_f32, reset_f32, observe_f32, step_f32);

/// The methods of an environment that do not depend on its type.
pub trait Erased: Send + Sync {
    /// The spec, asked for anew.
    fn spec(&self) -> EnvSpec;
    /// A step block, one lane at a time.
    #[cfg(not(target_arch = "wasm32"))]
    fn step_single(&self, lanes: usize, inputs: &[&[f32]], outputs: &mut [&mut [f32]]);
    fn trace_reset(&self, inputs: &[Tensor]) -> Vec<Tensor>;
    fn trace_step(&self, inputs: &[Tensor]) -> Vec<Tensor>;
    #[cfg(not(target_arch = "wasm32"))]
    fn random_steps(&self, isa: Isa, key: Key, count: u32, steps: u32, from: Source) -> RandomSteps;
    fn draw(&self, state: &[f32], task: &[f32]) -> Scene;
    fn trace_tasks(&self, key: [Tensor; 2], element: Tensor) -> Tensor;
    fn sample_task_f64(&self, key: Key, element: u32) -> Vec<f64>;
    fn sample_task_f32(&self, key: Key, element: u32) -> Vec<f32>;
    fn reset_f64(&self, task: &[f64], key: Key, element: u32) -> Vec<f64>;
    fn reset_f32(&self, task: &[f32], key: Key, element: u32) -> Vec<f32>;
    fn observe_f64(&self, state: &[f64], task: &[f64]) -> Vec<f64>;
    fn observe_f32(&self, state: &[f32], task: &[f32]) -> Vec<f32>;
    fn step_f64(&self, s: &[f64], a: &[f64], task: &[f64], key: Key, element: u32) -> HostStep<f64>;
    fn step_f32(&self, s: &[f32], a: &[f32], task: &[f32], key: Key, element: u32) -> HostStep<f32>;
}

/// An environment behind [`Erased`].
pub struct Held<E> {
    pub env: Arc<E>,
    pub spec: Arc<EnvSpec>,
}

/// A [`Real`] of one lane, and the number in it.
trait One: Real {
    type Number: Copy;
    fn one(number: Self::Number) -> Self;
    fn number(self) -> Self::Number;
    fn word(word: u32) -> Self::Bits;
}

impl One for f64 {
    type Number = f64;
    fn one(number: f64) -> Self {
        number
    }
    fn number(self) -> f64 {
        self
    }
    fn word(word: u32) -> u32 {
        word
    }
}

impl One for Lanes<1> {
    type Number = f32;
    fn one(number: f32) -> Self {
        Lanes([number])
    }
    fn number(self) -> f32 {
        self.0[0]
    }
    fn word(word: u32) -> LaneBits<1> {
        LaneBits::splat(word)
    }
}

impl<E: Env> Held<E> {
    fn sample_task<R: One>(&self, key: Key, element: u32) -> Vec<R::Number> {
        let mut task = vec![R::lit(0.0); self.spec.task.len()];
        self.env.sample_task(&mut Draws::new(key.map(R::word), R::word(element), TASK_BLOCK), &mut task);
        task.into_iter().map(R::number).collect()
    }

    fn reset<R: One>(&self, task: &[R::Number], key: Key, element: u32) -> Vec<R::Number> {
        numbers::<R, E>(&first_state(&*self.env, &wrap::<R>(task), key.map(R::word), R::word(element)))
    }

    fn observe<R: One>(&self, state: &[R::Number], task: &[R::Number]) -> Vec<R::Number> {
        let state = <E::State<R> as Fields<R>>::from_fn(|f| R::one(state[f]));
        self.seen(&state, &wrap::<R>(task))
    }

    fn step<R: One>(
        &self,
        state: &[R::Number],
        action: &[R::Number],
        task: &[R::Number],
        key: Key,
        element: u32,
    ) -> HostStep<R::Number> {
        let state = <E::State<R> as Fields<R>>::from_fn(|f| R::one(state[f]));
        let task = wrap::<R>(task);
        let mut draws = Draws::new(key.map(R::word), R::word(element), STEP_BLOCK);
        let Step { next, reward, terminated } = self.env.step(state, &wrap::<R>(action), &task, &mut draws);
        HostStep {
            state: numbers::<R, E>(&next),
            observation: self.seen(&next, &task),
            reward: reward.number(),
            terminated: terminated.any(),
        }
    }

    fn seen<R: One>(&self, state: &E::State<R>, task: &[R]) -> Vec<R::Number> {
        let mut out = vec![R::lit(0.0); self.spec.observation.len()];
        self.env.observe(state, task, &mut out);
        out.into_iter().map(R::number).collect()
    }
}

fn wrap<R: One>(numbers: &[R::Number]) -> Vec<R> {
    numbers.iter().map(|&n| R::one(n)).collect()
}

fn numbers<R: One, E: Env>(state: &E::State<R>) -> Vec<R::Number> {
    (0..<E::State<R> as Fields<R>>::N).map(|f| state.get(f).number()).collect()
}

impl<E: Env> Erased for Held<E> {
    fn spec(&self) -> EnvSpec {
        self.env.spec()
    }
    #[cfg(not(target_arch = "wasm32"))]
    fn step_single(&self, lanes: usize, inputs: &[&[f32]], outputs: &mut [&mut [f32]]) {
        let block = StepBlock { env: self.env.clone(), spec: self.spec.clone() };
        step_lanes::<E, Lanes<1>>(&block, lanes, inputs, outputs);
    }
    fn trace_reset(&self, inputs: &[Tensor]) -> Vec<Tensor> {
        traced::reset(&*self.env, &self.spec, inputs)
    }
    fn trace_step(&self, inputs: &[Tensor]) -> Vec<Tensor> {
        traced::step(&*self.env, &self.spec, inputs)
    }
    #[cfg(not(target_arch = "wasm32"))]
    fn random_steps(&self, isa: Isa, key: Key, count: u32, steps: u32, from: Source) -> RandomSteps {
        random_steps(isa, &*self.env, &self.spec, key, count, steps, from)
    }
    fn draw(&self, state: &[f32], task: &[f32]) -> Scene {
        self.env.draw(state, task)
    }
    fn trace_tasks(&self, key: [Tensor; 2], element: Tensor) -> Tensor {
        traced::tasks(&*self.env, &self.spec, key, element)
    }
    fn sample_task_f64(&self, key: Key, element: u32) -> Vec<f64> {
        self.sample_task::<f64>(key, element)
    }
    fn sample_task_f32(&self, key: Key, element: u32) -> Vec<f32> {
        self.sample_task::<Lanes<1>>(key, element)
    }
    fn reset_f64(&self, task: &[f64], key: Key, element: u32) -> Vec<f64> {
        self.reset::<f64>(task, key, element)
    }
    fn reset_f32(&self, task: &[f32], key: Key, element: u32) -> Vec<f32> {
        self.reset::<Lanes<1>>(task, key, element)
    }
    fn observe_f64(&self, state: &[f64], task: &[f64]) -> Vec<f64> {
        self.observe::<f64>(state, task)
    }
    fn observe_f32(&self, state: &[f32], task: &[f32]) -> Vec<f32> {
        self.observe::<Lanes<1>>(state, task)
    }
    fn step_f64(&self, s: &[f64], a: &[f64], task: &[f64], key: Key, element: u32) -> HostStep<f64> {
        self.step::<f64>(s, a, task, key, element)
    }
    fn step_f32(&self, s: &[f32], a: &[f32], task: &[f32], key: Key, element: u32) -> HostStep<f32> {
        self.step::<Lanes<1>>(s, a, task, key, element)
    }
}
