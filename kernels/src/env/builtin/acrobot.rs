//! Swing the tip of a two-link arm above a line by a torque at its middle joint (Acrobot-v1).
//!
//! Source: Gymnasium 1.4 `classic_control/acrobot.py`, dynamics of Sutton and Barto's book: one step of classical
//! Runge–Kutta over 0.2 s, then angles wrapped to [−π, π) and speeds limited to 4π and 9π. Torque −1, 0 or 1 N m.
//! Reward −1 per step, 0 in the step that reaches the goal. The episode ends where −cos θ₁ − cos(θ₁ + θ₂) > 1; time
//! limit 500; solved at a mean return of −100.

use std::f64::consts::PI;

use super::pendulum::wrap_angle;
use crate::env::{ActionSpace, Color, Dim, Draws, Env, EnvSpec, Fields, Real, Scene, Shape, Step};

/// Two equal links.
#[derive(Clone, Debug, PartialEq)]
pub struct Acrobot {
    /// Gravity in m/s².
    pub gravity: f64,
    /// Mass of each link in kg.
    pub mass: f64,
    /// Length of the first link in m.
    pub length: f64,
    /// Distance of each link's centre of mass from its joint in m.
    pub centre: f64,
    /// Moment of inertia of each link in kg m².
    pub inertia: f64,
    /// Time of a step in s.
    pub dt: f64,
    /// Largest speed of the first joint in rad/s.
    pub max_speed_1: f64,
    /// Largest speed of the second joint in rad/s.
    pub max_speed_2: f64,
}

impl Default for Acrobot {
    fn default() -> Self {
        Self {
            gravity: 9.8,
            mass: 1.0,
            length: 1.0,
            centre: 0.5,
            inertia: 1.0,
            dt: 0.2,
            max_speed_1: 4.0 * PI,
            max_speed_2: 9.0 * PI,
        }
    }
}

crate::fields! {
    /// Angles (0 hanging; the second relative to the first) and their speeds.
    pub struct AcrobotState {
        /// rad
        theta_1,
        /// rad
        theta_2,
        /// rad/s
        speed_1,
        /// rad/s
        speed_2,
    }
}

impl Acrobot {
    /// Time derivative of the state under a torque.
    #[inline(always)]
    fn derivative<R: Real>(&self, s: AcrobotState<R>, torque: R) -> AcrobotState<R> {
        let Self { gravity: g, mass: m, length: l, centre: c, inertia, .. } = *self;
        let (sin_2, cos_2) = s.theta_2.sin_cos();
        let coupling = R::lit(m * l * c);
        let d1 = R::lit(m * c * c + m * (l * l + c * c) + 2.0 * inertia) + R::lit(2.0 * m * l * c) * cos_2;
        let d2 = R::lit(m * c * c + inertia) + coupling * cos_2;
        let phi_2 = R::lit(m * c * g) * (s.theta_1 + s.theta_2).sin(); // the source's cos(… − π/2)
        let phi_1 = R::lit(m * (c + l) * g) * s.theta_1.sin() + phi_2
            - coupling * sin_2 * s.speed_2 * (s.speed_2 + R::lit(2.0) * s.speed_1);
        let ratio = d2 / d1;
        let acc_2 = (torque + ratio * phi_1 - coupling * s.speed_1.square() * sin_2 - phi_2)
            / (R::lit(m * c * c + inertia) - ratio * d2);
        let acc_1 = -(d2 * acc_2 + phi_1) / d1;
        AcrobotState { theta_1: s.speed_1, theta_2: s.speed_2, speed_1: acc_1, speed_2: acc_2 }
    }

    /// `s + dt · slope`
    #[inline(always)]
    fn advance<R: Real>(s: AcrobotState<R>, slope: AcrobotState<R>, dt: f64) -> AcrobotState<R> {
        Fields::from_fn(|i| s.get(i) + R::lit(dt) * slope.get(i))
    }
}

impl Env for Acrobot {
    type State<R: Real> = AcrobotState<R>;

    fn spec(&self) -> EnvSpec {
        let trig = ["cos_theta_1", "sin_theta_1", "cos_theta_2", "sin_theta_2"];
        let mut observation: Vec<Dim> = trig.iter().map(|name| Dim::new(*name, -1.0, 1.0)).collect();
        observation.push(Dim::new("speed_1", -self.max_speed_1, self.max_speed_1));
        observation.push(Dim::new("speed_2", -self.max_speed_2, self.max_speed_2));
        let action = ActionSpace::discrete(&["torque -1", "torque 0", "torque +1"]);
        EnvSpec::new("acrobot", observation, action, 500).dt(self.dt).solved_at(-100.0)
    }

    #[inline(always)]
    fn reset<R: Real>(&self, _task: &[R], rng: &mut Draws<R>) -> AcrobotState<R> {
        AcrobotState {
            theta_1: rng.range(-0.1, 0.1),
            theta_2: rng.range(-0.1, 0.1),
            speed_1: rng.range(-0.1, 0.1),
            speed_2: rng.range(-0.1, 0.1),
        }
    }

    #[inline(always)]
    fn step<R: Real>(&self, s: AcrobotState<R>, action: &[R], _task: &[R], _rng: &mut Draws<R>) -> Step<R, Self> {
        let torque = R::select(action[0].gt(R::lit(0.5)), R::lit(0.0), R::lit(-1.0));
        let torque = R::select(action[0].gt(R::lit(1.5)), R::lit(1.0), torque);
        let k1 = self.derivative(s, torque);
        let k2 = self.derivative(Self::advance(s, k1, self.dt / 2.0), torque);
        let k3 = self.derivative(Self::advance(s, k2, self.dt / 2.0), torque);
        let k4 = self.derivative(Self::advance(s, k3, self.dt), torque);
        let two = R::lit(2.0);
        let slope: AcrobotState<R> = Fields::from_fn(|i| k1.get(i) + two * (k2.get(i) + k3.get(i)) + k4.get(i));
        let moved = Self::advance(s, slope, self.dt / 6.0);
        let next = AcrobotState {
            theta_1: wrap_angle(moved.theta_1),
            theta_2: wrap_angle(moved.theta_2),
            speed_1: moved.speed_1.clamp(-self.max_speed_1, self.max_speed_1),
            speed_2: moved.speed_2.clamp(-self.max_speed_2, self.max_speed_2),
        };
        let height = -next.theta_1.cos() - (next.theta_1 + next.theta_2).cos();
        let terminated = height.gt(R::lit(1.0));
        Step { next, reward: R::select(terminated, R::lit(0.0), R::lit(-1.0)), terminated }
    }

    #[inline(always)]
    fn observe<R: Real>(&self, s: &AcrobotState<R>, _task: &[R], out: &mut [R]) {
        let (sin_1, cos_1) = s.theta_1.sin_cos();
        let (sin_2, cos_2) = s.theta_2.sin_cos();
        out.copy_from_slice(&[cos_1, sin_1, cos_2, sin_2, s.speed_1, s.speed_2]);
    }

    #[inline(always)]
    fn success<R: Real>(&self, _: &Self::State<R>, _: R, terminated: R::Mask, _: &[R]) -> Option<R::Mask> {
        Some(terminated)
    }

    fn draw(&self, state: &[f32], _task: &[f32]) -> Scene {
        // Both links are drawn one unit long, as the goal's line counts them.
        let (first, second) = (state[0], state[0] + state[1]);
        let elbow = [first.sin(), -first.cos()];
        let tip = [elbow[0] + second.sin(), elbow[1] - second.cos()];
        Scene::new([-2.2, 2.2, -2.2, 2.2])
            .with(Shape::circle([0.0, 0.0], 2.1, Color::PALE))
            .with(Shape::line([-2.2, 1.0], [2.2, 1.0], 0.025, Color::GREEN))
            .with(Shape::line([0.0, 0.0], elbow, 0.18, Color::ORANGE))
            .with(Shape::line(elbow, tip, 0.18, Color::ORANGE))
            .with(Shape::circle([0.0, 0.0], 0.1, Color::BLUE))
            .with(Shape::circle(elbow, 0.1, Color::BLUE))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::env::EnvDef;

    #[test]
    fn reaching_the_line_ends_the_episode_without_cost() {
        let env = EnvDef::new(Acrobot::default()).unwrap();
        let up = env.step(&[PI - 0.1, 0.0, 0.0, 0.0], &[1.0], &[], [0, 0], 0).unwrap();
        assert!(up.terminated && up.reward == 0.0);
        let hanging = env.step(&[0.0, 0.0, 0.0, 0.0], &[1.0], &[], [0, 0], 0).unwrap();
        assert!(!hanging.terminated && hanging.reward == -1.0 && hanging.observation[0] <= 1.0);
    }

    #[test]
    fn energy_is_kept_without_torque_over_small_steps() {
        let arm = Acrobot { dt: 0.001, ..Acrobot::default() };
        let energy = |s: &[f64]| {
            let (m, l, c, i, g) = (arm.mass, arm.length, arm.centre, arm.inertia, arm.gravity);
            let m11 = m * c * c + m * (l * l + c * c + 2.0 * l * c * s[1].cos()) + 2.0 * i;
            let (m12, m22) = (m * (c * c + l * c * s[1].cos()) + i, m * c * c + i);
            let kinetic = 0.5 * m11 * s[2] * s[2] + m12 * s[2] * s[3] + 0.5 * m22 * s[3] * s[3];
            kinetic - m * g * (c * s[0].cos() + l * s[0].cos() + c * (s[0] + s[1]).cos())
        };
        let env = EnvDef::new(arm.clone()).unwrap();
        let mut state = vec![1.0, 0.5, 0.0, 0.0];
        let start = energy(&state);
        for _ in 0..1000 {
            state = env.step(&state, &[1.0], &[], [0, 0], 0).unwrap().state;
        }
        assert!(state[2].abs() + state[3].abs() > 0.1, "it moves");
        assert!((energy(&state) - start).abs() < 1e-8 * start.abs(), "{start} {}", energy(&state));
    }
}
