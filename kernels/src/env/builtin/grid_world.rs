//! Walk a grid to its goal, around holes and walls.
//!
//! Source: garage (commit 2d59480), `src/garage/envs/grid_world_env.py`, with its four maps. Actions left, down, right
//! and up; the border and walls (W) stop. Entering a goal (G) earns 1 and ends the episode, entering a hole (H) ends it
//! too; all other steps earn 0. The agent sees which cell it is on, one number per cell, where the original gives the
//! cell's index. Time limit 100, where the original has none of its own.

use crate::env::{ActionSpace, Color, Dim, Draws, Env, EnvSpec, Mask, Real, Scene, Shape, Step};
use crate::{Error, Result};

/// Maps by name; S is where episodes start, F is free.
pub const MAPS: [(&str, &[&str]); 4] = [
    ("4x4", &["SFFF", "FHFH", "FFFH", "HFFG"]),
    ("4x4-safe", &["SFFF", "FWFW", "FFFW", "WFFG"]),
    ("8x8", &["SFFFFFFF", "FFFFFFFF", "FFFHFFFF", "FFFFFHFF", "FFFHFFFF", "FHHFFFHF", "FHFFHFHF", "FFFHFFFG"]),
    ("chain", &["GFFFFFFFFFFFFFSFFFFFFFFFFFFFG"]),
];

/// A grid with a start, goals, holes and walls.
#[derive(Clone, Debug, PartialEq)]
pub struct GridWorld {
    name: String,
    cells: Vec<u8>,
    columns: usize,
    start: usize,
}

crate::fields! {
    /// The agent's cell, counted from the upper left one.
    pub struct GridCell {
        /// Row.
        row,
        /// Column.
        column,
    }
}

impl GridWorld {
    /// One of [`MAPS`].
    ///
    /// # Errors
    /// [`Error::Unknown`] with the closest name.
    pub fn map(name: &str) -> Result<Self> {
        let Some((known, rows)) = MAPS.iter().find(|(known, _)| *known == name) else {
            return Err(Error::unknown("map", name, MAPS.map(|(known, _)| known)));
        };
        let full = if *known == MAPS[0].0 { "grid-world".to_owned() } else { format!("grid-world:map={known}") };
        Self::new(full, rows)
    }

    /// A map of one's own: rows of S, F, H, W and G.
    ///
    /// # Errors
    /// [`Error::Environment`] if rows differ in length, a letter is another one, or there is not exactly one start.
    pub fn new(name: impl Into<String>, rows: &[&str]) -> Result<Self> {
        let name = name.into();
        let problem = |problem: String| Error::Environment { name: name.clone(), problem };
        let columns = rows.first().map_or(0, |row| row.len());
        if let Some(row) = rows.iter().find(|row| row.len() != columns) {
            return Err(problem(format!("row `{row}` has another length than the first, {columns}")));
        }
        let cells: Vec<u8> = rows.iter().flat_map(|row| row.bytes()).collect();
        if let Some(cell) = cells.iter().find(|cell| !b"SFHWG".contains(cell)) {
            let cell = char::from(*cell);
            return Err(problem(format!("`{cell}` is no cell; use S, F, H (hole), W (wall) and G (goal)")));
        }
        let starts: Vec<usize> = (0..cells.len()).filter(|c| cells[*c] == b'S').collect();
        let [start] = starts[..] else {
            return Err(problem(format!("a map has one start S, this has {}", starts.len())));
        };
        Ok(Self { name, columns, start, cells })
    }

    /// Tells whether a cell is of this kind. Few cells are special, so comparing with each of them is cheaper than a
    /// table.
    #[inline(always)]
    fn is<R: Real>(&self, kind: u8, at: GridCell<R>) -> R::Mask {
        let mut any = R::Mask::splat(false);
        for (cell, other) in self.cells.iter().enumerate() {
            if *other == kind {
                let (row, column) = (R::lit((cell / self.columns) as f64), R::lit((cell % self.columns) as f64));
                any = any.or(at.row.eq(row).and(at.column.eq(column)));
            }
        }
        any
    }

    /// The middle of a cell, in cells, upwards.
    fn middle(&self, cell: usize) -> [f32; 2] {
        let rows = self.cells.len() / self.columns;
        [(cell % self.columns) as f32 + 0.5, (rows - cell / self.columns) as f32 - 0.5]
    }
}

impl Env for GridWorld {
    type State<R: Real> = GridCell<R>;

    fn spec(&self) -> EnvSpec {
        let observation = (0..self.cells.len()).map(|c| Dim::new(format!("on_cell_{c}"), 0.0, 1.0)).collect();
        EnvSpec::new(&*self.name, observation, ActionSpace::discrete(&["left", "down", "right", "up"]), 100)
            .dt(1.0 / 6.0)
    }

    #[inline(always)]
    fn reset<R: Real>(&self, _task: &[R], _rng: &mut Draws<R>) -> GridCell<R> {
        let (row, column) = (self.start / self.columns, self.start % self.columns);
        GridCell { row: R::lit(row as f64), column: R::lit(column as f64) }
    }

    #[inline(always)]
    fn step<R: Real>(&self, s: GridCell<R>, action: &[R], _task: &[R], _rng: &mut Draws<R>) -> Step<R, Self> {
        let (zero, one) = (R::lit(0.0), R::lit(1.0));
        let (past_left, past_down) = (action[0].gt(R::lit(0.5)), action[0].gt(R::lit(1.5)));
        let past_right = action[0].gt(R::lit(2.5));
        let down = R::select(past_left, R::select(past_down, R::select(past_right, -one, zero), one), zero);
        let right = R::select(past_left, R::select(past_down, R::select(past_right, zero, one), zero), -one);
        let (rows, columns) = (self.cells.len() / self.columns, self.columns);
        let to = GridCell {
            row: (s.row + down).clamp(0.0, (rows - 1) as f64),
            column: (s.column + right).clamp(0.0, (columns - 1) as f64),
        };
        let stays = self.is(b'W', to).or(self.is(b'H', s)).or(self.is(b'G', s));
        let next = GridCell { row: R::select(stays, s.row, to.row), column: R::select(stays, s.column, to.column) };
        let goal = self.is(b'G', next);
        Step { next, reward: R::from_mask(goal), terminated: goal.or(self.is(b'H', next)) }
    }

    #[inline(always)]
    fn observe<R: Real>(&self, s: &GridCell<R>, _task: &[R], out: &mut [R]) {
        let cell = s.row * R::lit(self.columns as f64) + s.column;
        for (c, seen) in out.iter_mut().enumerate() {
            *seen = R::from_mask(cell.eq(R::lit(c as f64)));
        }
    }

    #[inline(always)]
    fn success<R: Real>(&self, _: &Self::State<R>, reward: R, _: R::Mask, _: &[R]) -> Option<R::Mask> {
        Some(reward.gt(R::lit(0.0)))
    }

    fn draw(&self, state: &[f32], _task: &[f32]) -> Scene {
        let (columns, rows) = (self.columns as f32, (self.cells.len() / self.columns) as f32);
        let mut scene = Scene::new([0.0, columns, 0.0, rows]);
        for (cell, kind) in self.cells.iter().enumerate() {
            let [x, y] = self.middle(cell);
            let color = match kind {
                b'H' => Color::INK,
                b'W' => Color::GREY,
                b'G' => Color::GREEN,
                _ => Color::PALE,
            };
            scene = scene.with(Shape::rect([x - 0.47, x + 0.47, y - 0.47, y + 0.47], color));
        }
        scene.with(Shape::circle(self.middle(state[0] as usize * self.columns + state[1] as usize), 0.3, Color::ORANGE))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::env::EnvDef;

    /// Cells, rewards and ends of a walk from the start.
    fn walk(map: &str, actions: &[u8]) -> Vec<(usize, f64, bool)> {
        let grid = GridWorld::map(map).unwrap();
        let (columns, env) = (grid.columns, EnvDef::new(grid).unwrap());
        let mut state: Vec<f64> = env.reset(&[], [0, 0], 0).unwrap();
        let mut seen = Vec::new();
        for action in actions {
            let step = env.step(&state, &[f64::from(*action)], &[], [0, 0], 0).unwrap();
            let cell = step.state[0] as usize * columns + step.state[1] as usize;
            assert_eq!(step.observation[cell], 1.0);
            assert_eq!(step.observation.iter().sum::<f64>(), 1.0);
            seen.push((cell, step.reward, step.terminated));
            state = step.state;
        }
        seen
    }

    #[test]
    fn holes_end_walls_stop_and_goals_pay() {
        let [left, down, right, up] = [0, 1, 2, 3];
        let hole = walk("4x4", &[left, up, down, right]);
        assert_eq!(hole, [(0, 0.0, false), (0, 0.0, false), (4, 0.0, false), (5, 0.0, true)]);
        assert_eq!(walk("4x4-safe", &[down, right])[1], (4, 0.0, false), "a wall instead of the hole");
        let best = walk("4x4", &[down, down, right, right, down, right]);
        assert_eq!(best.iter().map(|s| s.0).collect::<Vec<_>>(), [4, 8, 9, 10, 14, 15]);
        assert_eq!(best.iter().map(|s| s.1).sum::<f64>(), 1.0);
        assert!(best[5].2 && !best[4].2);
        assert_eq!(walk("chain", &[right; 14])[13], (28, 1.0, true));
        assert_eq!(walk("chain", &[left; 14])[13], (0, 1.0, true));
        let far =
            walk("8x8", &[right, right, right, right, right, right, right, down, down, down, down, down, down, down]);
        assert_eq!(far[13], (63, 1.0, true));
    }

    #[test]
    fn maps_that_cannot_work_are_refused() {
        let problem = |rows: &[&str]| GridWorld::new("mine", rows).unwrap_err().to_string();
        assert!(problem(&["SF", "G"]).contains("row `G` has another length than the first, 2"));
        assert!(problem(&["SX"]).contains("`X` is no cell"));
        assert!(problem(&["FG"]).contains("this has 0"));
        assert!(problem(&["SS"]).contains("this has 2") && problem(&[]).contains("this has 0"));
        assert_eq!(
            GridWorld::map("4x4safe").unwrap_err().to_string(),
            "unknown map `4x4safe`, did you mean `4x4-safe`?"
        );
    }
}
