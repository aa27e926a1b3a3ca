//! Go to a goal in a walled arena, seeing how far it is.
//!
//! Source: garage (commit 2d59480), `src/garage/envs/point_env.py`. The point starts in the middle of an arena
//! that reaches to ±5; an action moves by at most 0.1 along each axis; the agent sees its place and the
//! distance to the goal. Reward −‖s − goal‖, plus a bonus on success: a distance below ‖(0.1, 0.1)‖, which also
//! ends the episode. Goals U(−2, 2)²; time limit 100, where the original has none of its own. The original
//! rounds the limited action and the goal to f32.

use super::{GOAL, Position, field, goal_dims, moves, with_point};
use crate::env::{Color, Dim, Draws, Env, EnvSpec, Mask, Real, Scene, Shape, Step};

/// A point that sees how far its goal is.
#[derive(Clone, Debug, PartialEq)]
pub struct PointArena {
    /// How far the walls are from the middle.
    pub arena_size: f64,
    /// Added to the reward of a step that reaches the goal.
    pub done_bonus: f64,
    /// True if episodes go on at the goal.
    pub never_done: bool,
    /// Largest move along each axis.
    pub max_step: f64,
}

impl Default for PointArena {
    fn default() -> Self {
        Self { arena_size: 5.0, done_bonus: 0.0, never_done: false, max_step: 0.1 }
    }
}

/// Success is a distance below ‖(0.1, 0.1)‖.
const REACHED: f64 = 0.1 * std::f64::consts::SQRT_2;

impl Env for PointArena {
    type State<R: Real> = Position<R>;

    fn spec(&self) -> EnvSpec {
        let size = self.arena_size;
        let far = (size + 2.0) * std::f64::consts::SQRT_2;
        let seen = vec![Dim::new("x", -size, size), Dim::new("y", -size, size), Dim::new("distance", 0.0, far)];
        EnvSpec::new("point-arena", seen, moves(self.max_step), 100)
            .task(goal_dims(2.0))
            .plane(0, 1)
            .legend(&format!("{GOAL}; grey: the walls"))
    }

    #[inline(always)]
    fn reset<R: Real>(&self, _task: &[R], _rng: &mut Draws<R>) -> Position<R> {
        Position { x: R::lit(0.0), y: R::lit(0.0) }
    }

    #[inline(always)]
    fn step<R: Real>(&self, s: Position<R>, action: &[R], task: &[R], _rng: &mut Draws<R>) -> Step<R, Self> {
        let (moved, size) = (s.moved(action, self.max_step), self.arena_size);
        let next = Position { x: moved.x.clamp(-size, size), y: moved.y.clamp(-size, size) };
        let far = next.distance(task[0], task[1]);
        let success = far.lt(R::lit(REACHED));
        let reward = R::select(success, R::lit(self.done_bonus), R::lit(0.0)) - far;
        let terminated = if self.never_done { R::Mask::splat(false) } else { success };
        Step { next, reward, terminated }
    }

    #[inline(always)]
    fn observe<R: Real>(&self, s: &Position<R>, task: &[R], out: &mut [R]) {
        out.copy_from_slice(&[s.x, s.y, s.distance(task[0], task[1])]);
    }

    /// A step that ends within reach of the goal, which is the one that ends the episode.
    #[inline(always)]
    fn success<R: Real>(&self, _: &Self::State<R>, reward: R, terminated: R::Mask, _: &[R]) -> Option<R::Mask> {
        // Without an end, rewards above −REACHED are those within reach, with a bonus that is not below 0.
        Some(if self.never_done { reward.gt(R::lit(-REACHED)) } else { terminated })
    }

    fn draw(&self, state: &[f32], task: &[f32]) -> Scene {
        let size = self.arena_size as f32;
        let corners = vec![[-size, -size], [size, -size], [size, size], [-size, size], [-size, -size]];
        let scene = field(size * 1.05).with(Shape::polyline(corners, size * 0.02, Color::GREY));
        with_point(scene, [task[0], task[1]], [state[0], state[1]])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::env::EnvDef;
    use crate::env::point::tests::{STILL, STRAIGHT, mean_return};

    #[test]
    fn walls_hold_and_the_goal_pays_its_bonus_once() {
        let env = EnvDef::new(PointArena { done_bonus: 10.0, ..PointArena::default() }).unwrap();
        let step = env.step(&[4.95, 0.0], &[0.1, 0.05], &[1.0, 1.0], [0, 0], 0).unwrap();
        assert_eq!(step.state, [5.0, 0.05]);
        assert_eq!(step.observation[..2], [5.0, 0.05]);
        assert!((step.observation[2] - (16.0_f64 + 0.9025).sqrt()).abs() < 1e-12 && !step.terminated);
        // 0.14 is nearer than ‖(0.1, 0.1)‖ = 0.1414, 0.15 is not.
        let step = env.step(&[0.0, 0.0], &[0.06, 0.0], &[0.2, 0.0], [0, 0], 0).unwrap();
        assert!(step.terminated && (step.reward - 9.86).abs() < 1e-12);
        let step = env.step(&[0.0, 0.0], &[0.05, 0.0], &[0.2, 0.0], [0, 0], 0).unwrap();
        assert!(!step.terminated && (step.reward + 0.15).abs() < 1e-12);
        let on = EnvDef::new(PointArena { never_done: true, ..PointArena::default() }).unwrap();
        assert!(!on.step(&[0.0, 0.0], &[0.06, 0.0], &[0.2, 0.0], [0, 0], 0).unwrap().terminated);
    }

    #[test]
    fn success_is_a_distance_below_that_of_a_step_along_both_axes() {
        for done_bonus in [0.0, 10.0] {
            for never_done in [false, true] {
                let env = EnvDef::new(PointArena { done_bonus, never_done, ..PointArena::default() }).unwrap();
                let succeeds = |far: f32| {
                    let (from, task) = ([0.0_f32, 0.0], [far, 0.0]);
                    let step = env.step(&from, &[0.0, 0.0], &task, [0, 0], 0).unwrap();
                    env.success(&from, step.reward, step.terminated, &task).unwrap().unwrap()
                };
                assert_eq!([0.0, 0.14, 0.1415, 1.0].map(succeeds), [true, true, false, false]);
            }
        }
    }

    #[test]
    fn standing_still_earns_the_goals_mean_distance() {
        let env = EnvDef::new(PointArena::default()).unwrap();
        // 100 · 2 · 0.7652; one goal of 255 is within reach, where the episode is over at once.
        let (got, error) = mean_return(&env, 4000, STILL);
        assert!((got + 153.0).abs() < 4.0 * error, "{got} ± {error}");
        let (got, error) = mean_return(&env, 4000, STRAIGHT);
        assert!((got + 10.2).abs() < 4.0 * error, "{got} ± {error}");
    }
}
