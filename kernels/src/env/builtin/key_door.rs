//! Find an invisible key, then an invisible door.
//!
//! Source: Algorithm Distillation (arXiv:2210.14215), Dark Key-to-Door: a dark room of 9 × 9 cells, episodes of at most
//! 50 steps, actions up, down, left, right and stay. 1 for the first step onto the key, 1 for the first onto the door
//! with the key, which ends the episode. Key and door may be any cells, the same one included; episodes start anywhere.
//! The agent sees where it is, here as two numbers from −1 to 1, and must remember whether it has the key.
//!
//! Knowing both cells earns 2.

use super::dark_room::{RoomCell, actions, cell_dims, observation, room};
use crate::env::{Color, Draws, Env, EnvSpec, Mask, Real, Scene, Shape, Step};

/// A dark room with a key and a door.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyDoor {
    /// Cells along each side.
    pub size: usize,
}

impl Default for KeyDoor {
    fn default() -> Self {
        Self { size: 9 }
    }
}

crate::fields! {
    /// The place of the agent, and whether it holds the key.
    pub struct Seeker {
        /// Column.
        x,
        /// Row.
        y,
        /// 1 with the key, else 0.
        key,
    }
}

impl Env for KeyDoor {
    type State<R: Real> = Seeker<R>;

    fn spec(&self) -> EnvSpec {
        let name = super::parameters::full_name("key-door", &[("size", self.size, Self::default().size)]);
        let task = [cell_dims("key", self.size), cell_dims("door", self.size)].concat();
        EnvSpec::new(name, observation(), actions(), 50)
            .task(task)
            .plane(0, 1)
            .legend("blue: the key, grey once it is taken; green: the door")
    }

    #[inline(always)]
    fn sample_task<R: Real>(&self, rng: &mut Draws<R>, task: &mut [R]) {
        for number in task {
            *number = rng.index(self.size);
        }
    }

    #[inline(always)]
    fn reset<R: Real>(&self, _task: &[R], rng: &mut Draws<R>) -> Seeker<R> {
        Seeker { x: rng.index(self.size), y: rng.index(self.size), key: R::lit(0.0) }
    }

    #[inline(always)]
    fn step<R: Real>(&self, s: Seeker<R>, action: &[R], task: &[R], _rng: &mut Draws<R>) -> Step<R, Self> {
        let at = RoomCell { x: s.x, y: s.y }.moved(action[0], self.size);
        let had = s.key.truth();
        let found = at.is(task[0], task[1]).and(had.not());
        let opened = at.is(task[2], task[3]).and(had.or(found));
        let next = Seeker { x: at.x, y: at.y, key: R::from_mask(had.or(found)) };
        Step { next, reward: R::from_mask(found) + R::from_mask(opened), terminated: opened }
    }

    #[inline(always)]
    fn observe<R: Real>(&self, s: &Seeker<R>, _task: &[R], out: &mut [R]) {
        out.copy_from_slice(&RoomCell { x: s.x, y: s.y }.seen(self.size));
    }

    #[inline(always)]
    fn success<R: Real>(&self, _: &Self::State<R>, _: R, terminated: R::Mask, _: &[R]) -> Option<R::Mask> {
        Some(terminated)
    }

    fn draw(&self, state: &[f32], task: &[f32]) -> Scene {
        let key = if state[2] > 0.5 { Color::GREY } else { Color::BLUE };
        let scene = room(self.size, &[([task[0], task[1]], key), ([task[2], task[3]], Color::GREEN)]);
        scene.with(Shape::circle([state[0], state[1]], 0.3, Color::ORANGE))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::env::EnvDef;
    use crate::env::dark_room::towards;

    #[test]
    fn the_door_opens_with_the_key_only() {
        let env = EnvDef::new(KeyDoor::default()).unwrap();
        let step = |state: [f64; 3], action: f64, task: [f64; 4]| {
            let step = env.step(&state, &[action], &task, [0, 0], 0).unwrap();
            assert_eq!(step.observation.len(), 2);
            (step.state, step.reward, step.terminated)
        };
        let task = [3.0, 4.0, 5.0, 4.0];
        assert_eq!(step([4.0, 4.0, 0.0], 3.0, task), (vec![5.0, 4.0, 0.0], 0.0, false));
        assert_eq!(step([4.0, 4.0, 0.0], 2.0, task), (vec![3.0, 4.0, 1.0], 1.0, false));
        assert_eq!(step([3.0, 4.0, 1.0], 4.0, task), (vec![3.0, 4.0, 1.0], 0.0, false), "once");
        assert_eq!(step([4.0, 4.0, 1.0], 3.0, task), (vec![5.0, 4.0, 1.0], 1.0, true));
        assert_eq!(step([4.0, 4.0, 0.0], 3.0, [5.0, 4.0, 5.0, 4.0]), (vec![5.0, 4.0, 1.0], 2.0, true), "one cell");
    }

    #[test]
    fn knowing_both_cells_earns_two_and_standing_still_next_to_nothing() {
        let env = EnvDef::new(KeyDoor::default()).unwrap();
        let (mut still, mut longest) = (0.0, 0);
        for element in 0..1000 {
            let task: Vec<f64> = env.sample_task([1, 2], element);
            let mut state: Vec<f64> = env.reset(&task, [3, 4], element).unwrap();
            still += env.step(&state, &[4.0], &task, [0, 0], 0).unwrap().reward / 1000.0;
            let (mut total, mut t) = (0.0, 0);
            for _ in 0..50 {
                let goal = if state[2] > 0.5 { &task[2..] } else { &task[..2] };
                let step = env.step(&state, &[towards(&state, goal)], &task, [0, 0], 0).unwrap();
                (total, t, state) = (total + step.reward, t + 1, step.state);
                if step.terminated {
                    break;
                }
            }
            assert_eq!(total, 2.0);
            longest = longest.max(t);
        }
        assert!(still < 0.03 && longest <= 32, "{still} {longest}");
    }
}
