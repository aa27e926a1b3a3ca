//! One environment at a time on the host, in `f64` or in `f32`: to compare with, and for people's own programs.

use std::fmt;

use super::erased::{Erased, Typed};
use super::host_step::HostStep;
use super::lanes::{LaneBits, Lanes};
use super::step::first_state;
use crate::env::fields::Fields;
use crate::env::real::{Bits, Mask, Real};
use crate::env::{Draws, Env, STEP_BLOCK, Step, TASK_BLOCK};
use crate::rng::Key;

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

/// A [`Real`] of one lane, and the number in it.
pub trait One: Real {
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

impl<E: Env> Typed<E> {
    pub(in crate::env) fn sample_task_one<R: One>(&self, key: Key, element: u32) -> Vec<R::Number> {
        let mut task = vec![R::lit(0.0); self.spec.task.len()];
        self.env.sample_task(&mut Draws::new(key.map(R::word), R::word(element), TASK_BLOCK), &mut task);
        task.into_iter().map(R::number).collect()
    }

    pub(in crate::env) fn reset_one<R: One>(&self, task: &[R::Number], key: Key, element: u32) -> Vec<R::Number> {
        numbers::<R, E>(&first_state(&*self.env, &wrap::<R>(task), key.map(R::word), R::word(element)))
    }

    pub(in crate::env) fn observe_one<R: One>(&self, state: &[R::Number], task: &[R::Number]) -> Vec<R::Number> {
        let state = <E::State<R> as Fields<R>>::from_fn(|f| R::one(state[f]));
        self.seen(&state, &wrap::<R>(task))
    }

    pub(in crate::env) fn step_one<R: One>(
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
