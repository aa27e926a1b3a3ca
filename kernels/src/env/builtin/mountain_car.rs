//! Drive an underpowered car out of a valley by choosing left, coast or right (MountainCar-v0).
//!
//! Source: Gymnasium 1.4 `classic_control/mountain_car.py`, after Moore 1990. v ← v + 0.001 (a − 1) − 0.0025 cos 3x,
//! limited to ±0.07; x ← x + v, limited to [−1.2, 0.6]; the left wall stops the car. Reward −1 per step. The episode
//! ends at x ≥ 0.5 with v ≥ 0; time limit 200; solved at a mean return of −110.

use crate::env::{ActionSpace, Color, Dim, Draws, Env, EnvSpec, Mask, Real, Scene, Shape, Step};

/// The left end of the track.
pub(super) const MIN_X: f64 = -1.2;
/// The right end of the track.
pub(super) const MAX_X: f64 = 0.6;
/// Largest speed.
pub(super) const MAX_SPEED: f64 = 0.07;

/// A car in a valley.
#[derive(Clone, Debug, PartialEq)]
pub struct MountainCar {
    /// Change of speed by one push.
    pub force: f64,
    /// Largest change of speed by the slope.
    pub gravity: f64,
    /// The place at which the episode ends.
    pub goal: f64,
}

impl Default for MountainCar {
    fn default() -> Self {
        Self { force: 0.001, gravity: 0.0025, goal: 0.5 }
    }
}

crate::fields! {
    /// Position and speed per step.
    pub struct CarState {
        /// Position; the valley's bottom is at −π/6.
        x,
        /// Distance per step.
        speed,
    }
}

/// Start in the valley at rest.
#[inline(always)]
pub(super) fn start<R: Real>(rng: &mut Draws<R>) -> CarState<R> {
    CarState { x: rng.range(-0.6, -0.4), speed: R::lit(0.0) }
}

/// One step of the car under a push, and whether it has reached the goal.
#[inline(always)]
pub(super) fn roll<R: Real>(s: CarState<R>, push: R, gravity: f64, goal: f64) -> (CarState<R>, R::Mask) {
    let slope = (R::lit(3.0) * s.x).cos();
    let speed = (s.speed + (push - R::lit(gravity) * slope)).clamp(-MAX_SPEED, MAX_SPEED);
    let x = (s.x + speed).clamp(MIN_X, MAX_X);
    let at_wall = x.le(R::lit(MIN_X)).and(speed.lt(R::lit(0.0)));
    let speed = R::select(at_wall, R::lit(0.0), speed);
    let reached = x.ge(R::lit(goal)).and(speed.ge(R::lit(0.0)));
    (CarState { x, speed }, reached)
}

/// The observation's numbers.
pub(super) fn observation() -> Vec<Dim> {
    vec![Dim::new("x", MIN_X, MAX_X), Dim::new("speed", -MAX_SPEED, MAX_SPEED)]
}

/// The valley, the flag and the car.
pub(super) fn scene(x: f32, goal: f32) -> Scene {
    let height = |x: f32| 0.45 * (3.0 * x).sin() + 0.55;
    let (left, right) = (MIN_X as f32, MAX_X as f32);
    let hill: Vec<[f32; 2]> =
        (0..=60).map(|i| left + (right - left) * i as f32 / 60.0).map(|x| [x, height(x)]).collect();
    let ground = [&hill[..], &[[right, 0.0], [left, 0.0]]].concat();
    let top = [goal, height(goal) + 0.2];
    // The car stands on the slope: along is its unit tangent.
    let slope = 1.35 * (3.0 * x).cos();
    let norm = (1.0 + slope * slope).sqrt();
    let along = [1.0 / norm, slope / norm];
    let place = |a: f32, up: f32| [x + a * along[0] - up * along[1], height(x) + a * along[1] + up * along[0]];
    let body = vec![place(-0.08, 0.03), place(0.08, 0.03), place(0.06, 0.1), place(-0.06, 0.1)];
    Scene::new([left, right, 0.0, 1.2])
        .with(Shape::polygon(ground, Color::PALE))
        .with(Shape::polyline(hill, 0.015, Color::GREY))
        .with(Shape::line([goal, height(goal)], top, 0.01, Color::INK))
        .with(Shape::polygon(vec![top, [goal, top[1] - 0.08], [goal + 0.07, top[1] - 0.04]], Color::GREEN))
        .with(Shape::polygon(body, Color::ORANGE))
        .with(Shape::circle(place(-0.05, 0.03), 0.03, Color::INK))
        .with(Shape::circle(place(0.05, 0.03), 0.03, Color::INK))
}

impl Env for MountainCar {
    type State<R: Real> = CarState<R>;

    fn spec(&self) -> EnvSpec {
        let action = ActionSpace::discrete(&["left", "coast", "right"]);
        EnvSpec::new("mountain-car", observation(), action, 200).solved_at(-110.0)
    }

    #[inline(always)]
    fn reset<R: Real>(&self, _task: &[R], rng: &mut Draws<R>) -> CarState<R> {
        start(rng)
    }

    #[inline(always)]
    fn step<R: Real>(&self, s: CarState<R>, action: &[R], _task: &[R], _rng: &mut Draws<R>) -> Step<R, Self> {
        let (zero, force) = (R::lit(0.0), R::lit(self.force));
        let push = R::select(action[0].gt(R::lit(0.5)), zero, -force);
        let push = R::select(action[0].gt(R::lit(1.5)), force, push);
        let (next, terminated) = roll(s, push, self.gravity, self.goal);
        Step { next, reward: R::lit(-1.0), terminated }
    }

    #[inline(always)]
    fn observe<R: Real>(&self, s: &CarState<R>, _task: &[R], out: &mut [R]) {
        out.copy_from_slice(&[s.x, s.speed]);
    }

    #[inline(always)]
    fn success<R: Real>(&self, _: &Self::State<R>, _: R, terminated: R::Mask, _: &[R]) -> Option<R::Mask> {
        Some(terminated)
    }

    fn draw(&self, state: &[f32], _task: &[f32]) -> Scene {
        scene(state[0], self.goal as f32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::env::EnvDef;

    #[test]
    fn the_left_wall_stops_the_car_and_the_goal_needs_no_leftward_speed() {
        let env = EnvDef::new(MountainCar::default()).unwrap();
        let step = |x: f64, speed: f64, action: f64| env.step(&[x, speed], &[action], &[], [0, 0], 0).unwrap();
        assert_eq!(step(-1.19, -0.07, 0.0).state, [MIN_X, 0.0]);
        assert!(step(0.49, 0.05, 2.0).terminated);
        assert!(!step(0.45, 0.03, 2.0).terminated);
        assert!(!step(0.6, -0.01, 0.0).terminated, "beyond the goal, but rolling back");
        assert_eq!(step(0.49, 0.05, 2.0).reward, -1.0);
    }
}
