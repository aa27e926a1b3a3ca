//! Go to a goal somewhere in a square: ProMP's point, MAML's 2-D navigation, PEARL's point robot.
//!
//! An action moves by at most 0.1 along each axis; the reward of a step that ends in s is −‖s − goal‖, or its negative
//! square. The four differ in where goals and first states are, and when an episode is over:
//!
//! | name | goal | start | ends within | limit | source |
//! |---|---|---|---|---|---|
//! | `point` | U(−2, 2)² | 0 | 0.01 | 100 | ProMP, `point_envs/point_env_2d_v2.py` |
//! | `point-origin` | 0 | U(−2, 2)² | 0.01 | 100 | ProMP, `point_envs/point_env_2d.py` |
//! | `navigation`, `navigation-squared` | U(−0.5, 0.5)² | 0 | 0.01 | 100 | MAML (arXiv:1703.03400), `navigation.py` |
//! | `point-robot` | U(−1, 1)² | U(−1, 1)² | never | 20 | PEARL (arXiv:1903.08254), `rlkit/envs/point_robot.py` |
//!
//! "Within" is along each axis. Where the original of `point` ends an episode near the origin
//! wherever the goal is, this one ends it at the goal. The original point robot leaves limiting
//! actions to a wrapper that scales −1..1 to ±0.1.
//!
//! Returns of `navigation`: standing still −38.2, straight to the goal −0.51; with squares −16.7 and −0.13.

use super::{GOAL, PointReward, Position, field, goal_dims, moves, position_dims, with_point};
use crate::env::{Draws, Env, EnvSpec, Mask, Real, Scene, Step};

/// A point and a goal.
#[derive(Clone, Debug, PartialEq)]
pub struct PointGoal {
    /// Name of the environment.
    pub name: &'static str,
    /// [`PointReward::Dense`] or [`PointReward::Squared`]; sparse rewards are 0 everywhere here.
    pub reward: PointReward,
    /// Goals are within this of the origin along each axis; 0 is one task, the origin.
    pub goal: f64,
    /// Episodes start within this of the origin along each axis.
    pub start: f64,
    /// Largest move along each axis.
    pub max_step: f64,
    /// Episodes end within this of the goal along each axis; 0 is never.
    pub reached: f64,
    /// Time limit.
    pub horizon: usize,
}

impl PointGoal {
    /// ProMP's point with a goal anywhere.
    #[must_use]
    pub fn anywhere() -> Self {
        Self {
            name: "point",
            reward: PointReward::Dense,
            goal: 2.0,
            start: 0.0,
            max_step: 0.1,
            reached: 0.01,
            horizon: 100,
        }
    }

    /// ProMP's point that walks to the origin from anywhere: one task.
    #[must_use]
    pub fn origin() -> Self {
        Self { name: "point-origin", goal: 0.0, start: 2.0, ..Self::anywhere() }
    }

    /// MAML's 2-D navigation.
    #[must_use]
    pub fn navigation() -> Self {
        Self { name: "navigation", goal: 0.5, ..Self::anywhere() }
    }

    /// MAML's 2-D navigation with squared distances.
    #[must_use]
    pub fn navigation_squared() -> Self {
        Self { name: "navigation-squared", reward: PointReward::Squared, ..Self::navigation() }
    }

    /// PEARL's point robot.
    #[must_use]
    pub fn robot() -> Self {
        Self { name: "point-robot", goal: 1.0, start: 1.0, reached: 0.0, horizon: 20, ..Self::anywhere() }
    }

    #[inline(always)]
    fn place<R: Real>(task: &[R]) -> [R; 2] {
        match task {
            [x, y] => [*x, *y],
            _ => [R::lit(0.0); 2],
        }
    }
}

impl Env for PointGoal {
    type State<R: Real> = Position<R>;

    fn spec(&self) -> EnvSpec {
        let task = if self.goal > 0.0 { goal_dims(self.goal) } else { Vec::new() };
        EnvSpec::new(self.name, position_dims(), moves(self.max_step), self.horizon).task(task).plane(0, 1).legend(GOAL)
    }

    #[inline(always)]
    fn reset<R: Real>(&self, _task: &[R], rng: &mut Draws<R>) -> Position<R> {
        if self.start > 0.0 {
            Position { x: rng.range(-self.start, self.start), y: rng.range(-self.start, self.start) }
        } else {
            Position { x: R::lit(0.0), y: R::lit(0.0) }
        }
    }

    #[inline(always)]
    fn step<R: Real>(&self, s: Position<R>, action: &[R], task: &[R], _rng: &mut Draws<R>) -> Step<R, Self> {
        let [x, y] = Self::place(task);
        let next = s.moved(action, self.max_step);
        let far = next.distance(x, y);
        let reward = match self.reward {
            PointReward::Dense => -far,
            PointReward::Squared => -far.square(),
            PointReward::Sparse => R::lit(0.0),
        };
        let terminated = if self.reached > 0.0 {
            let near = R::lit(self.reached);
            (next.x - x).abs().lt(near).and((next.y - y).abs().lt(near))
        } else {
            R::Mask::splat(false)
        };
        Step { next, reward, terminated }
    }

    #[inline(always)]
    fn observe<R: Real>(&self, s: &Position<R>, _task: &[R], out: &mut [R]) {
        out.copy_from_slice(&[s.x, s.y]);
    }

    fn draw(&self, state: &[f32], task: &[f32]) -> Scene {
        let half = 1.25 * self.goal.max(self.start) as f32;
        let goal = if let [x, y] = task { [*x, *y] } else { [0.0; 2] };
        with_point(field(half), goal, [state[0], state[1]])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::env::EnvDef;
    use crate::env::point::tests::{STILL, STRAIGHT, mean_return};

    #[test]
    fn rewards_and_ends_are_those_of_the_sources() {
        let env = EnvDef::new(PointGoal::navigation()).unwrap();
        let step = env.step(&[0.25, 0.0], &[0.3, -0.05], &[0.35, 0.0], [0, 0], 0).unwrap();
        assert_eq!((step.state, step.reward, step.terminated), (vec![0.35, -0.05], -0.05, false));
        let step = env.step(&[0.3, 0.0], &[0.045, 0.0], &[0.35, 0.0], [0, 0], 0).unwrap();
        assert!(step.terminated && (step.reward + 0.005).abs() < 1e-12);
        let squared = EnvDef::new(PointGoal::navigation_squared()).unwrap();
        let step = squared.step(&[0.0, 0.0], &[0.1, 0.1], &[0.4, -0.3], [0, 0], 0).unwrap();
        assert!((step.reward + 0.25).abs() < 1e-12);
        let robot = EnvDef::new(PointGoal::robot()).unwrap();
        assert!(!robot.step(&[0.5, 0.5], &[0.0, 0.0], &[0.5, 0.5], [0, 0], 0).unwrap().terminated);
        let origin = EnvDef::new(PointGoal::origin()).unwrap();
        let step = origin.step(&[0.04, -0.105], &[-0.045, 0.2], &[], [0, 0], 0).unwrap();
        assert!(step.terminated && (step.reward + 0.005 * 2.0_f64.sqrt()).abs() < 1e-12);
        assert!(!origin.step(&[0.04, -0.05], &[-0.045, 0.0], &[], [0, 0], 0).unwrap().terminated);
    }

    #[test]
    fn standing_still_and_going_straight_earn_what_was_measured() {
        for (point, still, straight) in
            [(PointGoal::navigation(), -38.2, -0.508), (PointGoal::navigation_squared(), -16.7, -0.1333)]
        {
            let env = EnvDef::new(point).unwrap();
            let (got, error) = mean_return(&env, 4000, STILL);
            assert!((got - still).abs() < 4.0 * error, "{got} ± {error} instead of {still}");
            let (got, error) = mean_return(&env, 4000, STRAIGHT);
            assert!((got - straight).abs() < 4.0 * error, "{got} ± {error} instead of {straight}");
        }
        // E‖g‖ of a square of ±1 is 0.7652: 100 steps of twice that.
        let (got, error) = mean_return(&EnvDef::new(PointGoal::anywhere()).unwrap(), 4000, STILL);
        assert!((got + 153.04).abs() < 4.0 * error, "{got} ± {error}");
        // The mean distance of two points in a square of side 2 is 1.0428.
        let (got, error) = mean_return(&EnvDef::new(PointGoal::robot()).unwrap(), 4000, STILL);
        assert!((got + 20.856).abs() < 4.0 * error, "{got} ± {error}");
    }
}
