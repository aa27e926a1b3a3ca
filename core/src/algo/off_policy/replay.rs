//! Settings of learning from a replay memory.

use crate::env::EnvSpec;
use crate::optim::{Decay, Progress};
use crate::replay::{Hindsight, ReplayMemory};
use crate::settings::Range;
use crate::{Error, Result};

/// Who acts before anything is learned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WarmUp {
    /// Chance, evenly among all actions.
    #[default]
    Random,
    /// The policy, as it explores.
    Policy,
}

crate::words!(WarmUp { Random = "random", Policy = "policy" });

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
        /// steps before the first update, in whole iterations
        learning_starts: usize = 100, Range::Count(0, ReplayMemory::MOST as u64);
        /// who acts until then
        ///
        /// Pyrado's `use_trained_policy_for_refill`, where the memory of a trained policy is filled anew.
        warm_up: WarmUp = WarmUp::Random;
        /// steps of each environment between updates
        train_freq: usize = 1, Range::Count(1, 1 << 16);
        /// updates each time
        gradient_steps: usize = 1, Range::Count(1, 1 << 16);
        /// steps whose rewards are learned from at once
        ///
        /// Targets of n steps, arXiv:1710.02298; without a correction for the policy that acted.
        n_step: usize = 1, Range::Count(1, 1000);
        /// draw what was predicted worst most often
        ///
        /// Proportional priorities, arXiv:1511.05952.
        prioritised: bool = false;
        /// α: power of errors in priorities; 0 draws evenly
        priority_exponent: f64 = 0.6, Range::Unit;
        /// β: correction for uneven draws at the start; it becomes 1 at the end of the run
        priority_correction: f64 = 0.4, Range::Unit;
        /// share of the transitions whose goal is replaced by one that was reached later; 0: none
        ///
        /// Hindsight, arXiv:1707.01495: k / (k + 1) there, 0.8 for k = 4. Needs an environment with goals.
        hindsight: f64 = 0.0, Range::Unit;
        /// steps of each environment in an iteration, which is a row of metrics
        iteration_steps: usize = 100, Range::Shown(&Range::Count(1, 1 << 24), "train_freq divides it");
    }
}

impl Replay {
    /// Environment steps of an iteration and seed.
    pub fn batch(&self) -> usize {
        self.iteration_steps * self.envs
    }

    /// The memory for an environment.
    ///
    /// # Errors
    /// If hindsight is asked for and the environment has no goals, or with what it does not go together.
    pub(super) fn memory(&self, spec: &EnvSpec) -> Result<ReplayMemory> {
        let hindsight = match (self.hindsight > 0.0, &spec.goal) {
            (false, _) => None,
            (true, Some(goal)) => Some(Hindsight { share: self.hindsight, goal: goal.clone(), horizon: spec.horizon }),
            (true, None) => {
                let problem = format!("`{}` has no goals that could be replaced; set it to 0", spec.name);
                return Err(Error::config("hindsight", problem));
            }
        };
        if self.hindsight > 0.0 && self.n_step > 1 {
            let problem =
                format!("{} steps cannot be learned from at once with hindsight; set one of them back", self.n_step);
            return Err(Error::config("n_step", problem));
        }
        Ok(ReplayMemory {
            envs: self.envs,
            n_step: self.n_step,
            prioritised: self.prioritised.then_some(self.priority_exponent),
            hindsight,
            ..ReplayMemory::uniform(self.memory_size, spec.observation.len(), spec.action.dim(), self.gamma)
        })
    }

    /// β, the correction for uneven draws, in the next iteration.
    pub(super) fn correction(&self, at: Progress) -> f64 {
        let over = at.budget.saturating_sub(self.batch() as u64);
        Decay::Linear { from: self.priority_correction, to: 1.0, over }.at(at.steps)
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
