//! Find a goal on a half circle by its smell: PEARL's sparse point robot.
//!
//! Source: oyster (arXiv:1903.08254), `rlkit/envs/point_robot.py`. Goals on the upper half of the unit circle; episodes
//! start in the middle; an action moves by at most 0.1 along each axis. Sparse reward 1 − ‖s − goal‖ within 0.2 of the
//! goal, else 0; the dense one, −‖s − goal‖, trained the original's actor. Never ends; time limit 20.
//!
//! The original takes n evenly spaced goals, shuffled; here angles are U(0, π), and pools of tasks make them few.
//! Standing still earns 0 (dense −20), straight to the goal 13.4.

use std::f64::consts::PI;

use super::{GOAL, PointReward, Position, field, moves, position_dims, with_point};
use crate::env::{Color, Dim, Draws, Env, EnvSpec, Mask, Real, Scene, Shape, Step};

/// A point that looks for its goal along a half circle.
#[derive(Clone, Debug, PartialEq)]
pub struct PointHalfCircle {
    /// How the goal shows.
    pub reward: PointReward,
    /// Sparse rewards are paid within this distance.
    pub goal_radius: f64,
    /// Largest move along each axis.
    pub max_step: f64,
}

impl Default for PointHalfCircle {
    fn default() -> Self {
        Self { reward: PointReward::Sparse, goal_radius: 0.2, max_step: 0.1 }
    }
}

impl PointHalfCircle {
    /// The environment whose reward shows the goal from everywhere.
    #[must_use]
    pub fn dense() -> Self {
        Self { reward: PointReward::Dense, ..Self::default() }
    }
}

impl Env for PointHalfCircle {
    type State<R: Real> = Position<R>;

    fn spec(&self) -> EnvSpec {
        let name = match self.reward {
            PointReward::Sparse => "point-half-circle",
            PointReward::Dense => "point-half-circle-dense",
            PointReward::Squared => "point-half-circle-squared",
        };
        let goal = vec![Dim::new("goal_x", -1.0, 1.0), Dim::new("goal_y", 0.0, 1.0)];
        EnvSpec::new(name, position_dims(), moves(self.max_step), 20)
            .task(goal)
            .plane(0, 1)
            .legend(&format!("{GOAL}, on the grey half circle; pale disc: near the goal"))
    }

    #[inline(always)]
    fn sample_task<R: Real>(&self, rng: &mut Draws<R>, task: &mut [R]) {
        let (sin, cos) = rng.range(0.0, PI).sin_cos();
        task.copy_from_slice(&[cos, sin]);
    }

    #[inline(always)]
    fn reset<R: Real>(&self, _task: &[R], _rng: &mut Draws<R>) -> Position<R> {
        Position { x: R::lit(0.0), y: R::lit(0.0) }
    }

    #[inline(always)]
    fn step<R: Real>(&self, s: Position<R>, action: &[R], task: &[R], _rng: &mut Draws<R>) -> Step<R, Self> {
        let next = s.moved(action, self.max_step);
        let far = next.distance(task[0], task[1]);
        let reward = match self.reward {
            PointReward::Dense => -far,
            PointReward::Squared => -far.square(),
            PointReward::Sparse => R::select(far.le(R::lit(self.goal_radius)), R::lit(1.0) - far, R::lit(0.0)),
        };
        Step { next, reward, terminated: R::Mask::splat(false) }
    }

    /// The distance, by which the original trained its actor on the sparse reward.
    #[inline(always)]
    fn dense_reward<R: Real>(&self, before: &Position<R>, action: &[R], task: &[R]) -> Option<R> {
        let far = before.moved(action, self.max_step).distance(task[0], task[1]);
        (self.reward == PointReward::Sparse).then_some(-far)
    }

    #[inline(always)]
    fn observe<R: Real>(&self, s: &Position<R>, _task: &[R], out: &mut [R]) {
        out.copy_from_slice(&[s.x, s.y]);
    }

    /// A step that ends within the radius, whichever reward tells it.
    #[inline(always)]
    fn success<R: Real>(&self, _: &Self::State<R>, reward: R, _: R::Mask, _: &[R]) -> Option<R::Mask> {
        let least = match self.reward {
            PointReward::Sparse => return Some(reward.gt(R::lit(0.0))),
            PointReward::Dense => -self.goal_radius,
            PointReward::Squared => -self.goal_radius * self.goal_radius,
        };
        Some(R::lit(least).le(reward))
    }

    fn draw(&self, state: &[f32], task: &[f32]) -> Scene {
        let arc = (0..=60).map(|i| (i as f32 / 60.0 * std::f32::consts::PI).sin_cos()).map(|(sin, cos)| [cos, sin]);
        let scene = field(1.4).with(Shape::polyline(arc.collect(), 0.015, Color::GREY)).with(Shape::circle(
            [task[0], task[1]],
            self.goal_radius as f32,
            Color::PALE,
        ));
        with_point(scene, [task[0], task[1]], [state[0], state[1]])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::env::EnvDef;
    use crate::env::point::tests::{STILL, STRAIGHT, mean_return};

    #[test]
    fn only_steps_within_the_radius_are_rewarded() {
        let reward = |point: PointHalfCircle, from: [f64; 2], action: [f64; 2]| {
            EnvDef::new(point).unwrap().step(&from, &action, &[0.0, 1.0], [0, 0], 0).unwrap().reward
        };
        assert!((reward(PointHalfCircle::default(), [0.0, 0.75], [0.0, 0.1]) - 0.85).abs() < 1e-12);
        assert_eq!(reward(PointHalfCircle::default(), [0.0, 0.65], [0.0, 0.1]), 0.0);
        assert!((reward(PointHalfCircle::dense(), [0.0, 0.65], [0.0, 0.1]) + 0.25).abs() < 1e-12);
    }

    #[test]
    fn success_is_a_place_within_the_radius_for_all_rewards() {
        for reward in [PointReward::Sparse, PointReward::Dense, PointReward::Squared] {
            let env = EnvDef::new(PointHalfCircle { reward, ..PointHalfCircle::default() }).unwrap();
            let succeeds = |y: f32| {
                let (from, task) = ([0.0_f32, y], [0.0, 1.0]);
                let step = env.step(&from, &[0.0, 0.0], &task, [0, 0], 0).unwrap();
                env.success(&from, step.reward, step.terminated, &task).unwrap().unwrap()
            };
            assert_eq!([0.0, 0.79, 0.81, 1.0, 1.19, 1.21].map(succeeds), [false, false, true, true, true, false]);
        }
    }

    #[test]
    fn goals_are_spread_evenly_over_the_half_circle() {
        let env = EnvDef::new(PointHalfCircle::default()).unwrap();
        let mut eighths = [0_u32; 8];
        for element in 0..8000 {
            let goal: Vec<f64> = env.sample_task([3, 4], element);
            assert!((goal[0].hypot(goal[1]) - 1.0).abs() < 1e-12 && goal[1] >= 0.0);
            eighths[(goal[1].atan2(goal[0]) / PI * 8.0) as usize] += 1;
        }
        // Four standard errors of 8000 draws with chance 1/8: 118.
        assert!(eighths.iter().all(|n| n.abs_diff(1000) < 119), "{eighths:?}");
    }

    #[test]
    fn standing_still_earns_nothing_and_going_straight_most_of_the_episode() {
        let sparse = EnvDef::new(PointHalfCircle::default()).unwrap();
        assert_eq!(mean_return(&sparse, 100, STILL).0, 0.0);
        let (best, error) = mean_return(&sparse, 2000, STRAIGHT);
        assert!((best - 13.38).abs() < 4.0 * error, "{best} ± {error}");
        let dense = EnvDef::new(PointHalfCircle::dense()).unwrap();
        assert!((mean_return(&dense, 100, STILL).0 + 20.0).abs() < 1e-9);
    }
}
