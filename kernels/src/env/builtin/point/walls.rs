//! Find the gaps in two ring walls on the way to one of four corners.
//!
//! Source: ProMP (arXiv:1810.06784), `meta_policy_search/envs/point_envs/point_env_2d_walls.py`. Walls stand at radius
//! 1 and 2 around the middle. A step that would leave the inner disc is held back at its wall unless it ends within 1
//! of the first gap, one that would leave the outer disc unless it ends within 1 of the second; outside comes in
//! freely. The task is the corner and the two gaps, which are anywhere on their rings. Episodes start within ±0.2; an
//! action moves by at most 0.2 along each axis. Never ends; time limit 100.
//!
//! Rewards are those of the step as it was wanted, before a wall held it back, as in the source: dense −‖s − goal‖,
//! squared −‖s − goal‖², sparse the progress towards the goal of steps that end within 2 of it, else 0 (where the
//! source returns nothing at all and fails).

use super::{
    CORNER, CORNERS, PointReward, Position, field, goal_dims, moves, position_dims, sample_corner, with_corners,
    with_point,
};
use crate::env::{Color, Dim, Draws, Env, EnvSpec, Mask, Real, Scene, Shape, Step};

/// How near to a gap's middle a step must end to pass.
const GAP: f64 = 1.0;

/// A point behind two walls.
#[derive(Clone, Debug, PartialEq)]
pub struct PointWalls {
    /// How the goal shows.
    pub reward: PointReward,
    /// Sparse rewards are paid within this distance.
    pub sparse_radius: f64,
    /// Largest move along each axis.
    pub max_step: f64,
}

impl Default for PointWalls {
    fn default() -> Self {
        Self { reward: PointReward::Dense, sparse_radius: 2.0, max_step: 0.2 }
    }
}

impl PointWalls {
    /// The environment with rewards of another kind.
    #[must_use]
    pub fn with_reward(reward: PointReward) -> Self {
        Self { reward, ..Self::default() }
    }
}

/// Tells whether a step from radius `before` to `after` crosses the wall at `radius` outwards.
#[inline(always)]
fn leaves<R: Real>(before: R, after: R, radius: f64) -> R::Mask {
    before.lt(R::lit(radius)).and(after.gt(R::lit(radius)))
}

impl Env for PointWalls {
    type State<R: Real> = Position<R>;

    fn spec(&self) -> EnvSpec {
        let name = format!("point-walls{}", self.reward.suffix());
        let mut task = goal_dims(CORNER);
        for (ring, radius) in [(1, 1.0), (2, 2.0)] {
            task.extend(["x", "y"].map(|axis| Dim::new(format!("gap_{ring}_{axis}"), -radius, radius)));
        }
        EnvSpec::new(name, position_dims(), moves(self.max_step), 100)
            .task(task)
            .plane(0, 1)
            .legend(&format!("{CORNERS}; black: walls, each with a gap"))
    }

    #[inline(always)]
    fn sample_task<R: Real>(&self, rng: &mut Draws<R>, task: &mut [R]) {
        let goal = sample_corner(rng);
        let (sin_1, cos_1) = rng.range(0.0, std::f64::consts::TAU).sin_cos();
        let (sin_2, cos_2) = rng.range(0.0, std::f64::consts::TAU).sin_cos();
        let two = R::lit(2.0);
        task.copy_from_slice(&[goal[0], goal[1], cos_1, sin_1, two * cos_2, two * sin_2]);
    }

    #[inline(always)]
    fn reset<R: Real>(&self, _task: &[R], rng: &mut Draws<R>) -> Position<R> {
        Position { x: rng.range(-0.2, 0.2), y: rng.range(-0.2, 0.2) }
    }

    #[inline(always)]
    fn step<R: Real>(&self, s: Position<R>, action: &[R], task: &[R], _rng: &mut Draws<R>) -> Step<R, Self> {
        let wanted = s.moved(action, self.max_step);
        let far = wanted.distance(task[0], task[1]);
        let zero = R::lit(0.0);
        let reward = match self.reward {
            PointReward::Dense => -far,
            PointReward::Squared => -far.square(),
            PointReward::Sparse => {
                R::select(far.lt(R::lit(self.sparse_radius)), s.distance(task[0], task[1]) - far, zero)
            }
        };
        let (before, after) = (s.distance(zero, zero), wanted.distance(zero, zero));
        let (inner, outer) = (leaves(before, after, 1.0), leaves(before, after, 2.0));
        let gap_1 = wanted.distance(task[2], task[3]).gt(R::lit(GAP));
        let gap_2 = wanted.distance(task[4], task[5]).gt(R::lit(GAP));
        // Just inside the wall. No step is long enough to cross both.
        let scale = R::select(inner.and(gap_1), (after + R::lit(1e-6)).recip(), R::lit(1.0));
        let held = inner.not().and(outer).and(gap_2);
        let scale = R::select(held, (after * R::lit(0.5) + R::lit(1e-6)).recip(), scale);
        let next = Position { x: wanted.x * scale, y: wanted.y * scale };
        Step { next, reward, terminated: R::Mask::splat(false) }
    }

    #[inline(always)]
    fn observe<R: Real>(&self, s: &Position<R>, _task: &[R], out: &mut [R]) {
        out.copy_from_slice(&[s.x, s.y]);
    }

    fn draw(&self, state: &[f32], task: &[f32]) -> Scene {
        let mut scene = with_corners(field(2.8));
        for (radius, gap) in [(1.0_f32, [task[2], task[3]]), (2.0, [task[4], task[5]])] {
            // The wall is drawn where it holds a step back, from one side of the gap around to the other.
            let half = 2.0 * (0.5 * GAP as f32 / radius).asin();
            let middle = gap[1].atan2(gap[0]);
            let angle = |i: usize| middle + half + (std::f32::consts::TAU - 2.0 * half) * i as f32 / 80.0;
            let wall = (0..=80).map(|i| angle(i).sin_cos()).map(|(sin, cos)| [radius * cos, radius * sin]);
            scene = scene.with(Shape::polyline(wall.collect(), 0.04, Color::INK));
        }
        with_point(scene, [task[0], task[1]], [state[0], state[1]])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::env::EnvDef;
    use crate::env::point::tests::{STILL, STRAIGHT, mean_return};

    /// Goal at (2, 2), first gap to the right, second gap below.
    const TASK: [f64; 6] = [2.0, 2.0, 1.0, 0.0, 0.0, -2.0];

    fn step(reward: PointReward, state: [f64; 2], action: [f64; 2]) -> (Vec<f64>, f64) {
        let env = EnvDef::new(PointWalls::with_reward(reward)).unwrap();
        let step = env.step(&state, &action, &TASK, [0, 0], 0).unwrap();
        assert!(!step.terminated);
        (step.state, step.reward)
    }

    #[test]
    fn walls_hold_steps_back_except_at_their_gaps() {
        let near =
            |a: Vec<f64>, b: [f64; 2]| assert!(a.iter().zip(b).all(|(a, b)| (a - b).abs() < 3e-6), "{a:?} {b:?}");
        near(step(PointReward::Dense, [0.9, 0.0], [0.2, 0.0]).0, [1.1, 0.0]);
        near(step(PointReward::Dense, [-0.9, 0.0], [-0.2, 0.0]).0, [-1.0, 0.0]);
        near(step(PointReward::Dense, [0.0, 0.9], [0.0, 0.2]).0, [0.0, 1.0]);
        near(step(PointReward::Dense, [0.0, 1.9], [0.0, 0.2]).0, [0.0, 2.0]);
        near(step(PointReward::Dense, [0.0, -1.9], [0.0, -0.2]).0, [0.0, -2.1]);
        near(step(PointReward::Dense, [0.0, 1.1], [0.0, -0.2]).0, [0.0, 0.9]);
        let (state, _) = step(PointReward::Dense, [0.0, 0.95], [0.0, 0.2]);
        assert!(state[1] < 1.0, "still inside");
    }

    #[test]
    fn rewards_are_those_of_the_wanted_step() {
        // Held back at (0, 1), rewarded for (0, 1.1).
        let (_, reward) = step(PointReward::Dense, [0.0, 0.9], [0.0, 0.2]);
        assert!((reward + (4.0_f64 + 0.81).sqrt()).abs() < 1e-12);
        assert!((step(PointReward::Squared, [0.0, 0.9], [0.0, 0.2]).1 + 4.81).abs() < 1e-12);
        assert_eq!(step(PointReward::Sparse, [0.0, 0.0], [0.2, 0.2]).1, 0.0, "the source returns nothing");
        let (_, progress) = step(PointReward::Sparse, [1.0, 1.0], [0.2, 0.2]);
        assert!((progress - 0.2 * 2.0_f64.sqrt()).abs() < 1e-12);
    }

    #[test]
    fn standing_still_is_as_in_the_corner_and_walls_stop_the_straight_way() {
        let env = EnvDef::new(PointWalls::default()).unwrap();
        assert!((mean_return(&env, 1000, STILL).0 + 283.0).abs() < 0.5);
        // Without walls −12.9; most tasks end at a wall, 0.8 or 1.8 from the goal.
        let (straight, error) = mean_return(&env, 1000, STRAIGHT);
        assert!((straight + 124.5).abs() < 4.0 * error + 2.0, "{straight} ± {error}");
        for element in 0..100 {
            let task: Vec<f64> = env.sample_task([1, 1], element);
            assert!((task[2].hypot(task[3]) - 1.0).abs() < 1e-12 && (task[4].hypot(task[5]) - 2.0).abs() < 1e-12);
        }
    }
}
