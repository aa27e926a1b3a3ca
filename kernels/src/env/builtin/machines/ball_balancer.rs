//! Bring a ball to the middle of a plate that two motors tilt, and hold it there (Quanser's 2-DoF ball balancer;
//! Pyrado's `qbb`).
//!
//! Source: Pyrado, `pysim/quanser_ball_balancer.py`. A voltage V of at most 3 V for each of two motors every 0.01 s.
//! With J = η_g K² J_m + J_l, A = η_g K η_m k/R, B = η_g K² η_m k²/R + b and c = 2 r_arm/l_plate, both axes are alike:
//! θ̈ = (A V − B θ̇)/J and ẍ = c g sin θ/1.4, as a ball rolls; symplectic Euler. The cost is
//! θ² + 5000 x² + 0.01 θ̇² + 0.5 ẋ² + 0.01 V² over both axes, and the reward exp(−s cost), where s makes it 10⁻⁴
//! where all are at their bounds. The episode ends where |θ| > 45°, the ball leaves the plate, |θ̇| > 5π/s or
//! |ẋ| > 0.5 m/s. Time limit 500. The ball is near the rim at first.
//!
//! With `simple_dynamics=false` there are also friction of the ball, the forces of a plate that turns, and voltages
//! that are too small to move a motor. Departures there: the plate's angles follow from those of the motors, sin a = c
//! sin θ, where the original adds up their speeds; and both axes are alike, where the original has the sign of one
//! reversed.

use std::f64::consts::{FRAC_PI_4, PI};

use super::bounds::{beyond_dead_zone, outside};
use super::machine::{DomainParameter, Machine, Spread, given};
use super::observation::free;
use super::reward::Weights;
use crate::Result;
use crate::env::builtin::parameters::{Given, Parameter};
use crate::env::builtin::reader::Reader;
use crate::env::{ActionSpace, Color, Dim, Draws, Env, EnvSpec, Real, Scene, Shape, Step};

const THIRD: f64 = 1.0 / 3.0;
const SIX_DEGREES: f64 = 6.0 / 180.0 * PI;

const TABLE: [DomainParameter; 20] = {
    use DomainParameter as P;
    use Spread::{Normal, Uniform, Within};
    [
        P::new("gravity_const", 9.81, Normal(0.1), 1e-4, "gravity in m/s²"),
        P::new("ball_mass", 0.003, Normal(0.2), 1e-4, "mass of the ball in kg"),
        P::new("ball_radius", 0.019625, Normal(0.2), 1e-3, "radius of the ball in m"),
        P::new("plate_length", 0.275, Normal(0.2), 5e-2, "length of the plate in m"),
        P::new("arm_radius", 0.0254, Normal(0.2), 1e-4, "length of the motors' arms in m"),
        P::new("gear_ratio", 70.0, Normal(0.25), 1e-2, "ratio of the gears"),
        P::new("gear_efficiency", 0.9, Uniform(0.25), 1e-4, "efficiency of the gearbox").most(1.0),
        P::new("load_inertia", 5.2822e-5, Normal(0.25), 1e-6, "inertia of the load in kg m²"),
        P::new("motor_inertia", 4.6063e-7, Normal(0.25), 1e-9, "inertia of a rotor in kg m²"),
        P::new("motor_back_emf", 0.0077, Normal(0.25), 1e-4, "constant of a motor in V s/rad"),
        P::new("motor_resistance", 2.6, Normal(0.25), 1e-4, "resistance of a motor in Ω"),
        P::new("motor_efficiency", 0.69, Uniform(0.25), 1e-4, "efficiency of a motor").most(1.0),
        P::new("combined_damping", 0.015, Uniform(0.25), 1e-4, "damping of the load in N m s/rad"),
        P::new("ball_damping", 0.05, Uniform(0.25), 1e-4, "friction of the ball in N s/m"),
        P::new("voltage_thold_x_pos", 0.28, Uniform(THIRD), 0.0, "voltages up to here do nothing, in V").most(10.0),
        P::new("voltage_thold_x_neg", -0.1, Uniform(THIRD), -10.0, "from here, in V").most(0.0),
        P::new("voltage_thold_y_pos", 0.28, Uniform(THIRD), 0.0, "of the other motor, up to here").most(10.0),
        P::new("voltage_thold_y_neg", -0.074, Uniform(THIRD), -10.0, "from here, in V").most(0.0),
        P::new("offset_th_x", 0.0, Within(SIX_DEGREES), -1.0, "error of a motor's angle in rad").most(1.0),
        P::new("offset_th_y", 0.0, Within(SIX_DEGREES), -1.0, "of the other motor's").most(1.0),
    ]
};

const VOLTS: f64 = 3.0;
const WEIGHTS: Weights<8> = Weights { state: [1.0, 1.0, 5e3, 5e3, 0.01, 0.01, 0.5, 0.5], action: 0.01 };

/// A plate that two motors tilt, and a ball on it.
#[derive(Clone, Debug, PartialEq)]
pub struct BallBalancer {
    /// Name, time of a step, domain parameters.
    pub machine: Machine<20>,
    /// The ball rolls without friction, plates turn slowly, and no voltage is too small.
    pub simple_dynamics: bool,
}

crate::fields! {
    /// Angles of the motors, the place of the ball, and the speeds of both, along each axis.
    pub struct BallBalancerState {
        /// rad
        theta: [R; 2],
        /// m
        ball: [R; 2],
        /// rad/s
        theta_dot: [R; 2],
        /// m/s
        ball_dot: [R; 2],
    }
}

impl<R: Real> BallBalancerState<R> {
    #[inline(always)]
    fn numbers(&self) -> [R; 8] {
        let ([a, b], [c, d]) = (self.theta, self.ball);
        let ([e, f], [g, h]) = (self.theta_dot, self.ball_dot);
        [a, b, c, d, e, f, g, h]
    }
}

impl Default for BallBalancer {
    fn default() -> Self {
        Self { machine: Machine::new("ball-balancer", 0.01, &TABLE), simple_dynamics: true }
    }
}

impl BallBalancer {
    pub(super) fn parameters(&self) -> Vec<Parameter> {
        let meaning = "no friction of the ball, no forces of a plate that turns, no voltage is too small";
        self.machine.parameters(vec![given("simple_dynamics", self.simple_dynamics, meaning)])
    }

    pub(super) fn given(mut self, given: &Given<'_>) -> Result<Self> {
        let mut read = Reader::new(given, &self.machine.name);
        self.machine.read_domain(&mut read)?;
        self.simple_dynamics = read.flag("simple_dynamics", self.simple_dynamics)?;
        self.machine.read_rest(read)?;
        Ok(self)
    }
}

impl Env for BallBalancer {
    type State<R: Real> = BallBalancerState<R>;

    fn spec(&self) -> EnvSpec {
        let names = ["theta_x", "theta_y", "x", "y", "theta_x_dot", "theta_y_dot", "x_dot", "y_dot"];
        let action = ["voltage_x", "voltage_y"].map(|name| Dim::new(name, -VOLTS, VOLTS));
        let spec = EnvSpec::new(&self.machine.name, free(&names), ActionSpace::continuous(action.to_vec()), 500);
        spec.dt(self.machine.dt).task(self.machine.task())
    }

    #[inline(always)]
    fn sample_task<R: Real>(&self, rng: &mut Draws<R>, task: &mut [R]) {
        self.machine.sample_task(rng, task);
    }

    #[inline(always)]
    fn reset<R: Real>(&self, task: &[R], rng: &mut Draws<R>) -> BallBalancerState<R> {
        let [_, _, _, plate, ..] = self.machine.domain(task);
        let (radius, (sin, cos)) = (rng.range(0.375, 0.4) * plate, rng.range(-PI, PI).sin_cos());
        let zero = R::lit(0.0);
        BallBalancerState {
            theta: [zero; 2],
            ball: [radius * cos, radius * sin],
            theta_dot: [zero; 2],
            ball_dot: [rng.range(-0.025, 0.025), rng.range(-0.025, 0.025)],
        }
    }

    #[inline(always)]
    fn step<R: Real>(&self, s: BallBalancerState<R>, action: &[R], task: &[R], _rng: &mut Draws<R>) -> Step<R, Self> {
        let domain = self.machine.domain(task);
        let [
            gravity,
            mass,
            radius,
            plate,
            arm,
            ratio,
            gear,
            load,
            rotor,
            emf,
            resistance,
            motor,
            damping,
            friction,
            ..,
        ] = domain;
        let tholds = [[domain[15], domain[14]], [domain[17], domain[16]]];
        let offsets = [domain[18], domain[19]];
        let (angle, place, turn, speed) = (R::lit(FRAC_PI_4), plate * 0.5, R::lit(5.0 * PI), R::lit(0.5));
        let bounds = [angle, angle, place, place, turn, turn, speed, speed];
        let reward = WEIGHTS.scaled_exp_quadratic(s.numbers(), action, bounds, &[R::lit(VOLTS); 2]);
        let inverse = (gear * ratio.square() * rotor + load).recip();
        let push = gear * ratio * motor * emf / resistance;
        let brake = push * ratio * emf + damping;
        let (tilt, dt) = (arm * 2.0 / plate, R::lit(self.machine.dt));
        let mut next = s;
        for i in 0..2 {
            let volts = action[i].clamp(-VOLTS, VOLTS);
            let volts = if self.simple_dynamics { volts } else { beyond_dead_zone(volts, tholds[i]) };
            let turn = (push * volts - brake * s.theta_dot[i]) * inverse;
            let (sin, cos) = (s.theta[i] + offsets[i]).sin_cos();
            let mut acc = tilt * gravity * sin * (1.0 / 1.4);
            if !self.simple_dynamics {
                let plate_sin = tilt * sin;
                // Arms are shorter than plates, so that no cosine is 0 but with numbers of no machine.
                let inverse_cos = (R::lit(1.0) - plate_sin.square()).max(R::lit(1e-4)).sqrt().recip();
                let plate_dot = tilt * s.theta_dot[i] * cos * inverse_cos;
                let swing = tilt * (turn * cos - s.theta_dot[i].square() * sin);
                let plate_acc = (swing + plate_dot.square() * plate_sin) * inverse_cos;
                let turned = s.ball[i] * plate_dot.square() - radius * plate_acc * 0.4;
                acc = acc + (turned - friction / mass * s.ball_dot[i]) * (1.0 / 1.4);
            }
            next.theta_dot[i] = s.theta_dot[i] + dt * turn;
            next.ball_dot[i] = s.ball_dot[i] + dt * acc;
            next.theta[i] = s.theta[i] + dt * next.theta_dot[i];
            next.ball[i] = s.ball[i] + dt * next.ball_dot[i];
        }
        Step { next, reward, terminated: outside(next.numbers(), bounds) }
    }

    #[inline(always)]
    fn observe<R: Real>(&self, s: &BallBalancerState<R>, _task: &[R], out: &mut [R]) {
        out.copy_from_slice(&s.numbers());
    }

    fn draw(&self, state: &[f32], task: &[f32]) -> Scene {
        let domain = self.machine.drawn(task);
        let (radius, half) = (domain[2], 0.5 * domain[3]);
        let view = 1.35 * half;
        let (tilt_x, tilt_y) = (state[0].sin(), state[1].sin());
        // From above. Bars at two sides show to where each motor tilts the plate.
        let bar = 1.2 * half;
        Scene::new([-view, view, -view, view])
            .with(Shape::rect([-half, half, -half, half], Color::PALE))
            .with(Shape::line([-half, -half], [half, -half], 0.002, Color::GREY))
            .with(Shape::line([-half, half], [half, half], 0.002, Color::GREY))
            .with(Shape::line([-half, -half], [-half, half], 0.002, Color::GREY))
            .with(Shape::line([half, -half], [half, half], 0.002, Color::GREY))
            .with(Shape::line([0.0, -bar], [half * tilt_x, -bar], 0.06 * half, Color::BLUE))
            .with(Shape::line([-bar, 0.0], [-bar, half * tilt_y], 0.06 * half, Color::BLUE))
            .with(Shape::circle([0.0, 0.0], 0.08 * half, Color::GREEN))
            .with(Shape::circle([state[2], state[3]], radius, Color::ORANGE))
    }
}
