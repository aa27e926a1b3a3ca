//! The visits to training tasks: their steps, their number, and the rows that they add to memories.

use super::{Pearl, PearlConfig};
use crate::Error;
use crate::algo::Algorithm as _;
use crate::play::Amount;
use crate::task::TaskSource;

impl Pearl {
    pub(super) fn initial(&self) -> Amount {
        Amount::Steps(self.config().num_initial_steps)
    }

    /// The steps of a visit: by the prior; by the belief, for the context; by the belief, outside of the context.
    pub(super) fn visit(&self) -> [Amount; 3] {
        let config = self.config();
        [config.num_steps_prior, config.num_steps_posterior, config.num_extra_rl_steps_posterior].map(Amount::Steps)
    }

    /// The most rows that one iteration adds to a task's memory.
    pub(super) fn most_added(&self) -> usize {
        let each = |amount: &Amount| amount.most(self.horizon);
        let most = |amounts: &[Amount]| amounts.iter().map(each).fold(0, usize::saturating_add);
        // A pass over the tasks may end with a task and the next pass begin with it.
        let visits = (self.config().num_tasks_sample - 1).div_ceil(self.config().train_tasks) + 1;
        most(&[self.initial()]).max(most(&self.visit())).saturating_mul(visits)
    }

    /// Iterations until every task has been visited once.
    pub(super) fn warm_up(&self) -> u64 {
        self.config().train_tasks.div_ceil(self.config().num_tasks_sample) as u64
    }

    /// The most iterations of a run of this many steps: an iteration makes at least the steps that the settings ask
    /// for, and more only where episodes run on.
    pub(super) fn most_iterations(&self, steps: u64) -> u64 {
        let config = self.config();
        let visited = |steps: usize| (steps * config.num_tasks_sample).max(1) as u64;
        let initial = visited(config.num_initial_steps);
        let later = config.num_steps_prior + config.num_steps_posterior + config.num_extra_rl_steps_posterior;
        match steps.checked_sub(self.warm_up().saturating_mul(initial)) {
            Some(rest) => self.warm_up() + rest.div_ceil(visited(later)),
            None => steps.div_ceil(initial),
        }
    }

    /// The most rows of a task's memory after this many iterations.
    pub(super) fn rows(&self, iterations: u64) -> u64 {
        let config = self.config();
        let most = |amounts: &[Amount]| amounts.iter().map(|amount| amount.most(self.horizon) as u64).sum::<u64>();
        let visits = |iterations: u64| {
            let all = iterations.saturating_mul(config.num_tasks_sample as u64);
            all.div_ceil(config.train_tasks as u64)
        };
        let (initial, warm_up) = (visits(self.warm_up().min(iterations)), self.warm_up());
        // Later passes begin in the middle of a pass.
        let later = iterations.saturating_sub(warm_up).min(1) + visits(iterations.saturating_sub(warm_up));
        let all =
            initial.saturating_mul(most(&[self.initial()])).saturating_add(later.saturating_mul(most(&self.visit())));
        all.max(self.most_added() as u64)
    }

    /// The error about a run that ends before its first update.
    pub(super) fn too_short(&self, steps: u64) -> Error {
        let PearlConfig { train_tasks, num_tasks_sample, .. } = *self.config();
        let (each, first) = (self.initial().planned(self.horizon) as u64, self.planned(self.warm_up()));
        let visits = self.warm_up() * num_tasks_sample as u64;
        let most = steps.saturating_sub(1);
        let tasks = most / (num_tasks_sample as u64 * each) * num_tasks_sample as u64;
        let initial = most / visits / self.horizon as u64 * self.horizon as u64;
        let fit = [("train_tasks", tasks), ("num_initial_steps", initial)];
        let lower: String =
            fit.iter().filter(|(_, fits)| *fits > 0).map(|(key, fits)| format!("lower {key} to {fits}, or ")).collect();
        let problem = format!(
            "first collections come before the first update: {visits} visits for {train_tasks} tasks, of {each} steps \
             each (num_initial_steps in whole episodes), are {first} steps, and the run has {steps}; {lower}make at \
             least {} steps",
            first + 1
        );
        Error::config("train_tasks", problem)
    }

    pub(super) fn tasks(&self) -> TaskSource {
        TaskSource::Dealt { first: 0, count: u32::try_from(self.config().train_tasks).unwrap_or(u32::MAX) }
    }
}
