//! Find an invisible goal in a dark room and stay there.
//!
//! Source: Algorithm Distillation (arXiv:2210.14215): a room of 9 × 9 cells, episodes of 20 steps from its middle,
//! actions up, down, left, right and stay, 1 for every step that ends on the goal. The goal may be any cell. The agent
//! sees where it is, here as two numbers from −1 to 1.
//!
//! Knowing the goal earns 16.54 on average.

use crate::env::{ActionSpace, Color, Dim, Draws, Env, EnvSpec, Mask, Real, Scene, Shape, Step};

/// A dark room.
#[derive(Clone, Debug, PartialEq)]
pub struct DarkRoom {
    /// Cells along each side.
    pub size: usize,
}

impl Default for DarkRoom {
    fn default() -> Self {
        Self { size: 9 }
    }
}

crate::fields! {
    /// The agent's cell, counted from the lower left one.
    pub struct RoomCell {
        /// Column.
        x,
        /// Row.
        y,
    }
}

impl<R: Real> RoomCell<R> {
    /// One step up, down, left or right, or none, within a square room.
    #[inline(always)]
    pub(super) fn moved(self, action: R, size: usize) -> Self {
        let (zero, one) = (R::lit(0.0), R::lit(1.0));
        let from = |edge: f64, value: R, rest: R| R::select(action.gt(R::lit(edge)), value, rest);
        let up = from(0.5, from(1.5, zero, -one), one);
        let right = from(1.5, from(2.5, from(3.5, zero, one), -one), zero);
        let last = (size - 1) as f64;
        Self { x: (self.x + right).clamp(0.0, last), y: (self.y + up).clamp(0.0, last) }
    }

    /// Tells whether this is the cell (x, y).
    #[inline(always)]
    pub(super) fn is(self, x: R, y: R) -> R::Mask {
        self.x.eq(x).and(self.y.eq(y))
    }

    /// Column and row from −1 to 1.
    #[inline(always)]
    pub(super) fn seen(self, size: usize) -> [R; 2] {
        let scale = R::lit(2.0 / (size - 1) as f64);
        [self.x * scale - R::lit(1.0), self.y * scale - R::lit(1.0)]
    }
}

/// The actions of both rooms.
pub(super) fn actions() -> ActionSpace {
    ActionSpace::discrete(&["up", "down", "left", "right", "stay"])
}

/// The observation in both rooms.
pub(super) fn observation() -> Vec<Dim> {
    vec![Dim::new("x", -1.0, 1.0), Dim::new("y", -1.0, 1.0)]
}

/// Any cell, as the parameters `name_x`, `name_y`.
pub(super) fn cell_dims(name: &str, size: usize) -> [Dim; 2] {
    ["x", "y"].map(|axis| Dim::new(format!("{name}_{axis}"), 0.0, (size - 1) as f64))
}

/// The empty room and one coloured square per `(cell, colour)`: a cell's middle is at its numbers.
pub(super) fn room(size: usize, squares: &[([f32; 2], Color)]) -> Scene {
    let end = size as f32 - 0.5;
    let mut scene = Scene::new([-0.5, end, -0.5, end]);
    let floor = (0..size * size).map(|c| ([(c % size) as f32, (c / size) as f32], Color::PALE));
    for ([x, y], color) in floor.chain(squares.iter().copied()) {
        scene = scene.with(Shape::rect([x - 0.46, x + 0.46, y - 0.46, y + 0.46], color));
    }
    scene
}

impl Env for DarkRoom {
    type State<R: Real> = RoomCell<R>;

    fn spec(&self) -> EnvSpec {
        let name = super::parameters::full_name("dark-room", &[("size", self.size, Self::default().size)]);
        EnvSpec::new(name, observation(), actions(), 20)
            .dt(1.0 / 6.0)
            .task(cell_dims("goal", self.size).to_vec())
            .plane(0, 1)
            .legend("green: the goal")
    }

    #[inline(always)]
    fn sample_task<R: Real>(&self, rng: &mut Draws<R>, task: &mut [R]) {
        for number in task {
            *number = rng.index(self.size);
        }
    }

    #[inline(always)]
    fn reset<R: Real>(&self, _task: &[R], _rng: &mut Draws<R>) -> RoomCell<R> {
        let middle = R::lit((self.size / 2) as f64);
        RoomCell { x: middle, y: middle }
    }

    #[inline(always)]
    fn step<R: Real>(&self, s: RoomCell<R>, action: &[R], task: &[R], _rng: &mut Draws<R>) -> Step<R, Self> {
        let next = s.moved(action[0], self.size);
        let reward = R::from_mask(next.is(task[0], task[1]));
        Step { next, reward, terminated: R::Mask::splat(false) }
    }

    #[inline(always)]
    fn observe<R: Real>(&self, s: &RoomCell<R>, _task: &[R], out: &mut [R]) {
        out.copy_from_slice(&s.seen(self.size));
    }

    #[inline(always)]
    fn success<R: Real>(&self, _: &Self::State<R>, reward: R, _: R::Mask, _: &[R]) -> Option<R::Mask> {
        Some(reward.gt(R::lit(0.0)))
    }

    fn draw(&self, state: &[f32], task: &[f32]) -> Scene {
        room(self.size, &[([task[0], task[1]], Color::GREEN)]).with(Shape::circle(
            [state[0], state[1]],
            0.3,
            Color::ORANGE,
        ))
    }
}

/// The action of someone who knows the way: first along x, then along y, then none.
#[cfg(test)]
pub(super) fn towards(at: &[f64], goal: &[f64]) -> f64 {
    if at[0] != goal[0] {
        if at[0] > goal[0] { 2.0 } else { 3.0 }
    } else if at[1] != goal[1] {
        if at[1] > goal[1] { 1.0 } else { 0.0 }
    } else {
        4.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::env::EnvDef;

    #[test]
    fn actions_move_by_one_cell_within_the_room() {
        let env = EnvDef::new(DarkRoom::default()).unwrap();
        for (from, action, to) in [
            ([4.0, 4.0], 0.0, [4.0, 5.0]),
            ([4.0, 4.0], 1.0, [4.0, 3.0]),
            ([4.0, 4.0], 2.0, [3.0, 4.0]),
            ([4.0, 4.0], 3.0, [5.0, 4.0]),
            ([4.0, 4.0], 4.0, [4.0, 4.0]),
            ([8.0, 8.0], 0.0, [8.0, 8.0]),
            ([0.0, 0.0], 2.0, [0.0, 0.0]),
        ] {
            let step = env.step(&from, &[action], &[5.0, 4.0], [0, 0], 0).unwrap();
            assert_eq!(step.state, to);
            assert_eq!(step.reward, f64::from(u8::from(to == [5.0, 4.0])));
            assert_eq!(step.observation, [to[0] / 4.0 - 1.0, to[1] / 4.0 - 1.0]);
            assert!(!step.terminated);
        }
    }

    #[test]
    fn knowing_the_goal_earns_what_its_distance_leaves() {
        let env = EnvDef::new(DarkRoom::default()).unwrap();
        let (mut total, mut still) = (0.0, 0.0);
        for goal in (0..81).map(|c| [f64::from(c % 9), f64::from(c / 9)]) {
            let mut state: Vec<f64> = env.reset(&goal, [0, 0], 0).unwrap();
            assert_eq!(state, [4.0, 4.0]);
            for _ in 0..20 {
                still += env.step(&[4.0, 4.0], &[4.0], &goal, [0, 0], 0).unwrap().reward / 81.0;
                let step = env.step(&state, &[towards(&state, &goal)], &goal, [0, 0], 0).unwrap();
                total += step.reward / 81.0;
                state = step.state;
            }
        }
        // 21 less the mean distance 40/9, and one less where the goal is the start.
        assert!((total - (21.0 - 40.0 / 9.0 - 1.0 / 81.0)).abs() < 1e-9, "{total}");
        assert!((still - 20.0 / 81.0).abs() < 1e-9);
    }

    #[test]
    fn every_cell_may_be_the_goal() {
        let env = EnvDef::new(DarkRoom::default()).unwrap();
        let mut seen = [0_u32; 81];
        for element in 0..8100 {
            let goal: Vec<f32> = env.sample_task([5, 5], element);
            seen[goal[1] as usize * 9 + goal[0] as usize] += 1;
        }
        // Five standard errors of a mean of 100.
        assert!(seen.iter().all(|n| n.abs_diff(100) < 50), "{seen:?}");
    }
}
