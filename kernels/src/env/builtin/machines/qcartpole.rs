//! Keep a pole on a cart upright, or swing it up (Quanser's cart-pole; Pyrado's `qcp-st` and `qcp-su`).
//!
//! Source: Pyrado, `pysim/quanser_cartpole.py`. A voltage V of at most 8 V on the motor of a cart, from which the pole
//! hangs at θ = 0; l is half of its length. The motor pulls with F = η_g K η_m k (η_m V − K k ẋ/r)/(R r), and
//!
//! - (m + J) ẍ + m l cos θ θ̈ = F − B ẋ − m l sin θ θ̇², where J is the mass of the cart and what its motor adds;
//! - m l cos θ ẍ + 4/3 m l² θ̈ = −d θ̇ − m l g sin θ;
//!
//! symplectic Euler. To swing up, the rail rubs: Coulomb's friction by the force that presses the cart on it, which is
//! that of the last step's θ̈, and voltages between two thresholds do nothing. `simple_dynamics` leaves out both.
//!
//! Rewards are negative: −(eᵀQe + 10⁻³ V²) with the distance e from the middle and upright. The episode ends where the
//! cart comes within 5 cm of an end of the rail, or beyond other bounds.
//!
//! - Stabilise: a long pole, steps of 0.01 s, Q = (5, 10, 0.01, 0.01), at most 15° from upright. The end costs the
//!   reward of the last state times the steps that are left of 300, which the state counts; a longer time limit changes
//!   nothing of this. Time limit 300.
//! - Swing up: a short pole, steps of 0.002 s, Q = (0.3, 0.5, 0.005, 0.001), first angles are any. The end costs 10⁴.
//!   Time limit 8000.

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

const fn table(pole_mass: f64, pole_length: f64) -> [DomainParameter; 17] {
    use DomainParameter as P;
    use Spread::{Normal, Uniform};
    [
        P::new("gravity_const", 9.81, Normal(0.1), 1e-4, "gravity in m/s²"),
        P::new("cart_mass", 0.38, Normal(0.2), 1e-4, "mass of the cart in kg"),
        P::new("rail_length", 0.814, Normal(0.2), 0.11, "length of the rail in m"),
        P::new("motor_efficiency", 0.9, Uniform(0.25), 1e-4, "efficiency of the motor").most(1.0),
        P::new("gear_efficiency", 0.9, Uniform(0.25), 1e-4, "efficiency of the gearbox").most(1.0),
        P::new("gear_ratio", 3.71, Normal(0.25), 1e-4, "ratio of the gears"),
        P::new("motor_inertia", 3.9e-7, Normal(0.25), 1e-9, "inertia of the rotor in kg m²"),
        P::new("pinion_radius", 6.35e-3, Normal(0.2), 1e-4, "radius of the pinion in m"),
        P::new("motor_resistance", 2.6, Normal(0.25), 1e-4, "resistance of the motor in Ω"),
        P::new("motor_back_emf", 7.67e-3, Normal(0.25), 1e-4, "constant of the motor in V s/rad"),
        P::new("pole_damping", 0.0024, Uniform(0.25), 1e-4, "damping of the pole in N m s/rad"),
        P::new("combined_damping", 5.4, Uniform(0.25), 1e-4, "damping of the cart in N s/m"),
        P::new("pole_mass", pole_mass, Normal(0.2), 1e-4, "mass of the pole in kg"),
        P::new("pole_length", pole_length, Normal(0.2), 1e-2, "half of the pole's length in m"),
        P::new("cart_friction_coeff", 0.02, Uniform(0.5), 0.0, "Coulomb's friction of the cart"),
        P::new("voltage_thold_neg", 0.0, Spread::None, -10.0, "voltages from here do nothing, in V").most(0.0),
        P::new("voltage_thold_pos", 0.0, Spread::None, 0.0, "up to here, in V").most(10.0),
    ]
}

const LONG: [DomainParameter; 17] = table(0.23, 0.3205);
const SHORT: [DomainParameter; 17] = table(0.127, 0.16825);

const VOLTS: f64 = 8.0;
/// How near the cart may come to an end of its rail in m.
const BUFFER: f64 = 0.05;

/// The cost of leaving the bounds.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Failure {
    /// The cost of the last state for each of the steps that are left.
    StepsLeft,
    /// A number.
    Fixed(f64),
}

/// A cart on a rail with a pole.
#[derive(Clone, Debug, PartialEq)]
pub struct QCartPole {
    /// Name, time of a step, domain parameters.
    pub machine: Machine<17>,
    /// The rail does not rub, and no voltage is too small.
    pub simple_dynamics: bool,
    /// Weights of the reward.
    pub weights: Weights<4>,
    /// Steps of an episode at most.
    pub max_steps: usize,
    /// Middle of the first states and of the bounds of angles.
    pub angles: [f64; 2],
    /// How far first states are from the middle to either side.
    pub scatter: [f64; 4],
    /// Largest distance from the middle of the angles, and the largest angular speed.
    pub bounds: [f64; 2],
    /// Largest speed of the cart, in rails per second.
    pub rails: f64,
    failure: Failure,
}

crate::fields! {
    /// Place of the cart, angle of the pole (0 hangs, not wrapped, anticlockwise), their speeds, the last angular
    /// acceleration, and the steps of the episode.
    pub struct QCartPoleState {
        /// m
        x,
        /// rad
        theta,
        /// m/s
        x_dot,
        /// rad/s
        theta_dot,
        /// rad/s²
        theta_acc,
        /// Steps since the first state.
        steps,
    }
}

impl QCartPole {
    /// A long pole that stands at first.
    #[must_use]
    pub fn stabilise() -> Self {
        Self {
            machine: Machine::new("qcartpole-stabilise", 0.01, &LONG),
            simple_dynamics: true,
            weights: Weights { state: [5.0, 10.0, 0.01, 0.01], action: 1e-3 },
            max_steps: 300,
            angles: [PI, PI],
            scatter: [0.02, 8.0 / 180.0 * PI, 0.02, 5.0 / 180.0 * PI],
            bounds: [15.0 / 180.0 * PI, 2.0 * PI],
            rails: 1.0,
            failure: Failure::StepsLeft,
        }
    }

    /// A short pole at any angle.
    #[must_use]
    pub fn swing_up() -> Self {
        Self {
            machine: Machine::new("qcartpole-swing-up", 0.002, &SHORT),
            simple_dynamics: false,
            weights: Weights { state: [0.3, 0.5, 0.005, 0.001], action: 1e-3 },
            max_steps: 8000,
            angles: [0.0, 0.0],
            scatter: [0.03, PI, 0.005, 2.0 / 180.0 * PI],
            bounds: [4.0 * PI, 20.0 * PI],
            rails: 2.0,
            failure: Failure::Fixed(-1e4),
        }
    }

    pub(super) fn parameters(&self) -> Vec<Parameter> {
        let meaning = "the rail does not rub, and no voltage is too small";
        self.machine.parameters(vec![given("simple_dynamics", self.simple_dynamics, meaning)])
    }

    pub(super) fn given(mut self, given: &Given<'_>) -> Result<Self> {
        let mut read = Reader::new(given, &self.machine.name);
        self.machine.read_domain(&mut read)?;
        self.simple_dynamics = read.flag("simple_dynamics", self.simple_dynamics)?;
        self.machine.read_rest(read)?;
        Ok(self)
    }

    /// The reward of a state and an action.
    #[inline(always)]
    fn reward<R: Real>(&self, s: &QCartPoleState<R>, action: &[R]) -> R {
        self.weights.quadratic([s.x, wrap_angle(s.theta - PI), s.x_dot, s.theta_dot], action)
    }
}

/// −1, 0 or 1.
#[inline(always)]
fn sign<R: Real>(x: R) -> R {
    let zero = R::lit(0.0);
    R::from_mask(x.gt(zero)) - R::from_mask(x.lt(zero))
}

impl Env for QCartPole {
    type State<R: Real> = QCartPoleState<R>;

    fn spec(&self) -> EnvSpec {
        let seen = [free(&["x"]), circle(&["sin_theta", "cos_theta"]), free(&["x_dot", "theta_dot"])];
        let action = ActionSpace::continuous(vec![Dim::new("voltage", -VOLTS, VOLTS)]);
        let spec = EnvSpec::new(&self.machine.name, seen.concat(), action, self.max_steps);
        spec.dt(self.machine.dt).task(self.machine.task())
    }

    #[inline(always)]
    fn sample_task<R: Real>(&self, rng: &mut Draws<R>, task: &mut [R]) {
        self.machine.sample_task(rng, task);
    }

    #[inline(always)]
    fn reset<R: Real>(&self, _task: &[R], rng: &mut Draws<R>) -> QCartPoleState<R> {
        let [x, theta, x_dot, theta_dot] = self.scatter;
        QCartPoleState {
            x: rng.range(-x, x),
            theta: rng.range(self.angles[0] - theta, self.angles[0] + theta),
            x_dot: rng.range(-x_dot, x_dot),
            theta_dot: rng.range(-theta_dot, theta_dot),
            theta_acc: R::lit(0.0),
            steps: R::lit(0.0),
        }
    }

    #[inline(always)]
    fn step<R: Real>(&self, s: QCartPoleState<R>, action: &[R], task: &[R], _rng: &mut Draws<R>) -> Step<R, Self> {
        let [gravity, cart, rail, motor, gear, ratio, rotor, pinion, resistance, emf, ..] = self.machine.domain(task);
        let [.., pole_damping, damping, mass, half, friction, low, high] = self.machine.domain(task);
        let reward = self.reward(&s, action);
        let volts = action[0].clamp(-VOLTS, VOLTS);
        let (sin, cos) = s.theta.sin_cos();
        let moment = mass * half;
        let per_volt = gear * ratio * motor * emf / (resistance * pinion);
        let back = ratio * emf / pinion;
        let force = match self.simple_dynamics {
            true => per_volt * (motor * volts - back * s.x_dot),
            false => {
                let pull = per_volt * (motor * beyond_dead_zone(volts, [low, high]) - back * s.x_dot);
                let lift = moment * 0.5 * (sin * s.theta_acc + cos * s.theta_dot.square());
                let press = ((mass + cart) * gravity - lift).max(R::lit(0.0));
                pull - friction * press * sign(s.x_dot)
            }
        };
        // The linear equations [[a, b], [b, c]] · [ẍ, θ̈] = [p, q].
        let a = mass + cart + gear * (ratio / pinion).square() * rotor;
        let (b, c) = (moment * cos, moment * half * (4.0 / 3.0));
        let p = force - damping * s.x_dot - moment * sin * s.theta_dot.square();
        let q = -(pole_damping * s.theta_dot) - moment * gravity * sin;
        let inverse = (a * c - b.square()).recip();
        let (x_acc, theta_acc) = ((c * p - b * q) * inverse, (a * q - b * p) * inverse);
        let dt = R::lit(self.machine.dt);
        let (x_dot, theta_dot) = (s.x_dot + dt * x_acc, s.theta_dot + dt * theta_acc);
        let (x, theta) = (s.x + dt * x_dot, s.theta + dt * theta_dot);
        let next = QCartPoleState { x, theta, x_dot, theta_dot, theta_acc, steps: s.steps + 1.0 };
        let bounds = [rail * 0.5 - BUFFER, R::lit(self.bounds[0]), rail * self.rails, R::lit(self.bounds[1])];
        let failed = outside([x, theta - self.angles[1], x_dot, theta_dot], bounds);
        let failure = match self.failure {
            Failure::Fixed(cost) => R::lit(cost),
            Failure::StepsLeft => {
                let left = (R::lit(self.max_steps as f64) - next.steps).max(R::lit(0.0));
                self.reward(&next, &[]) * left
            }
        };
        Step { next, reward: reward + R::select(failed, failure, R::lit(0.0)), terminated: failed }
    }

    #[inline(always)]
    fn observe<R: Real>(&self, s: &QCartPoleState<R>, _task: &[R], out: &mut [R]) {
        let (sin, cos) = s.theta.sin_cos();
        out.copy_from_slice(&[s.x, sin, cos, s.x_dot, s.theta_dot]);
    }

    fn draw(&self, state: &[f32], task: &[f32]) -> Scene {
        let domain = self.machine.drawn(task);
        let (rail, length) = (0.5 * domain[2], 2.0 * domain[13]);
        let (x, (sin, cos)) = (state[0], state[1].sin_cos());
        let view = 1.1 * rail;
        // A pole that ends an episode where it falls is never below its cart.
        let below = if self.angles[1] == 0.0 { length + 0.05 } else { 0.1 };
        Scene::new([-view, view, -below, length + 0.05])
            .with(Shape::line([-rail, -0.03], [rail, -0.03], 0.01, Color::GREY))
            .with(Shape::rect([-rail - 0.01, -rail + 0.01, -0.06, 0.02], Color::GREY))
            .with(Shape::rect([rail - 0.01, rail + 0.01, -0.06, 0.02], Color::GREY))
            .with(Shape::rect([x - 0.05, x + 0.05, -0.025, 0.025], Color::INK))
            .with(Shape::line([x, 0.0], [x + length * sin, -length * cos], 0.02, Color::ORANGE))
            .with(Shape::circle([x, 0.0], 0.013, Color::BLUE))
    }
}
