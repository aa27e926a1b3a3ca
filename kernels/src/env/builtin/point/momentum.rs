//! Steer a point that keeps its speed to one of four corners.
//!
//! Source: ProMP (arXiv:1810.06784), `meta_policy_search/envs/point_envs/point_env_2d_momentum.py`. An action changes
//! the velocity by at most 0.1 along each axis, then the velocity moves the point; nothing limits it. The agent sees
//! both. Goals are the corners (±2, ±2); episodes start within ±0.2 with velocities within ±0.1. Dense reward −‖s −
//! goal‖, squared −‖s − goal‖², sparse max(2 − ‖s − goal‖, 0). Never ends; time limit 100.

use super::{CORNER, CORNERS, PointReward, Position, field, goal_dims, moves, sample_corner, with_corners, with_point};
use crate::env::{Dim, Draws, Env, EnvSpec, Mask, Real, Scene, Step};

/// A point with momentum that looks for its corner.
#[derive(Clone, Debug, PartialEq)]
pub struct PointMomentum {
    /// How the goal shows.
    pub reward: PointReward,
    /// Sparse rewards begin at this distance from the goal.
    pub sparse_radius: f64,
    /// Largest change of velocity along each axis.
    pub max_push: f64,
}

impl Default for PointMomentum {
    fn default() -> Self {
        Self { reward: PointReward::Dense, sparse_radius: 2.0, max_push: 0.1 }
    }
}

impl PointMomentum {
    /// The environment with rewards of another kind.
    #[must_use]
    pub fn with_reward(reward: PointReward) -> Self {
        Self { reward, ..Self::default() }
    }
}

crate::fields! {
    /// Where the point is and how far a step moves it.
    pub struct Moving {
        /// To the right.
        x,
        /// Upwards.
        y,
        /// Per step.
        speed_x,
        /// Per step.
        speed_y,
    }
}

impl Env for PointMomentum {
    type State<R: Real> = Moving<R>;

    fn spec(&self) -> EnvSpec {
        let name = format!("point-momentum{}", self.reward.suffix());
        let seen = ["x", "y", "speed_x", "speed_y"].map(Dim::unbounded).to_vec();
        EnvSpec::new(name, seen, moves(self.max_push), 100).task(goal_dims(CORNER)).plane(0, 1).legend(CORNERS)
    }

    #[inline(always)]
    fn sample_task<R: Real>(&self, rng: &mut Draws<R>, task: &mut [R]) {
        task.copy_from_slice(&sample_corner(rng));
    }

    #[inline(always)]
    fn reset<R: Real>(&self, _task: &[R], rng: &mut Draws<R>) -> Moving<R> {
        let (x, y) = (rng.range(-0.2, 0.2), rng.range(-0.2, 0.2));
        Moving { x, y, speed_x: rng.range(-0.1, 0.1), speed_y: rng.range(-0.1, 0.1) }
    }

    #[inline(always)]
    fn step<R: Real>(&self, s: Moving<R>, action: &[R], task: &[R], _rng: &mut Draws<R>) -> Step<R, Self> {
        let speed = Position { x: s.speed_x, y: s.speed_y }.moved(action, self.max_push);
        let at = Position { x: s.x + speed.x, y: s.y + speed.y };
        let far = at.distance(task[0], task[1]);
        let reward = match self.reward {
            PointReward::Dense => -far,
            PointReward::Squared => -far.square(),
            PointReward::Sparse => (R::lit(self.sparse_radius) - far).max(R::lit(0.0)),
        };
        let next = Moving { x: at.x, y: at.y, speed_x: speed.x, speed_y: speed.y };
        Step { next, reward, terminated: R::Mask::splat(false) }
    }

    #[inline(always)]
    fn observe<R: Real>(&self, s: &Moving<R>, _task: &[R], out: &mut [R]) {
        out.copy_from_slice(&[s.x, s.y, s.speed_x, s.speed_y]);
    }

    fn draw(&self, state: &[f32], task: &[f32]) -> Scene {
        with_point(with_corners(field(2.6)), [task[0], task[1]], [state[0], state[1]])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::env::EnvDef;

    fn step(reward: PointReward, state: [f64; 4], action: [f64; 2]) -> (Vec<f64>, f64) {
        let env = EnvDef::new(PointMomentum::with_reward(reward)).unwrap();
        let step = env.step(&state, &action, &[2.0, 2.0], [0, 0], 0).unwrap();
        assert!(!step.terminated);
        (step.state, step.reward)
    }

    #[test]
    fn the_new_velocity_moves_the_point() {
        let (state, reward) = step(PointReward::Dense, [1.0, 2.0, 0.25, 0.0], [0.5, -0.05]);
        assert!(state.iter().zip([1.35, 1.95, 0.35, -0.05]).all(|(a, b)| (a - b).abs() < 1e-12), "{state:?}");
        assert!((reward + (0.65_f64 * 0.65 + 0.0025).sqrt()).abs() < 1e-12);
        assert!((step(PointReward::Squared, [1.0, 2.0, 0.25, 0.0], [0.5, -0.05]).1 + 0.425).abs() < 1e-12);
        // Within 2 of the goal, and not.
        let (_, near) = step(PointReward::Sparse, [1.0, 2.0, 0.0, 0.0], [0.1, 0.0]);
        assert!((near - 1.1).abs() < 1e-12);
        assert_eq!(step(PointReward::Sparse, [-0.5, 2.0, 0.0, 0.0], [0.1, 0.0]).1, 0.0);
    }

    /// Mean return of 1000 episodes under `act(position, velocity, goal)` along each axis.
    fn mean(act: impl Fn(f64, f64, f64) -> f64) -> f64 {
        let env = EnvDef::new(PointMomentum::default()).unwrap();
        let mut total = 0.0;
        for seed in 0..1000 {
            let goal: Vec<f64> = env.sample_task([7, 7], seed);
            let mut s: Vec<f64> = env.reset(&goal, [8, 8], seed).unwrap();
            for _ in 0..100 {
                let action = [act(s[0], s[2], goal[0]), act(s[1], s[3], goal[1])];
                let step = env.step(&s, &action, &goal, [0, 0], 0).unwrap();
                total += step.reward / 1000.0;
                s = step.state;
            }
        }
        total
    }

    #[test]
    fn braking_earns_less_than_steering_and_more_than_drifting() {
        let drift = mean(|_, _, _| 0.0);
        let brake = mean(|_, speed, _| -speed);
        // Critically damped towards the goal.
        let steer = mean(|x, speed, goal| 0.2 * (goal - x) - 0.9 * speed);
        assert!(drift < -400.0 && (brake + 283.0).abs() < 1.0, "drift {drift}, brake {brake}");
        assert!((steer + 14.0).abs() < 0.5, "{steer}");
    }
}
