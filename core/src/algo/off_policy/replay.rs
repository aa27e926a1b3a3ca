//! Settings of learning from a replay memory.

use crate::replay::ReplayMemory;
use crate::settings::Range;
use crate::{Error, Result};

crate::settings! {
    /// Settings of what is played, remembered and drawn.
    #[derive(Copy)]
    pub struct Replay {
        /// environments that run side by side (N)
        envs: usize = 1, Range::Count(1, 1 << 16);
        /// discount of later rewards
        gamma: f64 = 0.99, Range::Unit;
        /// transitions that are remembered; never more than a run makes
        memory_size: usize = 1_000_000, Range::Count(1, ReplayMemory::MOST as u64);
        /// transitions of an update
        batch_size: usize = 256, Range::Count(1, 1 << 20);
        /// steps by even draws of actions before the first update, in whole iterations
        learning_starts: usize = 100, Range::Count(0, ReplayMemory::MOST as u64);
        /// steps of each environment between updates
        train_freq: usize = 1, Range::Count(1, 1 << 16);
        /// updates each time
        gradient_steps: usize = 1, Range::Count(1, 1 << 16);
        /// steps of each environment in an iteration, which is a row of metrics
        iteration_steps: usize = 100, Range::Shown(&Range::Count(1, 1 << 24), "train_freq divides it");
    }
}

impl Replay {
    /// Environment steps of an iteration and seed.
    pub fn batch(&self) -> usize {
        self.iteration_steps * self.envs
    }

    /// Iterations of the warm-up.
    pub(super) fn warm_up(&self) -> u64 {
        self.learning_starts.div_ceil(self.batch()) as u64
    }

    /// Checks values in combination.
    pub(super) fn validate(&self) -> Result<()> {
        let Replay { envs, memory_size, batch_size, train_freq, iteration_steps, .. } = *self;
        if self.iteration_steps.saturating_mul(envs) > ReplayMemory::MOST {
            let problem = format!("iteration_steps × envs is more than {}", ReplayMemory::MOST);
            return Err(Error::config("iteration_steps", problem));
        }
        if !iteration_steps.is_multiple_of(train_freq) {
            let near = iteration_steps.div_ceil(train_freq) * train_freq;
            let problem = format!("train_freq = {train_freq} does not divide {iteration_steps}; try {near}");
            return Err(Error::config("iteration_steps", problem));
        }
        if batch_size > memory_size {
            let problem =
                format!("{batch_size} are more than the memory holds; lower it, or raise memory_size = {memory_size}");
            return Err(Error::config("batch_size", problem));
        }
        let new = train_freq * envs;
        if new > memory_size {
            let problem = format!("{memory_size} are fewer than the {new} steps between updates (train_freq × envs)");
            return Err(Error::config("memory_size", problem));
        }
        Ok(())
    }

    /// Rows of the memory of a run of so many steps.
    pub(super) fn rows(&self, steps: u64) -> Result<usize> {
        // The warm-up is whole iterations: it may be longer than was asked for.
        if self.warm_up() >= steps.div_ceil(self.batch() as u64) {
            let problem = format!(
                "{} steps without updates, in iterations of {}, are all of a run of {steps} steps; lower it, or raise steps",
                self.learning_starts,
                self.batch()
            );
            return Err(Error::config("learning_starts", problem));
        }
        let planned = steps.div_ceil(self.batch() as u64).saturating_mul(self.batch() as u64);
        Ok(usize::try_from(planned).unwrap_or(usize::MAX).min(self.memory_size))
    }
}
