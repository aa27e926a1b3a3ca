//! Points that walk in the plane: the toy tasks of meta-reinforcement learning.
//!
//! Each action moves a point by a limited distance along each axis. Where the goal is differs from task to task and is
//! not observed: it must be found out from rewards.

mod arena;
mod corner;
mod goal;
mod half_circle;
mod momentum;
mod walls;

pub use arena::PointArena;
pub use corner::PointCorner;
pub use goal::PointGoal;
pub use half_circle::PointHalfCircle;
pub use momentum::PointMomentum;
pub use walls::PointWalls;

use crate::env::{ActionSpace, Color, Dim, Draws, Real, Scene, Shape};

/// How far the corners of some of the tasks are from the middle along each axis.
const CORNER: f64 = 2.0;

/// Explains the green disc in pictures.
const GOAL: &str = "green: the goal";
/// Explains the green disc where goals are corners.
const CORNERS: &str = "green: the goal, one of the four corners";

/// How the distance to the goal is rewarded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PointReward {
    /// Nothing far from the goal: what counts as near depends on the environment.
    Sparse,
    /// The negative distance.
    #[default]
    Dense,
    /// The negative square of the distance.
    Squared,
}

impl PointReward {
    /// The end of an environment's name.
    fn suffix(self) -> &'static str {
        match self {
            Self::Sparse => "-sparse",
            Self::Dense => "",
            Self::Squared => "-squared",
        }
    }
}

crate::fields! {
    /// Where a point is.
    pub struct Position {
        /// To the right.
        x,
        /// Upwards.
        y,
    }
}

impl<R: Real> Position<R> {
    /// The distance to a place.
    #[inline(always)]
    fn distance(self, x: R, y: R) -> R {
        ((self.x - x).square() + (self.y - y).square()).sqrt()
    }

    /// Moved by an action of at most `limit` along each axis.
    #[inline(always)]
    fn moved(self, action: &[R], limit: f64) -> Self {
        Self { x: self.x + action[0].clamp(-limit, limit), y: self.y + action[1].clamp(-limit, limit) }
    }
}

/// The observation of a point that nothing holds back.
fn position_dims() -> Vec<Dim> {
    vec![Dim::unbounded("x"), Dim::unbounded("y")]
}

/// Moves of at most `limit` along each axis.
fn moves(limit: f64) -> ActionSpace {
    ActionSpace::continuous(vec![Dim::new("dx", -limit, limit), Dim::new("dy", -limit, limit)])
}

/// A goal within `range` along each axis.
fn goal_dims(range: f64) -> Vec<Dim> {
    vec![Dim::new("goal_x", -range, range), Dim::new("goal_y", -range, range)]
}

/// One of the four corners with equal chances.
#[inline(always)]
fn sample_corner<R: Real>(rng: &mut Draws<R>) -> [R; 2] {
    let (left, right) = (R::lit(-CORNER), R::lit(CORNER));
    let x = R::select(rng.uniform().lt(R::lit(0.5)), left, right);
    [x, R::select(rng.uniform().lt(R::lit(0.5)), left, right)]
}

/// All corners, of which one is the goal.
fn with_corners(mut scene: Scene) -> Scene {
    let corner = CORNER as f32;
    for x in [-corner, corner] {
        for y in [-corner, corner] {
            scene = scene.with(Shape::circle([x, y], 0.12, Color::PALE));
        }
    }
    scene
}

/// A square view from `-half` to `half` with its axes.
fn field(half: f32) -> Scene {
    let width = half * 0.006;
    Scene::new([-half, half, -half, half])
        .with(Shape::line([-half, 0.0], [half, 0.0], width, Color::PALE))
        .with(Shape::line([0.0, -half], [0.0, half], width, Color::PALE))
}

/// The goal, and the point over it.
fn with_point(scene: Scene, goal: [f32; 2], point: [f32; 2]) -> Scene {
    let size = (scene.view[1] - scene.view[0]) * 0.02;
    scene.with(Shape::circle(goal, 1.5 * size, Color::GREEN)).with(Shape::circle(point, size, Color::ORANGE))
}

#[cfg(test)]
mod tests {
    use crate::env::EnvDef;

    /// The action for the first two numbers of a state and of a task.
    type Act = fn([f64; 2], [f64; 2]) -> [f64; 2];

    pub(super) const STILL: Act = |_, _| [0.0, 0.0];
    pub(super) const STRAIGHT: Act = |[x, y], [goal_x, goal_y]| [goal_x - x, goal_y - y];

    /// Mean return of one episode on each of `count` tasks, and its standard error.
    pub(super) fn mean_return(env: &EnvDef, count: u32, act: Act) -> (f64, f64) {
        let episode = |element: u32| {
            let task: Vec<f64> = env.sample_task([7, 7], element);
            let mut state: Vec<f64> = env.reset(&task, [8, 8], element).unwrap();
            let mut total = 0.0;
            for _ in 0..env.spec().horizon {
                let step = env.step(&state, &act([state[0], state[1]], [task[0], task[1]]), &task, [0, 0], 0).unwrap();
                total += step.reward;
                state = step.state;
                if step.terminated {
                    break;
                }
            }
            total
        };
        let (n, returns) = (f64::from(count), (0..count).map(episode).collect::<Vec<f64>>());
        let mean = returns.iter().sum::<f64>() / n;
        let variance = returns.iter().map(|r| (r - mean).powi(2)).sum::<f64>() / (n - 1.0);
        (mean, (variance / n).sqrt())
    }
}
