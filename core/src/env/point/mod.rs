//! Points that walk in the plane: the toy tasks of meta-reinforcement learning.
//!
//! Each action moves a point by a limited distance along each axis. Where the goal is differs from task to task and is
//! not observed: it must be found out from rewards.

mod corner;

pub use corner::PointCorner;

use super::{ActionSpace, Color, Dim, Real, Scene, Shape};

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
    /// What the name of an environment ends with.
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
