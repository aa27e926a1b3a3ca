//! Environments stepping alone with random actions: their speed without policy, memory or framework.

use super::job::Job;
use super::random_actions::{Rounds, Source, ranges};
use crate::backend::cpu::simd::isa::Isa;
use crate::env::EnvDef;
use crate::rng::{Key, fold_in};

/// Totals of random stepping.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RandomSteps {
    /// Environment steps.
    pub steps: u64,
    /// Episodes that ended.
    pub episodes: u64,
    /// Sum of all rewards.
    pub reward: f64,
}

/// Environments that are stepped at once.
const GROUP: u32 = 128;

/// Steps of a group between two sums of its rewards in f64: before sums get too large for f32. An even number, as two
/// actions of one number are drawn from one block of random words.
const REPEAT: u32 = 256;

impl EnvDef {
    /// Random actions for `steps` steps (rounded up to an even number) in `count` environments (to a multiple of
    /// 16). Actions and states stay in registers, and nothing is observed.
    #[must_use]
    pub fn random_steps(&self, isa: Isa, key: Key, count: u32, steps: u32, from: Source) -> RandomSteps {
        let spec = self.spec();
        let (count, steps) = (count.next_multiple_of(16), steps.next_multiple_of(2));
        let ranges = ranges(&spec.action);
        let mut total = RandomSteps::default();
        for group in (0..count).step_by(GROUP as usize) {
            let lanes = GROUP.min(count - group);
            let zeros = |width: usize| vec![0.0; width * lanes as usize];
            let all = |key: Key| key.map(|word| vec![f32::from_bits(word); lanes as usize]).concat();
            let words = |word: &dyn Fn(u32) -> u32| (0..lanes).map(|i| f32::from_bits(word(i))).collect::<Vec<f32>>();
            let elements = |first: u32| words(&|i| first.wrapping_add(i));
            let mut task = zeros(spec.task.len());
            for (row, dim) in task.chunks_mut(lanes as usize).zip(&spec.task) {
                row.fill(((dim.low + dim.high) / 2.0) as f32);
            }
            let tasks = (!task.is_empty()).then_some(&task[..]);
            let (mut state, mut seen) = (zeros(self.state_len()), zeros(spec.observation.len()));
            let (begin, numbers) = (all(fold_in(key, 2)), elements(group));
            let inputs: Vec<&[f32]> = [&begin[..], &numbers].into_iter().chain(tasks).collect();
            self.run(isa, Job::Reset, lanes as usize, &inputs, &mut [&mut state, &mut seen]);
            let keys = all(fold_in(key, 1));
            let (mut next, mut counts, mut next_counts) = (state.clone(), zeros(1), zeros(1));
            let [mut reward, mut ended, mut none] = [zeros(1), zeros(1), zeros(1)];
            for at in (0..steps).step_by(REPEAT as usize) {
                let repeat = REPEAT.min(steps - at);
                let block = (u64::from(at) * ranges.len() as u64).div_ceil(2) as u32;
                let rounds = Rounds { repeat, count, from, key: fold_in(key, 0), block, ranges: &ranges };
                let source = match from {
                    Source::Threefry => numbers.clone(),
                    // A shift register must not be 0.
                    Source::Cheap => words(&|i| fold_in(key, group + i)[0].wrapping_add(at) | 1),
                };
                // Every step of every environment draws under a number of its own.
                let element = elements(group.wrapping_add(at.wrapping_add(1).wrapping_mul(count)));
                let inputs: Vec<&[f32]> =
                    [&state[..], &counts, &source, &keys, &element].into_iter().chain(tasks).collect();
                let mut outputs: [&mut [f32]; 7] =
                    [&mut next, &mut next_counts, &mut reward, &mut ended, &mut none, &mut [], &mut []];
                self.run(isa, Job::Rounds(rounds), lanes as usize, &inputs, &mut outputs);
                // Otherwise all episodes begin where they began before.
                if from == Source::Threefry {
                    std::mem::swap(&mut state, &mut next);
                    std::mem::swap(&mut counts, &mut next_counts);
                }
                total.reward += reward.iter().map(|&r| f64::from(r)).sum::<f64>();
                total.episodes += ended.iter().map(|n| u64::from(n.to_bits())).sum::<u64>();
                total.steps += u64::from(repeat * lanes);
            }
        }
        total
    }
}
