//! How fast a body should run: ahead, at a velocity, or in a direction.

use crate::env::{Color, Dim, Draws, Real, Scene, Shape};

/// How fast a body should run, and so how its speed is paid.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RunningTask {
    /// Ahead, as fast as it can: the reward is its speed.
    Ahead,
    /// At the velocity that the task names, which is uniform in this range, in m/s: the reward is −|v − velocity|.
    Velocity([f64; 2]),
    /// In the direction that the task names, 1 or −1, each as often: the reward is direction · v.
    Direction,
}

impl RunningTask {
    /// The parameters of a task.
    pub(super) fn task(self) -> Vec<Dim> {
        match self {
            Self::Ahead => Vec::new(),
            Self::Velocity([low, high]) => vec![Dim::new("velocity", low, high)],
            Self::Direction => vec![Dim::new("direction", -1.0, 1.0)],
        }
    }

    /// How many parameters a task has of it; those of the body follow.
    #[inline(always)]
    pub(super) fn numbers(self) -> usize {
        usize::from(self != Self::Ahead)
    }

    /// Names the shapes of its picture.
    pub(super) const fn legend(self) -> &'static str {
        match self {
            Self::Ahead => "",
            Self::Velocity(_) => "green: the velocity that is asked for; blue: its own",
            Self::Direction => "green: the direction that is asked for; blue: its own velocity",
        }
    }

    /// Draws the parameters of a task.
    #[inline(always)]
    pub(super) fn sample<R: Real>(self, rng: &mut Draws<R>, task: &mut [R]) {
        match (self, task) {
            (Self::Velocity([low, high]), [velocity]) => *velocity = rng.range(low, high),
            (Self::Direction, [direction]) => {
                let back = rng.range(-1.0, 1.0).lt(R::lit(0.0));
                *direction = R::select(back, R::lit(-1.0), R::lit(1.0));
            }
            _ => {}
        }
    }

    /// The worth of a way that a step of so many seconds led along, in m.
    #[inline(always)]
    pub(super) fn worth<R: Real>(self, way: R, seconds: f64, task: &[R]) -> R {
        match (self, task) {
            (Self::Velocity(_), [velocity]) => -(way - *velocity * seconds).abs(),
            (Self::Direction, [direction]) => *direction * way,
            _ => way,
        }
    }

    /// A picture with two arrows above the body: what is asked for, and the speed that it has.
    pub(super) fn shown(self, scene: Scene, asked: f32, speed: f32) -> Scene {
        let fastest = match self {
            Self::Ahead => return scene,
            Self::Velocity([low, high]) => low.abs().max(high.abs()).max(1e-6) as f32,
            // A cheetah that was trained for nothing else runs at some 5 m/s.
            Self::Direction => 5.0,
        };
        let asked = if self == Self::Direction { asked * fastest } else { asked };
        let [left, right, low, high] = scene.view;
        let (half, top) = (0.5 * (right - left), high - low);
        let from = left + half;
        let arrow = |scene: Scene, speed: f32, height: f32, color: Color| {
            let length = 0.75 * half * (speed / fastest).clamp(-1.2, 1.2);
            if !length.is_finite() {
                return scene;
            }
            let (y, to) = (low + height * top, from + length);
            let tip = 0.04 * half * length.signum();
            let head = vec![[to + tip, y], [to - tip, y + tip.abs()], [to - tip, y - tip.abs()]];
            scene.with(Shape::line([from, y], [to, y], 0.02 * half, color)).with(Shape::polygon(head, color))
        };
        let scene = arrow(scene, asked, 0.86, Color::GREEN);
        let scene = arrow(scene, speed, 0.8, Color::BLUE);
        scene.with(Shape::line([from, low + 0.775 * top], [from, low + 0.885 * top], 0.012 * half, Color::GREY))
    }
}
