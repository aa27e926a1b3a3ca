//! A memory of the latest transitions, from which batches are drawn.

use super::{Hindsight, Priorities, SumTree, Transitions};
use crate::Tensor;
use crate::learn::running_sum;

/// A memory of the latest transitions, at most [`rows`](ReplayMemory::rows); a new one replaces the oldest.
#[derive(Clone, Debug, PartialEq)]
pub struct ReplayMemory {
    /// R, the most transitions.
    pub rows: usize,
    /// O, numbers of an observation.
    pub observations: usize,
    /// A, numbers of an action.
    pub actions: usize,
    /// N, environments whose steps lie side by side: an environment's next step is N rows on. It is 1 if
    /// whole episodes lie one behind the other.
    pub envs: usize,
    /// The discount γ of later rewards.
    pub gamma: f64,
    /// The number of steps that a transition of a batch covers.
    pub n_step: usize,
    /// The exponent α that turns errors into priorities; none: all transitions are drawn evenly.
    pub prioritised: Option<f64>,
    /// The relabelling of goals, if there is one.
    pub hindsight: Option<Hindsight>,
}

/// The content of a memory, in a trace.
#[derive(Clone, Debug)]
pub struct Stored {
    /// Transitions, `[S, R, W]`; a bulk entry of the state.
    pub rows: Tensor,
    /// The row that is written next, u32 `[S, 1]`: 0 to R, where R means row 0.
    pub next: Tensor,
    /// The number of rows that hold transitions, which are the first ones, u32 `[S, 1]`.
    pub filled: Tensor,
    /// The priorities, if batches are drawn by them.
    pub priorities: Option<Priorities>,
}

crate::tree!(Stored: rows, next, filled, priorities);

impl ReplayMemory {
    /// The most transitions of a memory, whose numbers are still exact in f32.
    pub const MOST: usize = 1 << 24;

    /// Describes a memory with transitions of one step that are drawn evenly.
    #[must_use]
    pub fn uniform(rows: usize, observations: usize, actions: usize, gamma: f64) -> ReplayMemory {
        ReplayMemory { rows, observations, actions, envs: 1, gamma, n_step: 1, prioritised: None, hindsight: None }
    }

    /// Tells whether batches need later transitions of the same episode; each is then stored with its number in its
    /// episode.
    fn follows(&self) -> bool {
        self.n_step > 1 || self.hindsight.is_some()
    }

    /// The shape of one seed's rows.
    #[must_use]
    pub fn shape(&self) -> [usize; 2] {
        [self.rows, Transitions::width(self.observations, self.actions) + usize::from(self.follows())]
    }

    /// The tree of sums of priorities, if batches are drawn by them.
    #[must_use]
    pub fn tree(&self) -> Option<SumTree> {
        self.prioritised.map(|_| SumTree { leaves: self.rows })
    }

    /// Adds transitions, at most as many as there are rows. `step` is their number in
    /// their episodes, from 0, u32 `[S, B, 1]`.
    #[track_caller]
    #[must_use]
    pub fn push(&self, stored: Stored, new: &Transitions, step: Tensor) -> Stored {
        let b = new.reward.size(1);
        let index = self.below(stored.next + Tensor::iota(&[1, b], 1), self.rows);
        self.pushed(stored, (new, step), index, Tensor::constant_u32(b as u32))
    }

    /// Adds only the valid transitions, in their order: `valid`, u32 `[S, B, 1]`, is 1 for these and 0 for others.
    /// There may be at most as many as the memory has rows.
    #[track_caller]
    #[must_use]
    pub fn push_valid(&self, stored: Stored, new: &Transitions, step: Tensor, valid: Tensor) -> Stored {
        let (seeds, b) = (valid.size(0), valid.size(1));
        let valid = valid.reshape(&[seeds, b]);
        // Whole numbers up to `MOST`.
        let count = running_sum(valid.to_f32());
        let place = (count - 1.0).max(Tensor::constant_f32(0.0)).to_u32();
        // Rows beyond the end are dropped, with their priorities.
        let index = valid.select(self.below(stored.next + place, self.rows), Tensor::constant_u32(u32::MAX));
        self.pushed(stored, (new, step), index, count.slice(1, b - 1, b).to_u32())
    }

    /// Subtracts R from numbers below 2 R that are not below `limit`.
    fn below(&self, at: Tensor, limit: usize) -> Tensor {
        // Whole numbers have no subtraction, but additions wrap around.
        let minus = Tensor::constant_u32(0u32.wrapping_sub(self.rows as u32));
        at.lt(Tensor::constant_u32(limit as u32)).select(at, at + minus)
    }

    /// Puts transitions into the rows `index`, u32 `[S, B]`, and adds `count`, u32 `[]` or
    /// `[S, 1]`, to the number of rows that are filled.
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
            // R means row 0. After the last row it stays R, so that a memory that has grown goes on behind it.
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
