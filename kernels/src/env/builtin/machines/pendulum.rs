//! Swing up a rod by a motor that is too weak to lift it at once (Pyrado's `pend`).
//!
//! Source: Pyrado, `pysim/pendulum.py`. A torque τ of at most 3.5 N m each 0.02 s on a rod that hangs at θ = 0: θ̈ = (τ
//! − m g l/2 sin θ − d θ̇)/(m l²/3); symplectic Euler. Reward exp(−(e² + 10⁻³ θ̇² + 10⁻² τ²)), where e is how far it is
//! from upright. The episode ends after two turns to either side or beyond 4π/s. Time limit 400. Every episode begins
//! at rest. The original wraps the speed and not the angle; here it is the angle.

use std::f64::consts::PI;

use super::bounds::{limited, outside};
use super::machine::{DomainParameter, Machine, Spread};
use super::observation::{circle, free};
use super::reward::Weights;
use crate::Result;
use crate::env::builtin::parameters::{Given, Parameter};
use crate::env::builtin::pendulum::wrap_angle;
use crate::env::builtin::reader::Reader;
use crate::env::{ActionSpace, Color, Dim, Draws, Env, EnvSpec, Real, Scene, Shape, Step};

const TABLE: [DomainParameter; 5] = [
    DomainParameter::new("gravity_const", 9.81, Spread::Normal(0.1), 1e-3, "gravity in m/s²"),
    DomainParameter::new("pole_mass", 1.0, Spread::Normal(0.1), 1e-3, "mass of the pole in kg"),
    DomainParameter::new("pole_length", 1.0, Spread::Normal(0.1), 1e-3, "length of the pole in m"),
    DomainParameter::new("pole_damping", 0.05, Spread::Normal(0.1), 1e-3, "damping of the joint in N m s"),
    DomainParameter::new("torque_thold", 3.5, Spread::Normal(0.1), 1e-3, "largest torque in N m"),
];

const WEIGHTS: Weights<2> = Weights { state: [1.0, 1e-3], action: 1e-2 };

/// A rod on a motor.
#[derive(Clone, Debug, PartialEq)]
pub struct PyradoPendulum {
    /// Name, time of a step, domain parameters.
    pub machine: Machine<5>,
}

crate::fields! {
    /// Angle (0 hangs, not wrapped, anticlockwise) and angular speed.
    pub struct PyradoPendulumState {
        /// rad
        theta,
        /// rad/s
        theta_dot,
    }
}

impl Default for PyradoPendulum {
    fn default() -> Self {
        Self { machine: Machine::new("pyrado-pendulum", 0.02, &TABLE) }
    }
}

impl PyradoPendulum {
    pub(super) fn parameters(&self) -> Vec<Parameter> {
        self.machine.parameters(Vec::new())
    }

    pub(super) fn given(mut self, given: &Given<'_>) -> Result<Self> {
        let mut read = Reader::new(given, &self.machine.name);
        self.machine.read_domain(&mut read)?;
        self.machine.read_rest(read)?;
        Ok(self)
    }
}

impl Env for PyradoPendulum {
    type State<R: Real> = PyradoPendulumState<R>;

    fn spec(&self) -> EnvSpec {
        let observation = [circle(&["sin_theta", "cos_theta"]), free(&["theta_dot"])].concat();
        let action = ActionSpace::continuous(vec![Dim::new("tau", -3.5, 3.5)]);
        EnvSpec::new(&self.machine.name, observation, action, 400).dt(self.machine.dt).task(self.machine.task())
    }

    #[inline(always)]
    fn sample_task<R: Real>(&self, rng: &mut Draws<R>, task: &mut [R]) {
        self.machine.sample_task(rng, task);
    }

    #[inline(always)]
    fn reset<R: Real>(&self, _task: &[R], _rng: &mut Draws<R>) -> PyradoPendulumState<R> {
        PyradoPendulumState { theta: R::lit(0.0), theta_dot: R::lit(0.0) }
    }

    #[inline(always)]
    fn step<R: Real>(&self, s: PyradoPendulumState<R>, action: &[R], task: &[R], _rng: &mut Draws<R>) -> Step<R, Self> {
        let [gravity, mass, length, damping, most] = self.machine.domain(task);
        let reward = WEIGHTS.exp_quadratic([wrap_angle(s.theta - PI), s.theta_dot], action);
        let torque = limited(action[0], most);
        let pull = mass * gravity * length * 0.5 * s.theta.sin();
        let inertia = mass * length.square() * (1.0 / 3.0);
        let dt = R::lit(self.machine.dt);
        let theta_dot = s.theta_dot + dt * ((torque - pull - damping * s.theta_dot) / inertia);
        let next = PyradoPendulumState { theta: s.theta + dt * theta_dot, theta_dot };
        Step { next, reward, terminated: outside([next.theta, theta_dot], [R::lit(4.0 * PI); 2]) }
    }

    #[inline(always)]
    fn observe<R: Real>(&self, s: &PyradoPendulumState<R>, _task: &[R], out: &mut [R]) {
        let (sin, cos) = s.theta.sin_cos();
        out.copy_from_slice(&[sin, cos, s.theta_dot]);
    }

    fn draw(&self, state: &[f32], task: &[f32]) -> Scene {
        let [_, _, length, ..] = self.machine.drawn(task);
        let (sin, cos) = state[0].sin_cos();
        let view = 1.3 * length;
        Scene::new([-view, view, -view, view])
            .with(Shape::circle([0.0, 0.0], 1.1 * length, Color::PALE))
            .with(Shape::line([0.0, 0.0], [0.0, length], 0.01 * length, Color::GREEN))
            .with(Shape::line([0.0, 0.0], [length * sin, -length * cos], 0.12 * length, Color::BLUE))
            .with(Shape::circle([0.0, 0.0], 0.06 * length, Color::INK))
    }
}
