//! Fresh tasks and pools of tasks.

use crate::dist;
use crate::env::EnvDef;
#[cfg(feature = "standalone")]
use crate::env::Scalar;
use crate::rng::{Key, Permutation, fold_in, stream};
use crate::tensor::Tensor;
use crate::{Error, Result};

/// New tasks are drawn under this stream's key, then the iteration's.
const FRESH: u32 = stream("fresh tasks");

/// The tasks of a pool are drawn under this stream's key.
const POOL: u32 = stream("task pool");

/// The order in which a pool's tasks are dealt follows from this stream's key and the pass.
const DEAL: u32 = stream("task deal");

/// The order in which a pool's tasks are played follows from this stream's key, the iteration's, and the pass.
const ORDER: u32 = stream("task order");

/// The tasks of an environment's distribution that are played.
///
/// Everywhere, `key` is that of the tasks of one seed. The same key gives the same pool; other seeds play on other
/// tasks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TaskSource {
    /// New tasks in each iteration.
    #[default]
    Fresh,
    /// The tasks with numbers `first..first + count`, in an order that changes with each iteration.
    Pool {
        /// Number of the first.
        first: u32,
        /// How many, at least 1.
        count: u32,
    },
    /// A [pool](TaskSource::Pool) whose tasks are dealt as cards are: an iteration goes on where the one before has
    /// stopped, and no task is played again before all others are, also over several iterations.
    Dealt {
        /// Number of the first.
        first: u32,
        /// How many, at least 1.
        count: u32,
    },
}

impl TaskSource {
    /// A pool of `count` tasks.
    ///
    /// # Errors
    /// [`Error::Config`] if there are none.
    pub fn pool(count: u32) -> Result<TaskSource> {
        if count == 0 {
            return Err(Error::config("tasks", "a pool of 0 tasks has none to play; give at least 1"));
        }
        Ok(Self::Pool { first: 0, count })
    }

    /// A pool of `count` tasks in two: those to train on, and `held_out` others to test with.
    ///
    /// No task is in both. Where an environment has few tasks that differ, such as four corners, equal ones may be:
    /// what is held out then are draws, not goals.
    ///
    /// # Errors
    /// [`Error::Config`] if either part is empty.
    pub fn split(count: u32, held_out: u32) -> Result<[TaskSource; 2]> {
        if held_out == 0 || held_out >= count {
            let problem = format!("{held_out} of {count} tasks leave one part empty; hold out 1 to {count} − 1");
            return Err(Error::config("held_out", problem));
        }
        let first = count - held_out;
        Ok([Self::Pool { first: 0, count: first }, Self::Pool { first, count: held_out }])
    }

    /// How many tasks there are; `None` if there is no end of new ones.
    #[must_use]
    pub fn len(&self) -> Option<u32> {
        match self {
            Self::Fresh => None,
            Self::Pool { count, .. } | Self::Dealt { count, .. } => Some(*count),
        }
    }

    /// Tells whether a pool has no tasks: never, if a constructor made it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == Some(0)
    }

    /// Key and element of each of the `batch` tasks of an iteration, for [`EnvDef::sample_task`].
    ///
    /// No task of a pool is played twice in an iteration before all others are; over many iterations, all are equally
    /// often.
    #[must_use]
    pub fn pick(&self, key: Key, iteration: u32, batch: usize) -> Vec<(Key, u32)> {
        let slots = 0..batch as u32;
        match *self {
            Self::Fresh => {
                let key = fold_in(fold_in(key, FRESH), iteration);
                slots.map(|slot| (key, slot)).collect()
            }
            Self::Pool { first, count } => {
                let (drawn, order) = (fold_in(key, POOL), fold_in(fold_in(key, ORDER), iteration));
                let count = count.max(1);
                let element =
                    |slot: u32| first + Permutation::new(fold_in(order, slot / count), count).apply(slot % count);
                slots.map(|slot| (drawn, element(slot))).collect()
            }
            Self::Dealt { first, count } => {
                let (drawn, order, count) = (fold_in(key, POOL), fold_in(key, DEAL), count.max(1));
                let dealt = iteration.wrapping_sub(1).wrapping_mul(batch as u32);
                let element = |slot: u32| {
                    let card = dealt.wrapping_add(slot);
                    first + Permutation::new(fold_in(order, card / count), count).apply(card % count)
                };
                slots.map(|slot| (drawn, element(slot))).collect()
            }
        }
    }

    /// Parameters of the `batch` tasks of an iteration, each `[D]`.
    #[cfg(feature = "standalone")]
    #[must_use]
    pub fn sample<T: Scalar>(&self, env: &EnvDef, key: Key, iteration: u32, batch: usize) -> Vec<Vec<T>> {
        self.pick(key, iteration, batch).into_iter().map(|(key, element)| env.sample_task(key, element)).collect()
    }

    /// Parameters of all tasks of a pool, in order of their numbers; `None` if there is no end of them.
    #[cfg(feature = "standalone")]
    #[must_use]
    pub fn all<T: Scalar>(&self, env: &EnvDef, key: Key) -> Option<Vec<Vec<T>>> {
        let (Self::Pool { first, count } | Self::Dealt { first, count }) = *self else { return None };
        let key = fold_in(key, POOL);
        Some((first..first.saturating_add(count)).map(|element| env.sample_task(key, element)).collect())
    }

    /// Parameters of the `batch` tasks of an iteration for each of S seeds, `[S, batch, D]`: those of
    /// [`sample`](Self::sample).
    ///
    /// `key`: words `[S, 1]`; `iteration`: u32, `[]` or `[S, 1]`. An error of the trace if the environment has no task
    /// parameters.
    #[track_caller]
    #[must_use]
    pub fn trace(&self, env: &EnvDef, key: [Tensor; 2], iteration: Tensor, batch: usize) -> Tensor {
        let stream = |number: u32| dist::fold_in(key, Tensor::constant_u32(number));
        let numbers = self.trace_numbers(key, iteration, batch);
        match *self {
            Self::Fresh => env.trace_tasks(dist::fold_in(stream(FRESH), iteration), numbers),
            Self::Pool { .. } | Self::Dealt { .. } => env.trace_tasks(stream(POOL), numbers),
        }
    }

    /// Numbers of the `batch` tasks of an iteration for each of S seeds, u32 `[S, batch]`: those of a pool in
    /// it, from its first on, so that what is remembered of each task has a place; 0, 1, … of fresh ones.
    /// Arguments as for [`trace`](Self::trace).
    #[track_caller]
    #[must_use]
    pub fn trace_numbers(&self, key: [Tensor; 2], iteration: Tensor, batch: usize) -> Tensor {
        let seeds = key[0].shape().first().copied().unwrap_or(1);
        let (first, count) = match *self {
            Self::Fresh => return Tensor::iota(&[seeds, batch], 1),
            Self::Pool { first, count } => (first, count.max(1)),
            Self::Dealt { first, count } => {
                let word = Tensor::constant_u32;
                let dealt = (iteration + word(u32::MAX)) * word(batch as u32);
                let [pass, place] = divided(Tensor::iota(&[1, batch], 1) + dealt, count.max(1));
                let order = dist::fold_in(dist::fold_in(key, word(DEAL)), pass);
                let element = place.permutation(order, count.max(1) as usize) + word(first);
                return element.broadcast_to(&[seeds, batch]);
            }
        };
        let row = |f: &dyn Fn(u32) -> u32| {
            Tensor::literal_u32(&(0..batch as u32).map(f).collect::<Vec<u32>>()).reshape(&[1, batch])
        };
        let (pass, place) = (row(&|slot| slot / count), row(&|slot| slot % count));
        let order = dist::fold_in(key, Tensor::constant_u32(ORDER));
        let order = dist::fold_in(dist::fold_in(order, iteration), pass);
        let element = place.permutation(order, count as usize) + Tensor::constant_u32(first);
        element.broadcast_to(&[seeds, batch])
    }
}

/// The quotient and the remainder of whole numbers (u32), bit by bit: graphs have no division of these.
#[track_caller]
fn divided(x: Tensor, by: u32) -> [Tensor; 2] {
    let word = Tensor::constant_u32;
    let (mut quotient, mut rest) = (x.bit_and(word(0)), x);
    for bit in (0..=by.leading_zeros()).rev() {
        let part = by << bit;
        let less = rest.lt(word(part));
        quotient = quotient.bit_or(less.select(word(0), word(1 << bit)));
        rest = rest + less.select(word(0), word(part.wrapping_neg()));
    }
    [quotient, rest]
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::env::builtin;
    use crate::rng::key_from_seed;
    use crate::{DType, Device, Program, State};

    fn words(tasks: &[Vec<f32>]) -> Vec<Vec<u32>> {
        tasks.iter().map(|task| task.iter().map(|x| x.to_bits()).collect()).collect()
    }

    #[test]
    fn fresh_tasks_differ_between_slots_iterations_and_seeds_and_come_again_for_the_same() {
        let env = builtin("navigation").unwrap();
        let mut seen = HashSet::new();
        for seed in 0..3 {
            for iteration in 0..10 {
                let batch = TaskSource::Fresh.sample::<f32>(&env, key_from_seed(seed), iteration, 20);
                assert_eq!(batch, TaskSource::Fresh.sample::<f32>(&env, key_from_seed(seed), iteration, 20));
                assert_eq!(batch[..7], TaskSource::Fresh.sample::<f32>(&env, key_from_seed(seed), iteration, 7));
                seen.extend(words(&batch));
            }
        }
        assert_eq!(seen.len(), 600);
        assert_eq!(TaskSource::Fresh.len(), None);
        assert_eq!(TaskSource::Fresh.all::<f32>(&env, [0, 0]), None);
    }

    #[test]
    fn a_pools_tasks_are_played_equally_often_and_never_twice_before_all_others() {
        let pool = TaskSource::pool(12).unwrap();
        let key = key_from_seed(3);
        let mut counts = [0_u32; 12];
        for iteration in 0..4000 {
            let picked = pool.pick(key, iteration, 5);
            assert_eq!(picked.iter().collect::<HashSet<_>>().len(), 5);
            picked.iter().for_each(|(_, element)| counts[*element as usize] += 1);
            // More slots than tasks: whole passes, then a part of one.
            let long = pool.pick(key, iteration, 30);
            assert_eq!(long[..5], picked);
            for pass in long.chunks(12) {
                assert_eq!(pass.iter().collect::<HashSet<_>>().len(), pass.len());
            }
        }
        // 4000 · 5 / 12 = 1667; four standard errors: 4 √(4000 · 5/12 · 7/12) = 125.
        assert!(counts.iter().all(|n| n.abs_diff(1667) < 125), "{counts:?}");
    }

    #[test]
    fn dealt_tasks_come_again_when_all_others_have() {
        let (pool, dealt) = (TaskSource::pool(12).unwrap(), TaskSource::Dealt { first: 0, count: 12 });
        let key = key_from_seed(3);
        let all: Vec<(Key, u32)> = (1..=60).flat_map(|iteration| dealt.pick(key, iteration, 5)).collect();
        let mut orders = HashSet::new();
        for pass in all.chunks(12) {
            assert_eq!(pass.iter().collect::<HashSet<_>>().len(), 12, "{pass:?}");
            orders.insert(pass.to_vec());
        }
        assert!(orders.len() > 20, "each pass has its own order");
        let tasks = |picked: Vec<(Key, u32)>| picked.into_iter().collect::<HashSet<_>>();
        assert_eq!(tasks(all), tasks(pool.pick(key, 1, 12)));
    }

    #[test]
    fn held_out_tasks_are_never_trained_on() {
        let env = builtin("point-half-circle").unwrap();
        let [train, test] = TaskSource::split(100, 20).unwrap();
        assert_eq!((train.len(), test.len()), (Some(80), Some(20)));
        let key = key_from_seed(1);
        let of = |source: TaskSource| -> HashSet<Vec<u32>> {
            (0..50).flat_map(|iteration| words(&source.sample(&env, key, iteration, 16))).collect()
        };
        let all =
            |source: TaskSource| -> HashSet<Vec<u32>> { words(&source.all(&env, key).unwrap()).into_iter().collect() };
        assert_eq!((of(train), of(test)), (all(train), all(test)));
        assert!(all(train).is_disjoint(&all(test)));
        let both = all(TaskSource::pool(100).unwrap());
        assert_eq!(all(train).union(&all(test)).cloned().collect::<HashSet<_>>(), both);
        assert_eq!(both.len(), 100);
    }

    #[test]
    fn empty_parts_are_refused() {
        assert_eq!(
            TaskSource::pool(0).unwrap_err().to_string(),
            "tasks: a pool of 0 tasks has none to play; give at least 1"
        );
        for (count, held_out) in [(10, 0), (10, 10), (0, 0), (5, 9)] {
            assert!(TaskSource::split(count, held_out).unwrap_err().to_string().starts_with("held_out: "));
        }
    }

    #[test]
    fn programs_play_the_hosts_tasks_bit_for_bit_each_seed_its_own() {
        let seeds = [4_u64, 1 << 40, 9];
        let device = Device::cpu(1);
        for (name, batch) in [("point-corner", 7), ("bandit", 3), ("point-walls", 25)] {
            let env = builtin(name).unwrap();
            let [train, test] = TaskSource::split(10, 4).unwrap();
            let dealt = TaskSource::Dealt { first: 2, count: 9 };
            for source in [TaskSource::Fresh, train, test, dealt] {
                let mut program = Program::new(&device, |cx| {
                    let key = [cx.input("k0", &[3, 1], DType::U32), cx.input("k1", &[3, 1], DType::U32)];
                    let iteration = cx.scalar_u32("iteration");
                    cx.output("tasks", source.trace(&env, key, iteration, batch));
                })
                .unwrap();
                let keys = seeds.map(key_from_seed);
                let column = |word: usize| device.array_u32(&[3, 1], &keys.map(|k| k[word])).unwrap();
                let (k0, k1) = (column(0), column(1));
                for iteration in [1_u32, 2, 77, 1 << 31] {
                    let scalars = [("iteration", iteration.into())];
                    let out = program.run(&State::new(), &[("k0", &k0), ("k1", &k1)], &scalars).unwrap();
                    let traced = pollster::block_on(device.read_f32(out.get("tasks").unwrap())).unwrap();
                    let host: Vec<f32> = keys
                        .iter()
                        .flat_map(|key| source.sample::<f32>(&env, *key, iteration, batch).concat())
                        .collect();
                    let bits = |x: &[f32]| x.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
                    assert_eq!(bits(&traced), bits(&host), "{name}, {source:?}, iteration {iteration}");
                }
            }
        }
    }

    #[test]
    fn a_single_task_is_an_error_of_the_trace() {
        let env = builtin("cartpole").unwrap();
        let key = || [1, 2].map(|word| Tensor::constant_u32(word).broadcast_to(&[1, 1]));
        let program = Program::new(&Device::cpu(1), |cx| {
            cx.output("tasks", TaskSource::Fresh.trace(&env, key(), Tensor::constant_u32(0), 2));
        });
        assert!(program.unwrap_err().to_string().contains("an environment with task parameters"));
    }
}
