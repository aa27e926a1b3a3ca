//! Settings of learning from a replay buffer.

use crate::env::EnvSpec;
use crate::optim::{Decay, Progress};
use crate::play::Amount;
use crate::replay::{Hindsight, ReplayMemory};
use crate::settings::Range;
use crate::{Error, Result};

/// How actions are chosen before anything is learned.
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
        /// by their running mean and deviation
        ///
        /// Each pass counts what it plays. Observations are remembered as they are, and standardised when they are
        /// acted on and when they are learned from.
        normalise_observations: bool = false;
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
        /// whole episodes between updates at least; above 0: in place of train_freq
        ///
        /// Each environment plays its share of both minima, rounded up, from a new episode on and the last one to its
        /// end. Then follow `gradient_steps` updates, and all of it is an iteration. Iterations before the first update
        /// make `learning_starts` steps together at least. Memory is taken for episodes as long as the time limit
        /// allows.
        min_rollouts: usize = 0, Range::Count(0, ReplayMemory::MOST as u64);
        /// steps of the whole episodes between updates at least; above 0: in place of train_freq
        ///
        /// See `min_rollouts`.
        min_steps: usize = 0, Range::Count(0, ReplayMemory::MOST as u64);
        /// steps of each environment between updates; not with min_rollouts or min_steps
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
        /// steps of each environment in an iteration, which is a row of metrics; not with min_rollouts or min_steps
        iteration_steps: usize = 100, Range::Shown(&Range::Count(1, 1 << 24), "train_freq divides it");
    }
}

impl Replay {
    /// Numbers the first linear layer of a network that acts: 1 where layer 0 normalises observations, else 0.
    #[must_use]
    pub fn first_layer(&self) -> usize {
        usize::from(self.normalise_observations)
    }

    /// Computes the environment steps that an iteration of a seed is planned to make: where only the time limit, of so
    /// many steps, ends episodes.
    pub fn batch(&self, limit: usize) -> usize {
        self.whole_episodes().map_or(self.iteration_steps, |amount| amount.planned(limit)).saturating_mul(self.envs)
    }

    /// Gives the share of both minima that each environment plays in an iteration; none where iterations go on from one
    /// to the next.
    #[must_use]
    pub fn whole_episodes(&self) -> Option<Amount> {
        Amount::share([self.min_rollouts, self.min_steps], self.envs)
    }

    /// Gives the share of each environment in an iteration that `learns`, or in one of the warm-up: these make
    /// `learning_starts` steps together, however early episodes end.
    pub(super) fn amount(&self, learns: bool, limit: usize) -> Option<Amount> {
        let learns = learns || self.whole_episodes().is_none();
        let least = if learns { 0 } else { self.learning_starts.div_ceil(self.warm_up(limit).max(1) as usize) };
        Amount::share([self.min_rollouts, self.min_steps.max(least)], self.envs)
    }

    /// Computes the most environment steps that an iteration makes which `learns`, or one of the warm-up.
    pub(super) fn most(&self, learns: bool, limit: usize) -> usize {
        let most = self.amount(learns, limit).map_or(self.iteration_steps, |amount| amount.most(limit));
        most.saturating_mul(self.envs)
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
            envs: if self.whole_episodes().is_some() { 1 } else { self.envs },
            n_step: self.n_step,
            prioritised: self.prioritised.then_some(self.priority_exponent),
            hindsight,
            ..ReplayMemory::uniform(self.memory_size, spec.observation.len(), spec.action.dim(), self.gamma)
        })
    }

    /// β, the correction for uneven draws, in the next iteration.
    pub(super) fn correction(&self, at: Progress, limit: usize) -> f64 {
        let over = at.budget.saturating_sub(self.batch(limit) as u64);
        Decay::Linear { from: self.priority_correction, to: 1.0, over }.at(at.steps)
    }

    /// Iterations of the warm-up.
    pub(super) fn warm_up(&self, limit: usize) -> u64 {
        self.learning_starts.div_ceil(self.batch(limit).max(1)) as u64
    }

    /// Checks values in combination, with the time limit.
    pub(super) fn validate(&self, limit: usize) -> Result<()> {
        let Replay { envs, memory_size, batch_size, train_freq, iteration_steps, .. } = *self;
        let whole = self.whole_episodes();
        if whole.is_none() && iteration_steps.saturating_mul(envs) > ReplayMemory::MOST {
            let problem = format!("iteration_steps × envs is more than {}", ReplayMemory::MOST);
            return Err(Error::config("iteration_steps", problem));
        }
        if whole.is_none() && !iteration_steps.is_multiple_of(train_freq) {
            let near = iteration_steps.div_ceil(train_freq) * train_freq;
            let problem = format!("train_freq = {train_freq} does not divide {iteration_steps}; try {near}");
            return Err(Error::config_instead("iteration_steps", problem, near));
        }
        if batch_size > memory_size {
            let problem =
                format!("{batch_size} are more than the memory holds; lower it, or raise memory_size = {memory_size}");
            return Err(Error::config_instead("batch_size", problem, memory_size));
        }
        if whole.is_some() {
            return self.validate_episodes(limit);
        }
        let new = train_freq * envs;
        if new > memory_size {
            let problem = format!("{memory_size} are fewer than the {new} steps between updates (train_freq × envs)");
            return Err(Error::config("memory_size", problem));
        }
        Ok(())
    }

    /// Checks that the memory holds the longest episodes that can come between updates.
    fn validate_episodes(&self, limit: usize) -> Result<()> {
        let Replay { envs, memory_size, min_rollouts, .. } = *self;
        let [warm_up, most] = [false, true].map(|learns| self.most(learns, limit));
        let by_rollouts = Amount::share([min_rollouts, 0], envs).map_or(0, |amount| amount.most(limit));
        let key = match (by_rollouts.saturating_mul(envs), warm_up > most) {
            (_, true) if most <= memory_size => "learning_starts",
            (rollouts, _) if rollouts == most => "min_rollouts",
            _ => "min_steps",
        };
        if warm_up > ReplayMemory::MOST {
            let problem = format!(
                "until episodes of up to {limit} steps are played, {envs} environments may make {warm_up} steps, more \
                 than \
                 the {} that a memory can hold; lower it, envs or time_limit",
                ReplayMemory::MOST
            );
            return Err(Error::config(key, problem));
        }
        if warm_up > memory_size {
            let problem = format!(
                "{memory_size} are fewer than the {warm_up} steps that {envs} environments may make until their \
                 episodes \
                 of up to {limit} steps are played; raise it, or lower {key}, envs or time_limit"
            );
            return Err(Error::config("memory_size", problem));
        }
        Ok(())
    }

    /// Rows of the memory of a run of so many steps.
    pub(super) fn rows(&self, steps: u64, limit: usize) -> Result<usize> {
        let batch = self.batch(limit) as u64;
        // The warm-up is whole iterations: it may be longer than was asked for.
        if self.warm_up(limit) >= steps.div_ceil(batch) {
            let problem = format!(
                "{} steps without updates, in iterations planned to make {batch}, are all of a run of {steps} steps; \
                 lower it, or raise steps",
                self.learning_starts
            );
            return Err(Error::config("learning_starts", problem));
        }
        let made = match self.whole_episodes() {
            None => steps.div_ceil(batch).saturating_mul(batch),
            // A run ends with the iteration in which its steps are made, and after one that learns.
            Some(_) => {
                let [warm_up, most] = [false, true].map(|learns| self.most(learns, limit) as u64);
                let begun = self.warm_up(limit).saturating_mul(warm_up).saturating_add(most);
                (steps - 1).saturating_add(warm_up).max(begun)
            }
        };
        Ok(usize::try_from(made).unwrap_or(usize::MAX).min(self.memory_size))
    }
}
