//! Many environments side by side.

use super::{Chance, Faults, FleetSize, HostEnv};
use crate::backend::LocalFuture;
use crate::env::{EnvSpec, spec_problem};
use crate::rng::Key;
use crate::{Error, Result};

/// The environments of an executor: M groups, one per task, of E environments each. Number m · E + e is environment e
/// of task m.
#[derive(Clone, Debug, PartialEq)]
pub struct Fleet {
    /// Spaces and task parameters of every environment.
    pub spec: EnvSpec,
    /// Names of the values that steps report besides rewards.
    pub info: Vec<String>,
    /// M, groups of environments with a task each.
    pub tasks: usize,
    /// E, environments of each group.
    pub envs_per_task: usize,
    /// Steps after which an episode is cut off, at least 1.
    pub horizon: usize,
}

/// The outcome of one step of all environments. Each array begins with the axis of environments, M · E.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stepped {
    /// The observations to act on next, `[M · E · O]`: where an episode ended, the first observation of the next one.
    pub observations: Vec<f64>,
    /// The observation that the step itself led to, before any reset, `[M · E · O]`. The original executors lose it
    /// where an episode ended, so that nothing can bootstrap from a time limit.
    pub last_observations: Vec<f64>,
    /// The step's rewards, `[M · E]`.
    pub rewards: Vec<f64>,
    /// True where the episode ended in a final state, `[M · E]`.
    pub terminated: Vec<bool>,
    /// True where the episode was cut off, `[M · E]`; never together with `terminated`.
    pub truncated: Vec<bool>,
    /// Steps of each episode so far, this one included, `[M · E]`.
    pub lengths: Vec<usize>,
    /// Values that environments report, `[M · E · I]`, in the order of [`Fleet::info`].
    pub info: Vec<f64>,
}

impl Stepped {
    /// Appends the results of further environments.
    pub fn append(&mut self, mut more: Stepped) {
        self.observations.append(&mut more.observations);
        self.last_observations.append(&mut more.last_observations);
        self.rewards.append(&mut more.rewards);
        self.terminated.append(&mut more.terminated);
        self.truncated.append(&mut more.truncated);
        self.lengths.append(&mut more.lengths);
        self.info.append(&mut more.info);
    }

    /// Tells whether the step ended the episode of the environment with this number.
    #[must_use]
    pub fn ended(&self, number: usize) -> bool {
        self.terminated[number] || self.truncated[number]
    }
}

/// Runs many environments on the host. Calls are futures, so that environments may answer later, as
/// one behind a promise of JavaScript does.
///
/// `keys` has one key per group, another one at each call. Environment e of a group draws with this key and the element
/// e, so trajectories are the same in each executor. After an error, call [`reset`](Executor::reset) before going on.
pub trait Executor {
    /// The environments that it runs.
    fn fleet(&self) -> &Fleet;

    /// Draws parameters of tasks, `[D]` each, from the environments' distribution: one task per
    /// chance, equal chances giving equal tasks.
    ///
    /// # Errors
    /// As for [`reset`](Executor::reset).
    fn sample_tasks<'a>(&'a mut self, chances: &'a [Chance]) -> LocalFuture<'a, Result<Vec<Vec<f64>>>>;

    /// Gives each group its task, `[D]` each, from the next reset on.
    ///
    /// # Errors
    /// If the numbers do not fit, or an environment refuses its task.
    fn set_tasks<'a>(&'a mut self, tasks: &'a [Vec<f64>]) -> LocalFuture<'a, Result<()>>;

    /// Starts an episode in every environment and returns the first observations, `[M · E · O]`.
    ///
    /// # Errors
    /// [`Error::Environment`] that names the environment which failed, panicked or broke its contract.
    fn reset<'a>(&'a mut self, keys: &'a [Key]) -> LocalFuture<'a, Result<Vec<f64>>>;

    /// Steps every environment once, with `actions: [M · E · A]`, and starts a new episode where one ended.
    ///
    /// # Errors
    /// As for [`reset`](Executor::reset).
    fn step<'a>(&'a mut self, actions: &'a [f64], keys: &'a [Key]) -> LocalFuture<'a, Result<Stepped>>;

    /// Saves the position of each group's environments in their episodes, for [`restore`](Executor::restore); none if
    /// an environment cannot [save](HostEnv::save) it. By default nothing is saved.
    ///
    /// # Errors
    /// If an environment fails.
    fn save(&self) -> LocalFuture<'_, Result<Option<Vec<Vec<u8>>>>> {
        Box::pin(async { Ok(None) })
    }

    /// Checks the saved episodes of one group, as far as that is possible without going back to them. Snapshots are
    /// held to it when they are read. By default everything passes.
    ///
    /// # Errors
    /// [`Error::Snapshot`] if [`save`](Executor::save) cannot have given these bytes.
    fn check_saved(&self, _group: &[u8]) -> Result<()> {
        Ok(())
    }

    /// Goes on with episodes that an executor like this one saved, one element per group.
    ///
    /// # Errors
    /// If environments cannot go back to them. By default they cannot.
    fn restore<'a>(&'a mut self, _groups: &'a [Vec<u8>]) -> LocalFuture<'a, Result<()>> {
        Box::pin(async { Err(Error::Program("the executor cannot go back to saved episodes".to_owned())) })
    }

    /// Counts the environments that failed and were replaced; 0 for executors that return each failure as an error.
    fn faults(&self) -> Faults {
        Faults::default()
    }
}

impl Fleet {
    /// Describes `tasks` groups of `envs_per_task` environments like `env`, with episodes of at most `horizon`
    /// steps (0: only its spec's time limit holds).
    ///
    /// # Errors
    /// [`Error::Config`] if there are none, [`Error::Environment`] if the spec cannot work.
    pub fn new(env: &dyn HostEnv, tasks: usize, envs_per_task: usize, horizon: usize) -> Result<Fleet> {
        Fleet::of(env.spec().clone(), env.info().to_vec(), tasks, envs_per_task, horizon)
    }

    /// Describes a fleet as [`new`](Fleet::new), from the environments' spec and the names of their infos.
    ///
    /// # Errors
    /// As [`new`](Fleet::new).
    pub fn of(spec: EnvSpec, info: Vec<String>, tasks: usize, envs_per_task: usize, horizon: usize) -> Result<Fleet> {
        for (key, value) in [("tasks", tasks), ("envs_per_task", envs_per_task)] {
            if value == 0 {
                return Err(Error::config(key, "0 leaves nothing to play; give at least 1"));
            }
        }
        // The size of an environment's state is unknown here, and taken as 1.
        if let Some(problem) = spec_problem(&spec, 1) {
            return Err(Error::Environment { name: spec.name, problem });
        }
        let horizon = if horizon == 0 { spec.horizon } else { horizon.min(spec.horizon) }.max(1);
        Ok(Fleet { spec, info, tasks, envs_per_task, horizon })
    }

    /// Checks that environment `number` has the spec and infos of this fleet.
    pub(super) fn expect_like(&self, env: &dyn HostEnv, number: usize) -> Result<()> {
        if *env.spec() == self.spec && *env.info() == self.info {
            return Ok(());
        }
        let problem = format!("number {number} has another spec or other info than number 0");
        Err(Error::Environment { name: self.spec.name.clone(), problem })
    }

    /// The number of these environments, and the most steps of their episodes.
    #[must_use]
    pub fn size(&self) -> FleetSize {
        FleetSize { tasks: self.tasks, envs_per_task: self.envs_per_task, horizon: self.horizon }
    }

    /// M · E, the number of environments.
    #[must_use]
    pub fn num_envs(&self) -> usize {
        self.tasks * self.envs_per_task
    }

    /// O, the length of an observation.
    #[must_use]
    pub fn observations(&self) -> usize {
        self.spec.observation.len()
    }

    /// A, the length of an action; 1 for a choice.
    #[must_use]
    pub fn actions(&self) -> usize {
        self.spec.action.dim()
    }

    /// Checks that `got` numbers are as many as `expected`; `what` names them in the error.
    ///
    /// # Errors
    /// [`Error::Program`] if these differ.
    pub fn expect(&self, what: &str, got: usize, expected: usize) -> Result<()> {
        if got == expected {
            return Ok(());
        }
        let Fleet { tasks, envs_per_task, .. } = self;
        Err(Error::Program(format!(
            "{what}: got {got}, expected {expected} for {tasks} tasks of {envs_per_task} environments each"
        )))
    }

    /// Checks that tasks fit.
    ///
    /// # Errors
    /// [`Error::Program`] if there are not M of D numbers each.
    pub fn expect_tasks(&self, tasks: &[Vec<f64>]) -> Result<()> {
        self.expect("tasks", tasks.len(), self.tasks)?;
        tasks.iter().try_for_each(|task| self.expect("numbers of a task", task.len(), self.spec.task.len()))
    }

    /// Checks that the arguments of a step fit.
    ///
    /// # Errors
    /// [`Error::Program`] if there are not M keys and M · E · A numbers.
    pub fn expect_step(&self, actions: &[f64], keys: &[Key]) -> Result<()> {
        self.expect("keys", keys.len(), self.tasks)?;
        self.expect("numbers of all actions", actions.len(), self.num_envs() * self.actions())
    }

    /// Checks first observations, as an executor must give them.
    ///
    /// # Errors
    /// [`Error::Program`] if there are not M · E · O numbers.
    pub fn expect_first(&self, observations: &[f64]) -> Result<()> {
        self.expect("numbers of all observations", observations.len(), self.num_envs() * self.observations())
    }

    /// Checks that the arrays of a step's outcome have the lengths that an executor must give them.
    ///
    /// # Errors
    /// [`Error::Program`] if an array has another length.
    pub fn expect_stepped(&self, stepped: &Stepped) -> Result<()> {
        let n = self.num_envs();
        self.expect_first(&stepped.observations)?;
        self.expect_first(&stepped.last_observations)?;
        self.expect("numbers of all infos", stepped.info.len(), n * self.info.len())?;
        for (what, got) in [
            ("rewards", stepped.rewards.len()),
            ("terminated", stepped.terminated.len()),
            ("truncated", stepped.truncated.len()),
            ("lengths", stepped.lengths.len()),
        ] {
            self.expect(what, got, n)?;
        }
        Ok(())
    }
}
