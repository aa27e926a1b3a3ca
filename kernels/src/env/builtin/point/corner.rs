//! Find out which of four corners is the goal, and go there.
//!
//! Source: ProMP (arXiv:1810.06784), `meta_policy_search/envs/point_envs/point_env_2d_corner.py`. The goal is one of
//! (±2, ±2) with equal chances; episodes start in a square of ±0.2; an action moves by at most 0.2 along each axis.
//! Rewards of a step from p to s with goal g: dense −‖s − g‖; squared −‖s − g‖²; sparse the progress ‖p − g‖ − ‖s − g‖,
//! but only where g is the corner nearest to s and |s₁| + |s₂| ≥ 0.5, else 0. Never terminates; time limit 100.
//!
//! Returns of 100 steps: standing still earns about −283 dense and 0 sparse; knowing the goal, at best about
//! −12.7 dense and 2.8 less the radius sparse.

use super::{
    CORNER, CORNERS, PointReward, Position, field, goal_dims, moves, position_dims, sample_corner, with_corners,
    with_point,
};
use crate::env::{Color, Draws, Env, EnvSpec, Mask, Real, Scene, Shape, Step};

/// A point that looks for its corner.
#[derive(Clone, Debug, PartialEq)]
pub struct PointCorner {
    /// How the goal shows.
    pub reward: PointReward,
    /// Sparse rewards begin at this distance |s₁| + |s₂| from the middle.
    pub sparse_radius: f64,
    /// Largest move along each axis.
    pub max_step: f64,
    /// Half the side of the square that episodes start in.
    pub start: f64,
}

impl Default for PointCorner {
    fn default() -> Self {
        Self { reward: PointReward::Dense, sparse_radius: 0.5, max_step: 0.2, start: 0.2 }
    }
}

impl PointCorner {
    /// The environment with rewards of another kind.
    #[must_use]
    pub fn with_reward(reward: PointReward) -> Self {
        Self { reward, ..Self::default() }
    }
}

impl Env for PointCorner {
    type State<R: Real> = Position<R>;

    fn spec(&self) -> EnvSpec {
        let name = format!("point-corner{}", self.reward.suffix());
        EnvSpec::new(name, position_dims(), moves(self.max_step), 100)
            .task(goal_dims(CORNER))
            .plane(0, 1)
            .legend(&format!("{CORNERS}; grey square: where episodes begin"))
    }

    #[inline(always)]
    fn sample_task<R: Real>(&self, rng: &mut Draws<R>, task: &mut [R]) {
        task.copy_from_slice(&sample_corner(rng));
    }

    #[inline(always)]
    fn reset<R: Real>(&self, _task: &[R], rng: &mut Draws<R>) -> Position<R> {
        Position { x: rng.range(-self.start, self.start), y: rng.range(-self.start, self.start) }
    }

    #[inline(always)]
    fn step<R: Real>(&self, s: Position<R>, action: &[R], task: &[R], _rng: &mut Draws<R>) -> Step<R, Self> {
        let next = s.moved(action, self.max_step);
        let far = next.distance(task[0], task[1]);
        let reward = match self.reward {
            PointReward::Dense => -far,
            PointReward::Squared => -far.square(),
            PointReward::Sparse => {
                let (near, away) = (R::lit(-CORNER), R::lit(CORNER));
                let left = next.distance(near, near).min(next.distance(near, away));
                let right = next.distance(away, near).min(next.distance(away, away));
                let outside = (next.x.abs() + next.y.abs()).ge(R::lit(self.sparse_radius));
                let nearest = far.le(left.min(right));
                R::select(outside.and(nearest), s.distance(task[0], task[1]) - far, R::lit(0.0))
            }
        };
        Step { next, reward, terminated: R::Mask::splat(false) }
    }

    #[inline(always)]
    fn observe<R: Real>(&self, s: &Position<R>, _task: &[R], out: &mut [R]) {
        out.copy_from_slice(&[s.x, s.y]);
    }

    fn draw(&self, state: &[f32], task: &[f32]) -> Scene {
        let start = self.start as f32;
        let scene = with_corners(field(2.6).with(Shape::rect([-start, start, -start, start], Color::PALE)));
        with_point(scene, [task[0], task[1]], [state[0], state[1]])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::env::EnvDef;
    use crate::env::point::tests::{STILL, STRAIGHT, mean_return};

    fn env(reward: PointReward) -> EnvDef {
        EnvDef::new(PointCorner::with_reward(reward)).unwrap()
    }

    fn step(reward: PointReward, state: [f64; 2], action: [f64; 2], goal: [f64; 2]) -> (Vec<f64>, f64) {
        let step = env(reward).step(&state, &action, &goal, [0, 0], 0).unwrap();
        assert!(!step.terminated);
        (step.state, step.reward)
    }

    #[test]
    fn moves_are_limited_and_distances_rewarded_as_in_the_source() {
        let (state, reward) = step(PointReward::Dense, [1.5, 0.0], [0.7, -0.1], [2.0, -2.0]);
        assert_eq!(state, [1.7, -0.1]);
        assert!((reward + (0.09_f64 + 3.61).sqrt()).abs() < 1e-12);
        let (_, reward) = step(PointReward::Squared, [1.5, 0.0], [0.7, -0.1], [2.0, -2.0]);
        assert!((reward + 3.7).abs() < 1e-12);
    }

    #[test]
    fn sparse_rewards_are_progress_near_the_own_corner_only() {
        let reward = |state, action, goal| step(PointReward::Sparse, state, action, goal).1;
        // From (1, 1) to (1.2, 1.2): √2 · 0.2 nearer.
        assert!((reward([1.0, 1.0], [0.2, 0.2], [2.0, 2.0]) - 0.2 * 2.0_f64.sqrt()).abs() < 1e-12);
        // Back again costs as much.
        assert!((reward([1.2, 1.2], [-0.2, -0.2], [2.0, 2.0]) + 0.2 * 2.0_f64.sqrt()).abs() < 1e-12);
        assert_eq!(reward([1.0, 1.0], [0.2, 0.2], [-2.0, 2.0]), 0.0, "another corner's quarter");
        assert_eq!(reward([0.1, 0.1], [0.1, 0.1], [2.0, 2.0]), 0.0, "|0.2| + |0.2| is below 0.5");
        assert!(reward([0.1, 0.1], [0.2, 0.2], [2.0, 2.0]) > 0.28, "|0.3| + |0.3| is not");
    }

    #[test]
    fn standing_still_and_going_straight_earn_what_the_source_reports() {
        let (still, error) = mean_return(&env(PointReward::Dense), 1000, STILL);
        assert!((still + 283.0).abs() < 0.5 + error, "{still}");
        // A start in the middle earns −2√2 · (0.9 + 0.8 + … + 0.1) = −12.728, others a little less.
        let (straight, error) = mean_return(&env(PointReward::Dense), 4000, STRAIGHT);
        assert!((straight + 12.87).abs() < 4.0 * error, "{straight} ± {error}");
        assert_eq!(mean_return(&env(PointReward::Sparse), 100, STILL).0, 0.0);
        let (best, _) = mean_return(&env(PointReward::Sparse), 1000, STRAIGHT);
        assert!((2.3..2.83).contains(&best), "{best}");
    }

    #[test]
    fn each_corner_is_the_goal_of_a_quarter_of_all_tasks() {
        let env = env(PointReward::Dense);
        let mut counts = std::collections::BTreeMap::<[i8; 2], u32>::new();
        for element in 0..10_000 {
            let goal: Vec<f32> = env.sample_task([1, 2], element);
            *counts.entry([goal[0] as i8, goal[1] as i8]).or_default() += 1;
        }
        assert_eq!(counts.keys().copied().collect::<Vec<_>>(), [[-2, -2], [-2, 2], [2, -2], [2, 2]]);
        // Four standard errors of 10,000 draws with chance 1/4: 173.
        assert!(counts.values().all(|n| n.abs_diff(2500) < 174), "{counts:?}");
    }
}
