//! Environments stepped side by side on the CPU, outside of any program: for tests, checks and benchmarks.

use crate::backend::cpu::simd::isa::Isa;
use crate::env::EnvDef;
use crate::rng::Key;

/// A block of environments in memory. Every value of M numbers is lane-major, `[M][count]`; u32 values are the f32 of
/// the same bits, see [`Lockstep::words`].
#[derive(Clone, Debug)]
pub struct Lockstep {
    env: EnvDef,
    isa: Isa,
    count: usize,
    /// State `[F]`.
    pub state: Vec<f32>,
    /// Steps that the running episodes have taken (u32).
    pub steps: Vec<f32>,
    /// Action `[A]`, to be written before a step.
    pub action: Vec<f32>,
    /// Task `[D]`, the middle of each range at first.
    pub task: Vec<f32>,
    /// Number of each environment (u32), 0, 1, … at first.
    pub element: Vec<f32>,
    /// Reward of the last step.
    pub reward: Vec<f32>,
    /// 1 where the last step ended the episode in a final state, else 0 (u32).
    pub terminated: Vec<f32>,
    /// 1 where the time limit ended the episode at the last step, else 0 (u32).
    pub truncated: Vec<f32>,
    /// Observation `[O]` before any reset.
    pub last_observation: Vec<f32>,
    /// Observation `[O]` after any reset.
    pub observation: Vec<f32>,
    key: Vec<f32>,
    next: Vec<f32>,
    next_steps: Vec<f32>,
}

impl Lockstep {
    /// `count` environments (rounded up to a multiple of 16) with all-zero states; [`reset`](Self::reset) starts them.
    #[must_use]
    pub fn new(env: &EnvDef, isa: Isa, count: usize) -> Self {
        let count = count.next_multiple_of(16);
        let spec = env.spec();
        let zeros = |width: usize| vec![0.0; width * count];
        let middle = |low: f64, high: f64| if (low + high).is_finite() { (low + high) / 2.0 } else { 0.0 };
        Self {
            env: env.clone(),
            isa,
            count,
            state: zeros(env.state_len()),
            steps: zeros(1),
            action: zeros(spec.action.dim()),
            task: spec.task.iter().flat_map(|d| vec![middle(d.low, d.high) as f32; count]).collect(),
            element: (0..count as u32).map(f32::from_bits).collect(),
            reward: zeros(1),
            terminated: zeros(1),
            truncated: zeros(1),
            last_observation: zeros(spec.observation.len()),
            observation: zeros(spec.observation.len()),
            key: zeros(2),
            next: zeros(env.state_len()),
            next_steps: zeros(1),
        }
    }

    /// The number of environments.
    #[must_use]
    pub fn count(&self) -> usize {
        self.count
    }

    /// The numbers' bits.
    #[must_use]
    pub fn words(values: &[f32]) -> Vec<u32> {
        values.iter().map(|x| x.to_bits()).collect()
    }

    /// Gives every environment a task of its own, drawn under `key` with its element.
    pub fn sample_tasks(&mut self, key: Key) {
        for lane in 0..self.count {
            let task = self.env.sample_task::<f32>(key, self.element[lane].to_bits());
            for (d, number) in task.into_iter().enumerate() {
                self.task[d * self.count + lane] = number;
            }
        }
    }

    /// Starts a new episode everywhere.
    pub fn reset(&mut self, key: Key) {
        self.fill_key(key);
        let mut inputs = vec![&self.key[..], &self.element];
        if !self.task.is_empty() {
            inputs.push(&self.task);
        }
        let block = self.env.reset_block().clone();
        block.run(self.isa, self.count, &inputs, &mut [&mut self.state, &mut self.observation]);
        self.steps.fill(0.0);
    }

    /// One step with the actions in `action`, under a key that no other step has.
    pub fn step(&mut self, key: Key) {
        self.fill_key(key);
        let block = self.env.step_block().clone();
        let mut inputs = vec![&self.state[..], &self.steps, &self.action, &self.key, &self.element];
        if !self.task.is_empty() {
            inputs.push(&self.task);
        }
        let mut outputs = [
            &mut self.next[..],
            &mut self.next_steps,
            &mut self.reward,
            &mut self.terminated,
            &mut self.truncated,
            &mut self.last_observation,
            &mut self.observation,
        ];
        block.run(self.isa, self.count, &inputs, &mut outputs);
        std::mem::swap(&mut self.state, &mut self.next);
        std::mem::swap(&mut self.steps, &mut self.next_steps);
    }

    /// Draws every action from `word`, called once per number: uniformly among the choices or in the box.
    pub fn random_actions(&mut self, mut word: impl FnMut() -> u32) {
        let ranges = super::random_actions::ranges(&self.env.spec().action);
        for (lane, range) in self.action.chunks_mut(self.count).zip(&ranges) {
            for action in lane {
                *action = range.pick::<super::Lanes<1>>(super::LaneBits([word()])).0[0];
            }
        }
    }

    fn fill_key(&mut self, key: Key) {
        let (first, second) = self.key.split_at_mut(self.count);
        first.fill(f32::from_bits(key[0]));
        second.fill(f32::from_bits(key[1]));
    }
}
