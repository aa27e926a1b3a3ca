//! Swing a pendulum up and hold it (Pendulum-v1).
//!
//! Source: Gymnasium 1.4 `classic_control/pendulum.py`. A torque of at most 2 N m each 0.05 s on a rod of mass m and
//! length l: θ̈ = 3g/(2l) sin θ + 3/(m l²) u, θ = 0 upright. The new speed is limited to ±8 rad/s, then moves the angle
//! (version 0 moved before limiting). Reward −(θ² + 0.1 θ̇² + 0.001 u²) of the state before the step, θ in [−π, π),
//! with the limited torque. Never terminates; time limit 200; the authors name no solved-at return.

use std::f64::consts::{PI, TAU};

use crate::env::{ActionSpace, Color, Dim, Draws, Env, EnvSpec, Mask, Real, Scene, Shape, Step};

/// A rod on a motor.
#[derive(Clone, Debug, PartialEq)]
pub struct Pendulum {
    /// Gravity in m/s².
    pub gravity: f64,
    /// Mass in kg.
    pub mass: f64,
    /// Length in m.
    pub length: f64,
    /// Largest torque in N m.
    pub max_torque: f64,
    /// Largest speed in rad/s.
    pub max_speed: f64,
    /// Time of a step in s.
    pub dt: f64,
}

impl Default for Pendulum {
    fn default() -> Self {
        Self { gravity: 10.0, mass: 1.0, length: 1.0, max_torque: 2.0, max_speed: 8.0, dt: 0.05 }
    }
}

crate::fields! {
    /// Angle (0 upright, not wrapped) and angular speed.
    pub struct PendulumState {
        /// rad
        theta,
        /// rad/s
        theta_dot,
    }
}

/// Brings an angle into [−π, π) by whole turns.
#[inline(always)]
pub(super) fn wrap_angle<R: Real>(angle: R) -> R {
    angle - R::lit(TAU) * ((angle + R::lit(PI)) * R::lit(1.0 / TAU)).floor()
}

impl Env for Pendulum {
    type State<R: Real> = PendulumState<R>;

    fn spec(&self) -> EnvSpec {
        let observation = vec![
            Dim::new("cos_theta", -1.0, 1.0),
            Dim::new("sin_theta", -1.0, 1.0),
            Dim::new("theta_dot", -self.max_speed, self.max_speed),
        ];
        let torque = Dim::new("torque", -self.max_torque, self.max_torque);
        EnvSpec::new("pendulum", observation, ActionSpace::continuous(vec![torque]), 200).dt(self.dt)
    }

    #[inline(always)]
    fn reset<R: Real>(&self, _task: &[R], rng: &mut Draws<R>) -> PendulumState<R> {
        PendulumState { theta: rng.range(-PI, PI), theta_dot: rng.range(-1.0, 1.0) }
    }

    #[inline(always)]
    fn step<R: Real>(&self, s: PendulumState<R>, action: &[R], _task: &[R], _rng: &mut Draws<R>) -> Step<R, Self> {
        let torque = action[0].clamp(-self.max_torque, self.max_torque);
        let cost = wrap_angle(s.theta).square() + R::lit(0.1) * s.theta_dot.square() + R::lit(0.001) * torque.square();
        let gravity = R::lit(1.5 * self.gravity / self.length * self.dt);
        let push = R::lit(3.0 / (self.mass * self.length * self.length) * self.dt);
        let speed = s.theta_dot + gravity * s.theta.sin() + push * torque;
        let speed = speed.clamp(-self.max_speed, self.max_speed);
        let next = PendulumState { theta: s.theta + speed * R::lit(self.dt), theta_dot: speed };
        Step { next, reward: -cost, terminated: R::Mask::splat(false) }
    }

    #[inline(always)]
    fn observe<R: Real>(&self, s: &PendulumState<R>, _task: &[R], out: &mut [R]) {
        let (sin, cos) = s.theta.sin_cos();
        out.copy_from_slice(&[cos, sin, s.theta_dot]);
    }

    fn draw(&self, state: &[f32], _task: &[f32]) -> Scene {
        let (sin, cos) = state[0].sin_cos();
        // Drawn one unit long whatever the length; positive angles turn anticlockwise, as in the source.
        Scene::new([-1.3, 1.3, -1.3, 1.3])
            .with(Shape::circle([0.0, 0.0], 1.1, Color::PALE))
            .with(Shape::line([0.0, 0.0], [-sin, cos], 0.18, Color::ORANGE))
            .with(Shape::circle([0.0, 0.0], 0.06, Color::INK))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::env::EnvDef;

    #[test]
    fn the_speed_is_limited_before_it_moves_the_angle() {
        // From 7.9 rad/s at θ = π/2 with full torque: 7.9 + 15 · 0.05 + 6 · 0.05 = 8.95, limited to 8; θ moves by 0.4.
        let env = EnvDef::new(Pendulum::default()).unwrap();
        let step = env.step(&[PI / 2.0, 7.9], &[5.0], &[], [0, 0], 0).unwrap();
        assert_eq!(step.state, [PI / 2.0 + 0.4, 8.0]);
        let cost = (PI / 2.0).powi(2) + 0.1 * 7.9 * 7.9 + 0.001 * 4.0;
        assert!((step.reward + cost).abs() < 1e-12 && !step.terminated);
    }

    #[test]
    fn angles_wrap_to_the_half_open_circle() {
        for (angle, wrapped) in
            [(0.0, 0.0), (3.0, 3.0), (PI + 0.5, 0.5 - PI), (-PI - 0.5, PI - 0.5), (20.0, 20.0 - 3.0 * TAU)]
        {
            assert!((wrap_angle(angle) - wrapped).abs() < 1e-14);
        }
        assert_eq!(wrap_angle(PI), -PI);
    }
}
