//! A memory of the latest transitions, from which batches are drawn.

use super::{Hindsight, Priorities, SumTree, Transitions};
use crate::Tensor;
use crate::learn::running_sum;
use crate::tensor::tree;

/// A memory of at most so many transitions; a new one takes the place of the oldest.
#[derive(Clone, Debug, PartialEq)]
pub struct ReplayMemory {
    /// Most transitions, R.
    pub rows: usize,
    /// O, numbers of an observation.
    pub observations: usize,
    /// A, numbers of an action.
    pub actions: usize,
    /// N, environments whose steps lie side by side: each one's next step is N rows on. It is 1 where whole episodes lie
    /// one behind the other.
    pub envs: usize,
    /// Discount of later rewards.
    pub gamma: f64,
    /// Steps whose rewards are learned from at once.
    pub n_step: usize,
    /// α, by which errors become priorities; none: all are drawn alike.
    pub prioritised: Option<f64>,
    /// Goals that were reached later take the place of those that were sought.
    pub hindsight: Option<Hindsight>,
}

/// The content of a memory, in a trace.
#[derive(Clone, Debug)]
pub struct Stored {
    /// Transitions, `[S, R, W]`; a bulk entry of the state.
    pub rows: Tensor,
    /// The row that is written next, 0 to R, where R stands for the first one; u32 `[S, 1]`.
    pub next: Tensor,
    /// Rows that hold transitions, the first ones, u32 `[S, 1]`.
    pub filled: Tensor,
    /// Of memories that are prioritised.
    pub priorities: Option<Priorities>,
}

tree!(Stored: rows, next, filled, priorities);

impl ReplayMemory {
    /// Most transitions that a memory can hold: their numbers are exact in f32.
    pub const MOST: usize = 1 << 24;

    /// A memory whose transitions are of one step each and drawn evenly.
    #[must_use]
    pub fn uniform(rows: usize, observations: usize, actions: usize, gamma: f64) -> ReplayMemory {
        ReplayMemory { rows, observations, actions, envs: 1, gamma, n_step: 1, prioritised: None, hindsight: None }
    }

    /// Tells whether transitions are followed to later ones of their episodes: then each is stored with its number in its episode.
    fn follows(&self) -> bool {
        self.n_step > 1 || self.hindsight.is_some()
    }

    /// Shape of one seed's rows.
    #[must_use]
    pub fn shape(&self) -> [usize; 2] {
        [self.rows, Transitions::width(self.observations, self.actions) + usize::from(self.follows())]
    }

    /// The sums of priorities, if batches are drawn by these.
    #[must_use]
    pub fn tree(&self) -> Option<SumTree> {
        self.prioritised.map(|_| SumTree { leaves: self.rows })
    }

    /// Adds transitions, at most as many as there are rows. `step`: their numbers in their episodes, from 0, u32 `[S, B, 1]`.
    #[track_caller]
    #[must_use]
    pub fn push(&self, stored: Stored, new: &Transitions, step: Tensor) -> Stored {
        let b = new.reward.size(1);
        let index = self.below(stored.next + Tensor::iota(&[1, b], 1), self.rows);
        self.pushed(stored, (new, step), index, Tensor::constant_u32(b as u32))
    }

    /// Adds those transitions alone that are valid, in their order: 1 there and 0 elsewhere, u32 `[S, B, 1]`. There are at
    /// most as many as the memory has rows.
    #[track_caller]
    #[must_use]
    pub fn push_valid(&self, stored: Stored, new: &Transitions, step: Tensor, valid: Tensor) -> Stored {
        let (seeds, b) = (valid.size(0), valid.size(1));
        let valid = valid.reshape(&[seeds, b]);
        // Whole numbers up to `MOST`.
        let count = running_sum(valid.to_f32());
        let place = (count - 1.0).max(Tensor::constant_f32(0.0)).to_u32();
        // Rows beyond the end are dropped, and their priorities.
        let index = valid.select(self.below(stored.next + place, self.rows), Tensor::constant_u32(u32::MAX));
        self.pushed(stored, (new, step), index, count.slice(1, b - 1, b).to_u32())
    }

    /// Leads a number of less than two rounds back by one, if it is not below `limit`.
    fn below(&self, at: Tensor, limit: usize) -> Tensor {
        // Whole numbers have no differences, but they wrap around.
        let minus = Tensor::constant_u32(0u32.wrapping_sub(self.rows as u32));
        at.lt(Tensor::constant_u32(limit as u32)).select(at, at + minus)
    }

    /// Puts transitions into the rows `index`, u32 `[S, B]`, and counts `count` of them, u32 `[]` or `[S, 1]`.
    #[track_caller]
    fn pushed(&self, stored: Stored, (new, step): (&Transitions, Tensor), index: Tensor, count: Tensor) -> Stored {
        let rows = match self.follows() {
            false => new.rows(),
            true => Tensor::concat(&[new.rows(), step.to_f32()], 2),
        };
        let all = Tensor::constant_u32(self.rows as u32);
        let filled = stored.filled + count;
        let priorities = stored.priorities.zip(self.tree()).map(|(priorities, tree)| priorities.added(tree, index));
        Stored {
            rows: stored.rows.store(index, rows),
            // R after the last row: what is added to a memory that has grown goes behind it.
            next: self.below(stored.next + count, self.rows + 1),
            filled: filled.lt(all).select(filled, all),
            priorities,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::State;
    use crate::{Array, DType, Device, Program};

    fn memory() -> ReplayMemory {
        ReplayMemory::uniform(5, 1, 1, 0.9)
    }

    fn transitions(number: Tensor) -> Transitions {
        let obs = number;
        Transitions { obs, action: obs * 10.0, next_obs: obs + 1.0, reward: -obs, terminated: obs * 0.0 }
    }

    /// Pushes transitions 0 to 2, then 3 to 5, and so on; draws batches after the last push.
    fn play(pushes: usize, batch: usize) -> [Vec<f64>; 4] {
        let device = Device::cpu(1);
        let mut program = Program::new(&device, |cx| {
            let stored = Stored {
                rows: cx.bulk("rows", &[1, 5, 5], DType::F32),
                next: cx.state("next", &[1, 1], DType::U32),
                filled: cx.state("filled", &[1, 1], DType::U32),
                priorities: None,
            };
            let first = cx.input("first", &[1], DType::F32);
            let number = Tensor::iota(&[1, 3, 1], 1).to_f32() + first;
            let stored = memory().push(stored, &transitions(number), Tensor::zeros(&[1, 3, 1]).to_u32());
            let key = [0, 1].map(|word| Tensor::constant_u32(word).broadcast_to(&[1, 1]));
            let drawn = memory().sample(&stored, key, batch, None);
            for (name, value) in [("rows", stored.rows), ("next", stored.next), ("filled", stored.filled)] {
                cx.update(name, value);
            }
            cx.output("drawn", drawn.batch.transitions.rows());
        })
        .unwrap();
        let mut state = State::new();
        state.insert("rows", device.zeros(&[1, 5, 5], DType::F32).unwrap());
        state.insert("next", device.zeros(&[1, 1], DType::U32).unwrap());
        state.insert("filled", device.zeros(&[1, 1], DType::U32).unwrap());
        let read = |array: &Array| -> Vec<f64> {
            match array.dtype() {
                DType::F32 => pollster::block_on(device.read(array)).unwrap(),
                DType::U32 => pollster::block_on(device.read_u32(array)).unwrap().into_iter().map(f64::from).collect(),
            }
        };
        let mut drawn = Vec::new();
        for push in 0..pushes {
            let first = device.array(&[1], &[3.0 * push as f64]).unwrap();
            drawn = read(program.run(&state, &[("first", &first)], &[]).unwrap().get("drawn").unwrap());
        }
        let of = |name: &str| read(state.get(name).unwrap());
        [of("rows"), of("next"), of("filled"), drawn]
    }

    #[test]
    fn the_latest_transitions_are_held() {
        let firsts = |rows: &[f64]| rows.chunks(5).map(|row| row[0]).collect::<Vec<f64>>();
        let [rows, next, filled, _] = play(1, 1);
        assert_eq!((firsts(&rows), next[0], filled[0]), (vec![0.0, 1.0, 2.0, 0.0, 0.0], 3.0, 3.0));
        assert_eq!(rows[5..10], [1.0, 10.0, 2.0, -1.0, 0.0]);
        let [rows, next, filled, _] = play(2, 1);
        assert_eq!((firsts(&rows), next[0], filled[0]), (vec![5.0, 1.0, 2.0, 3.0, 4.0], 1.0, 5.0));
        let [rows, next, filled, _] = play(4, 1);
        assert_eq!((firsts(&rows), next[0], filled[0]), (vec![10.0, 11.0, 7.0, 8.0, 9.0], 2.0, 5.0));
    }

    #[test]
    fn batches_are_drawn_evenly_among_what_is_held() {
        for (pushes, held) in [(1, vec![0.0, 1.0, 2.0]), (3, vec![4.0, 5.0, 6.0, 7.0, 8.0])] {
            let [.., drawn] = play(pushes, 4000);
            for number in &held {
                let times = drawn.chunks(5).filter(|row| row[0] == *number).count() as f64;
                let expected = 4000.0 / held.len() as f64;
                assert!((times - expected).abs() < 5.0 * expected.sqrt(), "{number}: {times} of 4000");
            }
            assert!(drawn.chunks(5).all(|row| held.contains(&row[0]) && row[1] == 10.0 * row[0]));
        }
    }
}
