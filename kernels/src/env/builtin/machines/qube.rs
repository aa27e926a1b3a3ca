//! Swing up a pole at the end of an arm that a motor turns, or keep it upright (Quanser's Qube, a Furuta pendulum;
//! Pyrado's `qq-su` and `qq-st`).
//!
//! Source: Pyrado, `pysim/quanser_qube.py`. A voltage V of at most 4.5 V on the motor of the arm (θ), from which the
//! pole (α) hangs at α = 0. With J the inertias about the centres, c₀ = Jᵣ + mₚ lᵣ², c₁ = mₚ lₚ²/4, c₂ = mₚ lₚ lᵣ/2, c₃
//! = Jₚ + c₁, c₄ = mₚ lₚ g/2, a = c₀ + c₁ sin²α and b = c₂ cos α:
//!
//! - x = k (V − k θ̇)/R − dᵣ θ̇ − c₁ sin 2α θ̇ α̇ + c₂ sin α α̇², y = −dₚ α̇ + c₁/2 sin 2α θ̇² − c₄ sin α;
//! - θ̈ = (c₃ x − b y)/(a c₃ − b²), α̈ = (a y − b x)/(a c₃ − b²).
//!
//! Reward exp(−eᵀQe − R V²), where e is the distance from θ = 0, α = π, at rest: Q = (1, 1, 0.02, 0.005) and R = 0.004
//! to swing up, Q = (3, 4, 2, 2) and R = 0.05 to stabilise. The episode ends where |θ| > 115°, |α| > 4π, or a speed is
//! beyond 20π/s. Steps of 0.004 s and a time limit of 4000 to swing up, 0.01 s and 500 to stabilise.
//!
//! A step is one of Runge and Kutta's fourth order. The original uses the acceleration of the first stage in all four,
//! which is a step of constant acceleration, and of first order: `integrator=pyrado` does that.

use std::f64::consts::PI;

use super::bounds::{beyond_dead_zone, outside};
use super::machine::{DomainParameter, Machine, Spread, given};
use super::observation::{circle, free};
use super::reward::Weights;
use crate::Result;
use crate::env::builtin::parameters::{Given, Parameter};
use crate::env::builtin::pendulum::wrap_angle;
use crate::env::builtin::reader::Reader;
use crate::env::{ActionSpace, Color, Dim, Draws, Env, EnvSpec, Real, Scene, Shape, Step};

const TABLE: [DomainParameter; 11] = [
    DomainParameter::new("gravity_const", 9.81, Spread::Normal(0.1), 1e-3, "gravity in m/s²"),
    DomainParameter::new("motor_resistance", 8.4, Spread::Normal(0.2), 1e-3, "resistance of the motor in Ω"),
    DomainParameter::new("motor_back_emf", 0.042, Spread::Normal(0.2), 1e-4, "constant of the motor in V s/rad"),
    DomainParameter::new("mass_rot_pole", 0.095, Spread::Normal(0.2), 1e-4, "mass of the arm in kg"),
    DomainParameter::new("length_rot_pole", 0.085, Spread::Normal(0.2), 1e-4, "length of the arm in m"),
    DomainParameter::new("damping_rot_pole", 5e-6, Spread::Normal(0.25), 1e-9, "damping of the arm in N m s/rad"),
    DomainParameter::new("mass_pend_pole", 0.024, Spread::Normal(0.2), 1e-4, "mass of the pole in kg"),
    DomainParameter::new("length_pend_pole", 0.129, Spread::Normal(0.2), 1e-4, "length of the pole in m"),
    DomainParameter::new("damping_pend_pole", 1e-6, Spread::Normal(0.25), 1e-9, "damping of the pole in N m s/rad"),
    DomainParameter::new("voltage_thold_neg", 0.0, Spread::None, -10.0, "voltages from here do nothing, in V")
        .most(0.0),
    DomainParameter::new("voltage_thold_pos", 0.0, Spread::None, 0.0, "up to here, in V").most(10.0),
];

const VOLTS: f64 = 4.5;
const BOUNDS: [f64; 4] = [115.0 / 180.0 * PI, 4.0 * PI, 20.0 * PI, 20.0 * PI];

/// The stages of a step of Runge and Kutta's fourth order: how far ahead each is, in steps, and its weight.
const STAGES: [[f64; 2]; 4] = [[0.0, 1.0], [0.5, 2.0], [0.5, 2.0], [1.0, 1.0]];

/// How a Qube is moved by a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum QubeIntegrator {
    /// By Runge and Kutta's method of fourth order.
    #[default]
    RungeKutta,
    /// As the original: by the acceleration at its beginning.
    Pyrado,
}

const INTEGRATORS: [(&str, QubeIntegrator); 2] =
    [("rk4", QubeIntegrator::RungeKutta), ("pyrado", QubeIntegrator::Pyrado)];

/// An arm that a motor turns, and a pole at its end.
#[derive(Clone, Debug, PartialEq)]
pub struct Qube {
    /// Name, time of a step, domain parameters.
    pub machine: Machine<11>,
    /// How a step moves it.
    pub integrator: QubeIntegrator,
    /// Weights of the reward.
    pub weights: Weights<4>,
    /// Steps of an episode at most.
    pub max_steps: usize,
    /// Middle of the first states: θ, α and their speeds.
    pub first: [f64; 4],
    /// How far first states are from there to either side.
    pub scatter: [f64; 4],
}

crate::fields! {
    /// Angles of arm and pole (0 hangs, not wrapped), and their speeds.
    pub struct QubeState {
        /// rad
        theta,
        /// rad
        alpha,
        /// rad/s
        theta_dot,
        /// rad/s
        alpha_dot,
    }
}

impl Qube {
    /// The pole hangs at first.
    #[must_use]
    pub fn swing_up() -> Self {
        let degree = PI / 180.0;
        Self {
            machine: Machine::new("qube-swing-up", 0.004, &TABLE),
            integrator: QubeIntegrator::default(),
            weights: Weights { state: [1.0, 1.0, 0.02, 0.005], action: 0.004 },
            max_steps: 4000,
            first: [0.0; 4],
            scatter: [2.0 * degree, degree, 0.5 * degree, 0.5 * degree],
        }
    }

    /// The pole stands at first.
    #[must_use]
    pub fn stabilise() -> Self {
        Self {
            machine: Machine::new("qube-stabilise", 0.01, &TABLE),
            weights: Weights { state: [3.0, 4.0, 2.0, 2.0], action: 0.05 },
            max_steps: 500,
            first: [0.0, PI, 0.0, 0.0],
            scatter: [PI / 36.0, PI / 36.0, 0.0, 0.0],
            ..Self::swing_up()
        }
    }

    pub(super) fn parameters(&self) -> Vec<Parameter> {
        let meaning = "rk4, or pyrado: the original's, by the first slope";
        self.machine.parameters(vec![given("integrator", INTEGRATORS[0].0, meaning)])
    }

    pub(super) fn given(mut self, given: &Given<'_>) -> Result<Self> {
        let mut read = Reader::new(given, &self.machine.name);
        self.machine.read_domain(&mut read)?;
        self.integrator = INTEGRATORS[read.word("integrator", &INTEGRATORS.map(|(word, _)| word))?].1;
        self.machine.read_rest(read)?;
        Ok(self)
    }
}

/// The constants of the equations of motion.
#[derive(Clone, Copy)]
struct QubeConstants<R> {
    c: [R; 5],
    /// Torque per volt.
    push: R,
    /// Torque that brakes the arm, per speed: of the motor and of the joint.
    brake: R,
    damping: R,
}

impl<R: Real> QubeConstants<R> {
    #[inline(always)]
    fn new(domain: [R; 11]) -> Self {
        let [gravity, resistance, emf, arm_mass, arm, arm_damping, mass, length, damping, ..] = domain;
        let c1 = mass * length.square() * 0.25;
        let c = [
            arm_mass * arm.square() * (1.0 / 12.0) + mass * arm.square(),
            c1,
            mass * length * arm * 0.5,
            mass * length.square() * (1.0 / 12.0) + c1,
            mass * length * gravity * 0.5,
        ];
        let push = emf / resistance;
        Self { c, push, brake: emf * push + arm_damping, damping }
    }

    /// The speeds and accelerations of a state.
    #[inline(always)]
    fn slope(&self, [_, alpha, theta_dot, alpha_dot]: [R; 4], volts: R) -> [R; 4] {
        let [c0, c1, c2, c3, c4] = self.c;
        let (sin, cos) = alpha.sin_cos();
        let double = c1 * (sin * cos * 2.0);
        let (a, b) = (c0 + c1 * sin.square(), c2 * cos);
        let x =
            self.push * volts - self.brake * theta_dot - double * theta_dot * alpha_dot + c2 * sin * alpha_dot.square();
        let y = double * theta_dot.square() * 0.5 - self.damping * alpha_dot - c4 * sin;
        let inverse = (a * c3 - b.square()).recip();
        [theta_dot, alpha_dot, (c3 * x - b * y) * inverse, (a * y - b * x) * inverse]
    }
}

/// s + h · slope
#[inline(always)]
fn ahead<R: Real>(s: [R; 4], slope: [R; 4], h: R) -> [R; 4] {
    [s[0] + slope[0] * h, s[1] + slope[1] * h, s[2] + slope[2] * h, s[3] + slope[3] * h]
}

impl Qube {
    /// The state after a step with this voltage.
    #[inline(always)]
    fn moved<R: Real>(&self, s: [R; 4], volts: R, domain: [R; 11]) -> [R; 4] {
        let constants = QubeConstants::new(domain);
        let dt = self.machine.dt;
        match self.integrator {
            QubeIntegrator::RungeKutta => {
                let (mut slope, mut sum) = ([R::lit(0.0); 4], [R::lit(0.0); 4]);
                for [part, weight] in STAGES {
                    slope = constants.slope(ahead(s, slope, R::lit(part * dt)), volts);
                    sum = ahead(sum, slope, R::lit(weight));
                }
                ahead(s, sum, R::lit(dt / 6.0))
            }
            QubeIntegrator::Pyrado => {
                let [_, _, theta_acc, alpha_acc] = constants.slope(s, volts);
                let zero = R::lit(0.0);
                let moved = ahead(s, [s[2], s[3], theta_acc, alpha_acc], R::lit(dt));
                ahead(moved, [theta_acc, alpha_acc, zero, zero], R::lit(0.5 * dt * dt))
            }
        }
    }
}

impl Env for Qube {
    type State<R: Real> = QubeState<R>;

    fn spec(&self) -> EnvSpec {
        let seen = circle(&["sin_theta", "cos_theta", "sin_alpha", "cos_alpha"]);
        let observation = [seen, free(&["theta_dot", "alpha_dot"])].concat();
        let action = ActionSpace::continuous(vec![Dim::new("voltage", -VOLTS, VOLTS)]);
        let spec = EnvSpec::new(&self.machine.name, observation, action, self.max_steps);
        spec.dt(self.machine.dt).task(self.machine.task())
    }

    #[inline(always)]
    fn sample_task<R: Real>(&self, rng: &mut Draws<R>, task: &mut [R]) {
        self.machine.sample_task(rng, task);
    }

    #[inline(always)]
    fn reset<R: Real>(&self, _task: &[R], rng: &mut Draws<R>) -> QubeState<R> {
        let mut s = self.first.map(R::lit);
        for (number, scatter) in s.iter_mut().zip(self.scatter) {
            *number = *number + rng.range(-scatter, scatter);
        }
        let [theta, alpha, theta_dot, alpha_dot] = s;
        QubeState { theta, alpha, theta_dot, alpha_dot }
    }

    #[inline(always)]
    fn step<R: Real>(&self, s: QubeState<R>, action: &[R], task: &[R], _rng: &mut Draws<R>) -> Step<R, Self> {
        let domain = self.machine.domain(task);
        let error = [s.theta, wrap_angle(s.alpha - PI), s.theta_dot, s.alpha_dot];
        let reward = self.weights.exp_quadratic(error, action);
        let volts = beyond_dead_zone(action[0].clamp(-VOLTS, VOLTS), [domain[9], domain[10]]);
        let next = self.moved([s.theta, s.alpha, s.theta_dot, s.alpha_dot], volts, domain);
        let terminated = outside(next, BOUNDS.map(R::lit));
        let [theta, alpha, theta_dot, alpha_dot] = next;
        Step { next: QubeState { theta, alpha, theta_dot, alpha_dot }, reward, terminated }
    }

    #[inline(always)]
    fn observe<R: Real>(&self, s: &QubeState<R>, _task: &[R], out: &mut [R]) {
        let ((sin, cos), (sin_alpha, cos_alpha)) = (s.theta.sin_cos(), s.alpha.sin_cos());
        out.copy_from_slice(&[sin, cos, sin_alpha, cos_alpha, s.theta_dot, s.alpha_dot]);
    }

    fn draw(&self, state: &[f32], task: &[f32]) -> Scene {
        let domain = self.machine.drawn(task);
        let (arm, length) = (domain[4], domain[7]);
        let ((sin, cos), (pole_sin, pole_cos)) = (state[0].sin_cos(), state[1].sin_cos());
        // Seen from before and above: what is nearer (x) is drawn lower.
        let seen = |[x, y, z]: [f32; 3]| [y, z - 0.4 * x];
        let joint = [arm * cos, arm * sin, 0.0];
        let tip =
            [joint[0] - length * pole_sin * sin, joint[1] + length * pole_sin * cos, joint[2] - length * pole_cos];
        let round = |angle: f32| seen([arm * angle.cos(), arm * angle.sin(), 0.0]);
        let circle = (0..=48).map(|i| round(i as f32 / 48.0 * 2.0 * std::f32::consts::PI));
        let view = arm + 1.1 * length;
        Scene::new([-view, view, -view - 0.4 * arm, view])
            .with(Shape::rect([-0.045, 0.045, -0.12, -0.03], Color::PALE))
            .with(Shape::line([0.0, -0.03], [0.0, 0.0], 0.012, Color::GREY))
            .with(Shape::polyline(circle.collect(), 0.0015, Color::GREY))
            .with(Shape::line([0.0, 0.0], seen(joint), 0.008, Color::BLUE))
            .with(Shape::circle([0.0, 0.0], 0.007, Color::INK))
            .with(Shape::line(seen(joint), seen(tip), 0.009, Color::ORANGE))
            .with(Shape::circle(seen(joint), 0.006, Color::INK))
    }
}
