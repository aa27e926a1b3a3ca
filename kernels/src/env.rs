//! Environments: written once over [`Real`], run as `f64`, as SIMD lanes and as part of a traced program.
//!
//! An environment is a value that implements [`Env`]; [`EnvDef::new`] makes it a handle without type parameters that
//! the rest of the library takes. [`check_env`] tests one. [`builtin`] finds the built-in ones by name.
//!
//! ```
//! use quickstudy_core::env::{ActionSpace, Dim, Draws, Env, EnvDef, EnvSpec, Mask, Real, Scene, Step};
//!
//! /// Walk a line of length 2 to its right end.
//! struct Walk;
//!
//! impl Env for Walk {
//!     type State<R: Real> = [R; 1];
//!     fn spec(&self) -> EnvSpec {
//!         EnvSpec::new("walk", vec![Dim::new("x", -1.0, 1.0)], ActionSpace::discrete(&["left", "right"]), 50)
//!     }
//!     #[inline(always)]
//!     fn reset<R: Real>(&self, _task: &[R], rng: &mut Draws<R>) -> [R; 1] {
//!         [rng.range(-0.5, 0.5)]
//!     }
//!     #[inline(always)]
//!     fn step<R: Real>(&self, [x]: [R; 1], action: &[R], _task: &[R], _rng: &mut Draws<R>) -> Step<R, Self> {
//!         let speed = R::select(action[0].gt(R::lit(0.5)), R::lit(0.1), R::lit(-0.1));
//!         let x = (x + speed).clamp(-1.0, 1.0);
//!         Step { next: [x], reward: R::lit(-1.0), terminated: x.ge(R::lit(0.95)) }
//!     }
//!     #[inline(always)]
//!     fn observe<R: Real>(&self, [x]: &[R; 1], _task: &[R], out: &mut [R]) {
//!         out[0] = *x;
//!     }
//! }
//!
//! let env = EnvDef::new(Walk)?;
//! assert_eq!(env.spec().observation.len(), 1);
//! # Ok::<(), quickstudy_core::Error>(())
//! ```

pub mod bodies;
mod builtin;
#[cfg(all(feature = "standalone", not(target_arch = "wasm32")))]
mod check;
#[cfg(not(target_arch = "wasm32"))]
#[cfg(test)] // by itself, so that clippy sees a test module
mod check_tests;
mod def;
mod draws;
mod engine;
mod fields;
#[cfg(all(feature = "standalone", not(target_arch = "wasm32")))]
mod held_actions;
mod real;
#[cfg(all(feature = "standalone", not(target_arch = "wasm32")))]
mod row_fault;
mod scene;
mod spec;
mod tasks;
mod time_limit;

pub use builtin::tabular_mdp::{Tables, TabularMdp};
pub use builtin::{
    Parameter, acrobot, bandit, builtin, builtin_names, builtin_parameters, cartpole, dark_room, find, grid_world,
    inverted_double_pendulum, inverted_pendulum, key_door, locomotion, machines, mountain_car, mountain_car_continuous,
    pendulum, point, reacher, tabular_mdp,
};
#[cfg(all(feature = "standalone", not(target_arch = "wasm32")))]
pub use check::{Check, Outcome, Report, check_env};
pub use def::EnvDef;
pub use def::spec_problem;
pub use draws::{Draws, RESET_BLOCK, STEP_BLOCK, TASK_BLOCK};
#[cfg(feature = "standalone")]
pub use engine::{HostStep, Lockstep, RandomSteps, Scalar, Source};
pub use engine::{LaneBits, LaneMask, Lanes, TracedReset, TracedStep};
pub use fields::Fields;
#[doc(hidden)]
pub use fields::joined;
pub use real::{Bits, Constant, Mask, Real, StepPart};
pub use scene::{Color, Scene, Shape};
pub use spec::{ActionForm, ActionSpace, Choice, Classes, Dim, EnvSpec, Goal};
pub use time_limit::TIME_LIMIT;
pub use time_limit::{own_name, time_limit};

/// The outcome of a step.
#[derive(Clone, Copy, Debug)]
pub struct Step<R: Real, E: Env> {
    /// The next state, also where the episode ended.
    pub next: E::State<R>,
    /// The step's reward.
    pub reward: R,
    /// True where the episode ended in a final state. The time limit is not the environment's business: it is
    /// [`EnvSpec::horizon`], and cuts episodes outside, so that the two never mix.
    pub terminated: R::Mask,
}

/// An environment is a value: sizes, maps and reward variants are its fields.
///
/// Written once for all kinds of numbers: no branches on values, [`Real::select`] instead. Mark `reset`, `step`,
/// `observe` and all they call `#[inline(always)]`: what is not inlined is compiled without the SIMD instructions that
/// the caller was compiled for (same results, a third of the speed; [`check_env`] notices). Combine constants before
/// `R::lit`, divide by a constant as `x * R::lit(1.0 / c)`, negate as `-x`.
pub trait Env: Sized + Send + Sync + 'static {
    /// The state: an array, or a struct made by [`fields!`](crate::fields).
    type State<R: Real>: Fields<R>;

    /// Spaces, time limit and task parameters. The same at every call.
    fn spec(&self) -> EnvSpec;

    /// Draws the parameters of one task; `task` has as many numbers as the spec has task parameters.
    ///
    /// Each uniformly in its range, unless an environment has a distribution of its own. Ranges must be finite then:
    /// [`EnvDef::new`] refuses an environment whose tasks are not. Called once per task, on the host or in a trace.
    #[inline(always)]
    fn sample_task<R: Real>(&self, rng: &mut Draws<R>, task: &mut [R]) {
        tasks::draw_uniform(&self.spec().task, rng, task);
    }

    /// A first state. `task` has the spec's task parameters.
    fn reset<R: Real>(&self, task: &[R], rng: &mut Draws<R>) -> Self::State<R>;

    /// One step. `action` is the index of the choice as a float, or the vector; any bits are possible, and must not
    /// panic.
    fn step<R: Real>(&self, state: Self::State<R>, action: &[R], task: &[R], rng: &mut Draws<R>) -> Step<R, Self>;

    /// Writes what an agent sees; `out` has the spec's observation size.
    fn observe<R: Real>(&self, state: &Self::State<R>, task: &[R], out: &mut [R]);

    /// Tells whether a step reached the goal of the task, where the environment knows: of the state `before` the
    /// step, its reward, and whether it ended the episode. An episode with such a step counts as a success. Asked
    /// where policies are measured, not in training.
    #[inline(always)]
    fn success<R: Real>(
        &self,
        _before: &Self::State<R>,
        _reward: R,
        _terminated: R::Mask,
        _task: &[R],
    ) -> Option<R::Mask> {
        None
    }

    /// A reward that shows the way from everywhere, of an environment whose own reward is sparse: for learners that may
    /// train by more than they will be paid. Of the state `before` the step and the action.
    #[inline(always)]
    fn dense_reward<R: Real>(&self, _before: &Self::State<R>, _action: &[R], _task: &[R]) -> Option<R> {
        None
    }

    /// Shapes to paint: pictures, GIFs and the web page share it. By default a [bar](Scene::bars) for each number of
    /// the state, with its name.
    fn draw(&self, state: &[f32], _task: &[f32]) -> Scene {
        Scene::bars(&<Self::State<f64> as Fields<f64>>::names(""), state)
    }
}
