//! Keep a ball in the middle of a beam by turning the beam (Pyrado's `bob` and `bob-d`).
//!
//! Source: Pyrado, `pysim/ball_on_beam.py`. A torque τ on the beam each 0.01 s. With ζ = m + J/r² of the ball, J its
//! inertia: ẍ = (−c ẋ + m x α̇² − m g sin α)/ζ, α̈ = (τ − 2 m x ẋ α̇ − m g x cos α)/(m x² + J of the beam); symplectic
//! Euler. Reward exp(−c (10⁵ x² + 10³ α² + 10³ ẋ² + 10² α̇² + τ²)), which is 10⁻⁴ where all are at their bounds. The
//! episode ends where |x| is beyond half of the beam, |α| > 45°, |ẋ| > 10 m/s or |α̇| > π/s. Time limit 500. The
//! discrete one has the torques −29.43, 0 and 29.43 N m.

use std::f64::consts::{FRAC_PI_4, PI};

use super::bounds::{limited, outside};
use super::machine::{DomainParameter, Machine, Spread};
use super::observation::free;
use super::reward::Weights;
use crate::Result;
use crate::env::builtin::parameters::{Given, Parameter};
use crate::env::builtin::reader::Reader;
use crate::env::{ActionSpace, Color, Dim, Draws, Env, EnvSpec, Real, Scene, Shape, Step};

const TABLE: [DomainParameter; 8] = [
    DomainParameter::new("gravity_const", 9.81, Spread::Normal(0.1), 1e-4, "gravity in m/s²"),
    DomainParameter::new("ball_mass", 0.5, Spread::Normal(0.2), 1e-4, "mass of the ball in kg"),
    DomainParameter::new("ball_radius", 0.1, Spread::Normal(0.2), 1e-4, "radius of the ball in m"),
    DomainParameter::new("beam_mass", 3.0, Spread::Normal(0.2), 1e-3, "mass of the beam in kg"),
    DomainParameter::new("beam_length", 2.0, Spread::Normal(0.2), 1e-3, "length of the beam in m"),
    DomainParameter::new("beam_thickness", 0.1, Spread::Normal(0.2), 1e-3, "thickness of the beam in m"),
    DomainParameter::new("friction_coeff", 0.05, Spread::Uniform(1.0), 0.0, "viscous friction of the ball in N s/m"),
    DomainParameter::new("ang_offset", 0.0, Spread::Within(0.1 / 180.0 * PI), -1.0, "error of the angle in rad")
        .most(1.0),
];

const WEIGHTS: Weights<4> = Weights { state: [1e5, 1e3, 1e3, 1e2], action: 1.0 };

/// A beam that a motor turns, and a ball on it.
#[derive(Clone, Debug, PartialEq)]
pub struct BallOnBeam {
    /// Name, time of a step, domain parameters.
    pub machine: Machine<8>,
    /// Actions are one of three torques.
    pub discrete: bool,
}

crate::fields! {
    /// Place and speed of the ball along the beam, angle and angular speed of the beam.
    pub struct BallOnBeamState {
        /// m
        x,
        /// rad, anticlockwise
        alpha,
        /// m/s
        x_dot,
        /// rad/s
        alpha_dot,
    }
}

impl BallOnBeam {
    /// The beam with any torque.
    #[must_use]
    pub fn continuous() -> Self {
        Self { machine: Machine::new("ball-on-beam", 0.01, &TABLE), discrete: false }
    }

    /// The beam with three torques.
    #[must_use]
    pub fn discrete() -> Self {
        Self { machine: Machine::new("ball-on-beam-discrete", 0.01, &TABLE), discrete: true }
    }

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

impl Env for BallOnBeam {
    type State<R: Real> = BallOnBeamState<R>;

    fn spec(&self) -> EnvSpec {
        let action = match self.discrete {
            true => ActionSpace::discrete(&["right", "rest", "left"]),
            false => ActionSpace::continuous(vec![Dim::new("tau", -29.43, 29.43)]),
        };
        let observation = free(&["x", "alpha", "x_dot", "alpha_dot"]);
        EnvSpec::new(&self.machine.name, observation, action, 500).dt(self.machine.dt).task(self.machine.task())
    }

    #[inline(always)]
    fn sample_task<R: Real>(&self, rng: &mut Draws<R>, task: &mut [R]) {
        self.machine.sample_task(rng, task);
    }

    #[inline(always)]
    fn reset<R: Real>(&self, task: &[R], rng: &mut Draws<R>) -> BallOnBeamState<R> {
        let [_, _, _, _, length, ..] = self.machine.domain(task);
        let side = R::select(rng.uniform().lt(R::lit(0.5)), R::lit(-0.5), R::lit(0.5));
        BallOnBeamState {
            x: rng.range(0.7, 0.8) * length * side,
            alpha: rng.range(-PI / 36.0, PI / 36.0),
            x_dot: rng.range(-0.2, 0.2),
            alpha_dot: rng.range(-0.02 * PI, 0.02 * PI),
        }
    }

    #[inline(always)]
    fn step<R: Real>(&self, s: BallOnBeamState<R>, action: &[R], task: &[R], _rng: &mut Draws<R>) -> Step<R, Self> {
        let [gravity, mass, radius, beam_mass, length, thickness, friction, offset] = self.machine.domain(task);
        let most = gravity * length * 1.5;
        let torque = match self.discrete {
            true => {
                let left = R::select(action[0].gt(R::lit(1.5)), most, R::lit(0.0));
                R::select(action[0].lt(R::lit(0.5)), -most, left)
            }
            false => action[0],
        };
        let bounds = [length * 0.5, R::lit(FRAC_PI_4), R::lit(10.0), R::lit(PI)];
        let reward = WEIGHTS.scaled_exp_quadratic([s.x, s.alpha, s.x_dot, s.alpha_dot], &[torque], bounds, &[most]);
        let torque = limited(torque, most);
        let inertia = mass * radius.square() * 0.4;
        let zeta = mass + inertia / radius.square();
        let beam = beam_mass * (length.square() + thickness.square()) * (1.0 / 12.0);
        let (sin, cos) = (s.alpha + offset).sin_cos();
        let x_acc = (-(friction * s.x_dot) + mass * s.x * s.alpha_dot.square() - mass * gravity * sin) / zeta;
        let pull = mass * s.x * s.x_dot * s.alpha_dot * 2.0 + mass * gravity * cos * s.x;
        let alpha_acc = (torque - pull) / (mass * s.x.square() + beam);
        let dt = R::lit(self.machine.dt);
        let (x_dot, alpha_dot) = (s.x_dot + dt * x_acc, s.alpha_dot + dt * alpha_acc);
        let next = BallOnBeamState { x: s.x + dt * x_dot, alpha: s.alpha + dt * alpha_dot, x_dot, alpha_dot };
        Step { next, reward, terminated: outside([next.x, next.alpha, x_dot, alpha_dot], bounds) }
    }

    #[inline(always)]
    fn observe<R: Real>(&self, s: &BallOnBeamState<R>, _task: &[R], out: &mut [R]) {
        out.copy_from_slice(&[s.x, s.alpha, s.x_dot, s.alpha_dot]);
    }

    fn draw(&self, state: &[f32], task: &[f32]) -> Scene {
        let [_, _, radius, _, length, thickness, ..] = self.machine.drawn(task);
        let (x, (sin, cos)) = (state[0], state[1].sin_cos());
        let at = |along: f32, above: f32| [along * cos - above * sin, along * sin + above * cos];
        let half = 0.5 * length;
        let view = 1.15 * half + radius;
        Scene::new([-view, view, -0.7 * view, 0.7 * view])
            .with(Shape::polygon(
                vec![[0.0, 0.0], [-0.15 * half, -0.5 * half], [0.15 * half, -0.5 * half]],
                Color::GREY,
            ))
            .with(Shape::line(at(-half, 0.0), at(half, 0.0), thickness, Color::INK))
            .with(Shape::line(at(-radius, 0.0), at(radius, 0.0), thickness, Color::GREEN))
            .with(Shape::circle([0.0, 0.0], 0.3 * thickness, Color::PALE))
            .with(Shape::circle(at(x, 0.5 * thickness + radius), radius, Color::ORANGE))
    }
}
