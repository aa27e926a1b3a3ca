//! Balance a pole on a cart (CartPole-v1).
//!
//! Source: Gymnasium 1.4 `classic_control/cartpole.py`, after Barto, Sutton and Anderson 1983. A force of ±10 N on the
//! cart each 0.02 s; explicit Euler, positions move with the old speeds. Reward 1 per step, the last one included. The
//! episode ends where |x| > 2.4 m or |θ| > 12°; time limit 500; solved at a mean return of 475.

use crate::env::{ActionSpace, Color, Dim, Draws, Env, EnvSpec, Mask, Real, Scene, Shape, Step};

/// The cart and its pole.
#[derive(Clone, Debug, PartialEq)]
pub struct CartPole {
    /// Gravity in m/s².
    pub gravity: f64,
    /// Mass of the cart in kg.
    pub cart_mass: f64,
    /// Mass of the pole in kg.
    pub pole_mass: f64,
    /// Half the length of the pole in m.
    pub half_length: f64,
    /// Force of an action in N.
    pub force: f64,
    /// Time of a step in s.
    pub dt: f64,
    /// Largest |x| of an episode in m.
    pub x_limit: f64,
    /// Largest |θ| of an episode in rad.
    pub theta_limit: f64,
    /// Speeds are observed.
    pub velocities: bool,
}

impl Default for CartPole {
    fn default() -> Self {
        Self {
            gravity: 9.8,
            cart_mass: 1.0,
            pole_mass: 0.1,
            half_length: 0.5,
            force: 10.0,
            dt: 0.02,
            x_limit: 2.4,
            theta_limit: 12.0 * std::f64::consts::TAU / 360.0,
            velocities: true,
        }
    }
}

impl CartPole {
    /// CartPole whose positions are observed and speeds are not: a policy has to remember positions
    /// (`CartPoleNoVel` of Stable-Baselines3's contributions).
    #[must_use]
    pub fn without_velocities() -> CartPole {
        CartPole { velocities: false, ..CartPole::default() }
    }
}

crate::fields! {
    /// Position and speed of the cart, angle (0 upright, clockwise positive) and angular speed of the pole.
    pub struct CartPoleState {
        /// m
        x,
        /// m/s
        x_dot,
        /// rad
        theta,
        /// rad/s
        theta_dot,
    }
}

impl Env for CartPole {
    type State<R: Real> = CartPoleState<R>;

    fn spec(&self) -> EnvSpec {
        let x = Dim::new("x", -2.0 * self.x_limit, 2.0 * self.x_limit);
        let theta = Dim::new("theta", -2.0 * self.theta_limit, 2.0 * self.theta_limit);
        let (name, observation) = match self.velocities {
            true => ("cartpole", vec![x, Dim::unbounded("x_dot"), theta, Dim::unbounded("theta_dot")]),
            false => ("cartpole-no-velocities", vec![x, theta]),
        };
        EnvSpec::new(name, observation, ActionSpace::discrete(&["left", "right"]), 500).dt(self.dt).solved_at(475.0)
    }

    #[inline(always)]
    fn reset<R: Real>(&self, _task: &[R], rng: &mut Draws<R>) -> CartPoleState<R> {
        CartPoleState {
            x: rng.range(-0.05, 0.05),
            x_dot: rng.range(-0.05, 0.05),
            theta: rng.range(-0.05, 0.05),
            theta_dot: rng.range(-0.05, 0.05),
        }
    }

    #[inline(always)]
    fn step<R: Real>(&self, s: CartPoleState<R>, action: &[R], _task: &[R], _rng: &mut Draws<R>) -> Step<R, Self> {
        let total_mass = self.cart_mass + self.pole_mass;
        let pole = R::lit(self.pole_mass * self.half_length / total_mass);
        let force =
            R::select(action[0].gt(R::lit(0.5)), R::lit(self.force / total_mass), R::lit(-self.force / total_mass));
        let (sin, cos) = s.theta.sin_cos();
        // The equations of the source with everything divided by the total mass beforehand.
        let push = force + pole * s.theta_dot.square() * sin;
        let inertia = R::lit(self.half_length * 4.0 / 3.0) - pole * cos.square();
        let theta_acc = (R::lit(self.gravity) * sin - cos * push) / inertia;
        let x_acc = push - pole * theta_acc * cos;
        let dt = R::lit(self.dt);
        let next = CartPoleState {
            x: s.x + dt * s.x_dot,
            x_dot: s.x_dot + dt * x_acc,
            theta: s.theta + dt * s.theta_dot,
            theta_dot: s.theta_dot + dt * theta_acc,
        };
        let terminated = next.x.abs().gt(R::lit(self.x_limit)).or(next.theta.abs().gt(R::lit(self.theta_limit)));
        Step { next, reward: R::lit(1.0), terminated }
    }

    #[inline(always)]
    fn observe<R: Real>(&self, s: &CartPoleState<R>, _task: &[R], out: &mut [R]) {
        match self.velocities {
            true => out.copy_from_slice(&[s.x, s.x_dot, s.theta, s.theta_dot]),
            false => out.copy_from_slice(&[s.x, s.theta]),
        }
    }

    fn draw(&self, state: &[f32], _task: &[f32]) -> Scene {
        let (x, theta) = (state[0], state[2]);
        let length = 2.0 * self.half_length as f32;
        let (limit, axle) = (self.x_limit as f32, 0.17);
        let tip = [x + length * theta.sin(), axle + length * theta.cos()];
        Scene::new([-limit, limit, -0.4, 1.4])
            .with(Shape::rect([-limit, limit, -0.4, -0.08], Color::PALE))
            .with(Shape::line([-limit, -0.08], [limit, -0.08], 0.02, Color::GREY))
            .with(Shape::rect([x - 0.26, x + 0.26, 0.0, 0.26], Color::INK))
            .with(Shape::circle([x - 0.15, 0.0], 0.075, Color::INK))
            .with(Shape::circle([x + 0.15, 0.0], 0.075, Color::INK))
            .with(Shape::circle([x - 0.15, 0.0], 0.03, Color::PALE))
            .with(Shape::circle([x + 0.15, 0.0], 0.03, Color::PALE))
            .with(Shape::line([x, axle], tip, 0.09, Color::ORANGE))
            .with(Shape::circle([x, axle], 0.05, Color::BLUE))
    }
}
