//! One environment in f32, computed by blocks of it: four lanes of the baseline that hold the same numbers.

use super::host_step::HostStep;
use super::job::Job;
use super::pack::{Base, Pack};
use crate::Result;
use crate::backend::cpu::simd::isa::Isa;
use crate::env::EnvDef;
use crate::rng::Key;

const LANES: usize = <Base as Pack>::LANES;

/// One environment with its task, and the random numbers of what it does.
pub(in crate::env) struct One<'a> {
    pub env: &'a EnvDef,
    pub task: &'a [f32],
    pub key: Key,
    pub element: u32,
}

impl One<'_> {
    /// The first state.
    #[cfg(feature = "standalone")]
    pub fn reset(&self) -> Vec<f32> {
        let widths = [self.env.state_len(), self.env.spec().observation.len()];
        let [mut state, mut seen] = widths.map(|width| vec![0.0; width * LANES]);
        let (key, element, task) = self.words();
        let mut inputs = vec![&key[..], &element];
        inputs.extend((!task.is_empty()).then_some(&task[..]));
        self.env.run(Isa::Baseline, Job::Reset, LANES, &inputs, &mut [&mut state, &mut seen]);
        first(&state)
    }

    /// The observation of a state.
    #[cfg(feature = "standalone")]
    pub fn observe(&self, state: &[f32]) -> Vec<f32> {
        self.run(Job::Observe, state, &vec![0.0; self.env.spec().action.dim()]).observation
    }

    /// A step that ends where it leads to: without time limit, and without a new episode.
    pub fn step(&self, state: &[f32], action: &[f32]) -> HostStep<f32> {
        self.run(Job::Bare, state, action)
    }

    fn run(&self, job: Job<'_>, state: &[f32], action: &[f32]) -> HostStep<f32> {
        let [states, actions] = [state, action].map(spread);
        let (key, element, task) = self.words();
        let steps = [0.0; LANES];
        let mut inputs = vec![&states[..], &steps, &actions, &key, &element];
        inputs.extend((!task.is_empty()).then_some(&task[..]));
        let seen = self.env.spec().observation.len();
        let widths = [self.env.state_len(), seen, seen];
        let [mut next, mut last, mut after] = widths.map(|width| vec![0.0; width * LANES]);
        let [mut counted, mut reward, mut terminated, mut truncated] = [[0.0; LANES]; 4];
        let mut outputs: [&mut [f32]; 7] =
            [&mut next, &mut counted, &mut reward, &mut terminated, &mut truncated, &mut last, &mut after];
        self.env.run(Isa::Baseline, job, LANES, &inputs, &mut outputs);
        HostStep {
            state: first(&next),
            observation: first(&last),
            reward: reward[0],
            terminated: terminated[0].to_bits() > 0,
        }
    }

    /// Key, element and task in all lanes.
    fn words(&self) -> (Vec<f32>, Vec<f32>, Vec<f32>) {
        (spread(&self.key.map(f32::from_bits)), spread(&[f32::from_bits(self.element)]), spread(self.task))
    }
}

impl EnvDef {
    /// The state that a step leads to, also where the episode ends, with the arithmetic of the lanes. `key` holds the
    /// time step.
    pub fn next_state(&self, state: &[f32], action: &[f32], task: &[f32], key: Key, element: u32) -> Result<Vec<f32>> {
        self.expect("step", "state", state.len(), self.state_len())?;
        self.expect("step", "action", action.len(), self.spec().action.dim())?;
        self.expect("step", "task", task.len(), self.spec().task.len())?;
        Ok(One { env: self, task, key, element }.step(state, action).state)
    }
}

/// Each number in all lanes.
fn spread(numbers: &[f32]) -> Vec<f32> {
    numbers.iter().flat_map(|x| [*x; LANES]).collect()
}

/// The numbers of the first lane.
fn first(block: &[f32]) -> Vec<f32> {
    block.iter().step_by(LANES).copied().collect()
}
