//! Bring a mass on a spring to a place and hold it there (Pyrado's `omo`, the one-mass oscillator).
//!
//! Source: Pyrado, `pysim/one_mass_oscillator.py`. A force F of at most 30 N each 0.02 s: m ẍ = −k x − d ẋ + F;
//! explicit Euler, the place moves with the old speed. Reward −(10 (x − goal)² + 0.01 ẋ² + 10⁻⁶ F²), and −1000 where
//! |x| > 1 m or |ẋ| > 10 m/s ends the episode. Time limit 300. The goal is 0, and a parameter of the name.

use super::bounds::{limited, outside};
use super::machine::{DomainParameter, Machine, Spread, given};
use super::observation::free;
use super::reward::Weights;
use crate::Result;
use crate::env::builtin::parameters::{Given, Parameter};
use crate::env::builtin::reader::Reader;
use crate::env::{ActionSpace, Color, Dim, Draws, Env, EnvSpec, Real, Scene, Shape, Step};

const TABLE: [DomainParameter; 3] = [
    DomainParameter::new("mass", 1.0, Spread::Normal(1.0 / 3.0), 1e-3, "mass in kg"),
    DomainParameter::new("stiffness", 30.0, Spread::Normal(1.0 / 3.0), 1e-3, "stiffness of the spring in N/m"),
    DomainParameter::new("damping", 0.5, Spread::Normal(1.0 / 3.0), 1e-3, "damping in N s/m"),
];

const WEIGHTS: Weights<2> = Weights { state: [10.0, 0.01], action: 1e-6 };
const FAILURE: f64 = -1e3;

/// A mass on a spring that a force moves.
#[derive(Clone, Debug, PartialEq)]
pub struct MassSpring {
    /// Name, time of a step, domain parameters.
    pub machine: Machine<3>,
    /// The place to hold in m.
    pub goal: f64,
}

crate::fields! {
    /// Place and speed of the mass.
    pub struct MassSpringState {
        /// m
        x,
        /// m/s
        x_dot,
    }
}

impl Default for MassSpring {
    fn default() -> Self {
        Self { machine: Machine::new("mass-spring", 0.02, &TABLE), goal: 0.0 }
    }
}

impl MassSpring {
    pub(super) fn parameters(&self) -> Vec<Parameter> {
        self.machine.parameters(vec![given("goal", self.goal, "the place to hold in m")])
    }

    pub(super) fn given(mut self, given: &Given<'_>) -> Result<Self> {
        let mut read = Reader::new(given, &self.machine.name);
        self.machine.read_domain(&mut read)?;
        self.goal = read.within("goal", self.goal, [-1.0, 1.0])?;
        self.machine.read_rest(read)?;
        Ok(self)
    }
}

impl Env for MassSpring {
    type State<R: Real> = MassSpringState<R>;

    fn spec(&self) -> EnvSpec {
        let action = ActionSpace::continuous(vec![Dim::new("force", -30.0, 30.0)]);
        let spec = EnvSpec::new(&self.machine.name, free(&["x", "x_dot"]), action, 300);
        spec.dt(self.machine.dt).task(self.machine.task()).legend("green: the place to hold")
    }

    #[inline(always)]
    fn sample_task<R: Real>(&self, rng: &mut Draws<R>, task: &mut [R]) {
        self.machine.sample_task(rng, task);
    }

    #[inline(always)]
    fn reset<R: Real>(&self, _task: &[R], rng: &mut Draws<R>) -> MassSpringState<R> {
        MassSpringState { x: rng.range(-0.75, -0.65), x_dot: rng.range(-0.1, 0.1) }
    }

    #[inline(always)]
    fn step<R: Real>(&self, s: MassSpringState<R>, action: &[R], task: &[R], _rng: &mut Draws<R>) -> Step<R, Self> {
        let [mass, stiffness, damping] = self.machine.domain(task);
        let reward = WEIGHTS.quadratic([s.x - self.goal, s.x_dot], action);
        // The motor holds the mass at any place within the bounds, and no more.
        let force = limited(action[0], stiffness);
        let dt = R::lit(self.machine.dt);
        let acc = (force - stiffness * s.x - damping * s.x_dot) / mass;
        let next = MassSpringState { x: s.x + dt * s.x_dot, x_dot: s.x_dot + dt * acc };
        let failed = outside([next.x, next.x_dot], [R::lit(1.0), R::lit(10.0)]);
        Step { next, reward: reward + R::from_mask(failed) * FAILURE, terminated: failed }
    }

    #[inline(always)]
    fn observe<R: Real>(&self, s: &MassSpringState<R>, _task: &[R], out: &mut [R]) {
        out.copy_from_slice(&[s.x, s.x_dot]);
    }

    fn draw(&self, state: &[f32], _task: &[f32]) -> Scene {
        let (x, goal, wall) = (state[0], self.goal as f32, -1.4_f32);
        let turns = 12;
        let coil = (0..=2 * turns).map(|i| {
            let part = i as f32 / (2 * turns) as f32;
            let side = if i == 0 || i == 2 * turns { 0.0 } else { [0.07, -0.07][i % 2] };
            [wall + (x - 0.1 - wall) * part, 0.1 + side]
        });
        Scene::new([-1.5, 1.2, -0.5, 0.7])
            .with(Shape::rect([-1.5, 1.2, -0.12, -0.02], Color::PALE))
            .with(Shape::line([-1.5, -0.01], [1.2, -0.01], 0.02, Color::GREY))
            .with(Shape::rect([-1.5, wall, -0.02, 0.35], Color::GREY))
            .with(Shape::line([goal, -0.12], [goal, 0.4], 0.025, Color::GREEN))
            .with(Shape::polyline(coil.collect(), 0.02, Color::BLUE))
            .with(Shape::rect([x - 0.1, x + 0.1, 0.0, 0.2], Color::ORANGE))
    }
}
