//! A slot holds one environment of an executor, plays its episodes with their time limit and automatic reset, and
//! gets another environment when it fails.

use super::call::{Answer, CallResult, EnvCall, caught};
use super::episode_state::EpisodeState;
use super::faults::{Fault, FaultKind, Faults, Tolerance};
use super::{Chance, Fleet, HostEnv, Stepped, Transition};
use crate::rng::Key;
use crate::{Error, Result};

/// A command to all environments of an executor.
#[derive(Debug)]
pub(super) enum Command {
    /// Draw one task per chance; the first environment draws for all.
    SampleTasks(Vec<Chance>),
    /// Set tasks, one per group.
    SetTasks(Vec<Vec<f64>>),
    /// Begin new episodes, with one key per group.
    Reset(Vec<Key>),
    /// Make a step, with the actions of all environments and one key per group.
    Step(Vec<f64>, Vec<Key>),
}

/// A slot of an executor. It carries out each command call by call: [`next`](Slot::next) says which call is due, and
/// [`accept`](Slot::accept) takes its outcome.
pub(super) struct Slot {
    number: usize,
    /// The environment; none during a call, and after a failure until the next call makes another.
    env: Option<Box<dyn HostEnv>>,
    /// True while the environment is being called.
    away: bool,
    /// Steps of the running episode; none before the first reset and after an error.
    steps: Option<usize>,
    /// The newest observation of the running episode.
    seen: Vec<f64>,
    /// The last task that the environment accepted.
    task: Option<Vec<f64>>,
    /// True while a new environment has yet to get that task.
    untold: bool,
    /// Failures since the last step that was made.
    failures: u32,
    made: CommandResults,
}

/// Results of the running command so far.
#[derive(Default)]
struct CommandResults {
    told: bool,
    tasks: Vec<Vec<f64>>,
    step: Option<MadeStep>,
    first: Option<Vec<f64>>,
}

/// A step that was made, and the length of its episode so far.
struct MadeStep {
    transition: Transition,
    length: usize,
}

/// The failures that are tolerated, and those that have occurred.
#[derive(Default)]
pub(super) struct Trouble {
    pub tolerance: Option<Tolerance>,
    pub faults: Faults,
}

/// Makes a fleet's slots, each with an environment of `make`.
pub(super) fn slots(
    tasks: usize,
    envs_per_task: usize,
    horizon: usize,
    make: &mut dyn FnMut(usize) -> Result<Box<dyn HostEnv>>,
) -> Result<(Fleet, Vec<Slot>)> {
    let mut envs = vec![make(0)?];
    let fleet = Fleet::new(&*envs[0], tasks, envs_per_task, horizon)?;
    for number in 1..fleet.num_envs() {
        let env = make(number)?;
        fleet.expect_like(&*env, number)?;
        envs.push(env);
    }
    let slot = |(number, env)| Slot {
        number,
        env: Some(env),
        away: false,
        steps: None,
        seen: Vec::new(),
        task: None,
        untold: false,
        failures: 0,
        made: CommandResults::default(),
    };
    Ok((fleet, envs.into_iter().enumerate().map(slot).collect()))
}

impl Slot {
    /// The environment's number.
    #[cfg(feature = "parallel")]
    pub fn number(&self) -> usize {
        self.number
    }

    /// Prepares for a new command.
    pub fn begin(&mut self) {
        self.made = CommandResults::default();
    }

    /// The call of the running command that is due; none when the command is carried out.
    pub fn next<'a>(&self, command: &'a Command, fleet: &Fleet) -> Result<Option<EnvCall<'a>>> {
        let (task, copy) = (self.number / fleet.envs_per_task, self.number % fleet.envs_per_task);
        let chance = |keys: &[Key]| Chance { key: keys[task], element: copy as u32 };
        if let (Command::Step(..), None, None) = (command, self.steps, &self.made.step) {
            return Err(self.error(fleet, "step", "no episode is running; reset first"));
        }
        if self.env.is_none() && !self.away {
            return Ok(Some(EnvCall::Make));
        }
        if let (true, Some(task)) = (self.untold, &self.task) {
            return Ok(Some(EnvCall::SetTask(task.clone())));
        }
        Ok(match command {
            Command::SampleTasks(chances) => chances.get(self.made.tasks.len()).copied().map(EnvCall::SampleTask),
            Command::SetTasks(tasks) => (!self.made.told).then(|| EnvCall::SetTask(tasks[task].clone())),
            Command::Reset(keys) => self.made.first.is_none().then(|| EnvCall::Reset(chance(keys))),
            Command::Step(actions, keys) => match &self.made.step {
                None => {
                    let width = fleet.actions();
                    Some(EnvCall::Step(&actions[self.number * width..(self.number + 1) * width], chance(keys)))
                }
                Some(step) if step.ended() && self.made.first.is_none() => Some(EnvCall::Reset(chance(keys))),
                Some(_) => None,
            },
        })
    }

    /// Takes the environment out for a call; none if there is none.
    pub fn lend(&mut self) -> Option<Box<dyn HostEnv>> {
        self.away = self.env.is_some();
        self.env.take()
    }

    /// Takes in the outcome of a call of `env`. An environment that is left in `env` afterwards is to be dropped.
    ///
    /// # Errors
    /// If the call failed, and failures are not tolerated or were too many in a row.
    pub fn accept(
        &mut self,
        call: &EnvCall<'_>,
        env: &mut Option<Box<dyn HostEnv>>,
        outcome: CallResult<Answer>,
        fleet: &Fleet,
        trouble: &mut Trouble,
    ) -> Result<()> {
        self.away = false;
        let answer = match outcome {
            Ok(answer) => answer,
            Err(fault) => {
                let refused = match call {
                    // Environments may refuse a task, and refuse to draw tasks.
                    EnvCall::SetTask(_) => fault.kind == FaultKind::Failed && !self.untold,
                    EnvCall::SampleTask(_) => fault.kind == FaultKind::Failed,
                    _ => false,
                };
                if refused || trouble.tolerance.is_none() {
                    self.env = env.take();
                    self.steps = None;
                    return Err(self.error(fleet, call.doing(), &fault.problem));
                }
                return self.fail(call, fault, fleet, trouble);
            }
        };
        self.env = env.take();
        match (call, answer) {
            (EnvCall::SetTask(task), _) => {
                self.task = Some(task.clone());
                (self.made.told, self.untold) = (true, false);
            }
            (EnvCall::SampleTask(_), Answer::Numbers(task)) => self.made.tasks.push(task),
            (EnvCall::Reset(_), Answer::Numbers(first)) => {
                self.steps = Some(0);
                self.seen.clone_from(&first);
                self.made.first = Some(first);
            }
            (EnvCall::Step(..), Answer::Transition(mut transition)) => {
                let length = self.steps.unwrap_or(0) + 1;
                transition.truncated = !transition.terminated && (transition.truncated || length >= fleet.horizon);
                self.steps = Some(length);
                self.seen.clone_from(&transition.observation);
                self.failures = 0;
                self.made.step = Some(MadeStep { transition, length });
            }
            _ => {}
        }
        Ok(())
    }

    /// Counts a failed call, and lets another environment take the place.
    ///
    /// # Errors
    /// If failures are not tolerated or were too many in a row.
    pub fn fail(&mut self, call: &EnvCall<'_>, fault: Fault, fleet: &Fleet, trouble: &mut Trouble) -> Result<()> {
        let error = self.error(fleet, call.doing(), &fault.problem);
        trouble.faults.count(fault.kind, error.clone());
        let steps = self.steps.take();
        (self.away, self.untold) = (false, self.task.is_some());
        self.failures += 1;
        if self.failures > trouble.tolerance.map_or(0, |tolerance| tolerance.in_a_row) {
            self.failures = 0;
            return Err(error);
        }
        if let EnvCall::Step(..) = call {
            let transition = Transition {
                observation: self.seen.clone(),
                truncated: true,
                info: vec![0.0; fleet.info.len()],
                ..Transition::default()
            };
            self.made.step = Some(MadeStep { transition, length: steps.unwrap_or(0) + 1 });
        }
        Ok(())
    }

    fn error(&self, fleet: &Fleet, doing: &str, problem: &str) -> Error {
        let (number, task, copy) = (self.number, self.number / fleet.envs_per_task, self.number % fleet.envs_per_task);
        let problem = format!("number {number} (copy {copy} of task {task}), {doing}: {problem}");
        Error::Environment { name: fleet.spec.name.clone(), problem }
    }

    /// Carries out a command on the caller's thread; the first failure is an error.
    pub fn play(&mut self, command: &Command, fleet: &Fleet) -> Result<()> {
        self.begin();
        while let Some(call) = self.next(command, fleet)? {
            let mut env = self.lend();
            let outcome = call.run(&mut env, self.number, fleet, None);
            self.accept(&call, &mut env, outcome, fleet, &mut Trouble::default())?;
        }
        Ok(())
    }

    /// Saves the environment's position in its episode; none if it cannot be saved.
    pub fn save(&self, fleet: &Fleet) -> Result<Option<EpisodeState>> {
        let Some(env) = self.env.as_deref().filter(|_| !self.untold) else { return Ok(None) };
        let saved = caught(|| Ok(env.save())).map_err(|fault| self.error(fleet, "save", &fault.problem))?;
        let steps = self.steps.map(|steps| steps as u64);
        Ok(saved.map(|env| EpisodeState { steps, seen: self.seen.clone(), task: self.task.clone(), env }))
    }

    /// Goes on from a position that was saved.
    pub fn restore(&mut self, state: EpisodeState, fleet: &Fleet) -> Result<()> {
        let restored = match self.env.as_deref_mut() {
            Some(env) => caught(|| env.restore(&state.env)),
            None => Ok(()),
        };
        restored.map_err(|fault| self.error(fleet, "restore", &fault.problem))?;
        self.steps = state.steps.map(|steps| steps as usize);
        (self.seen, self.task, self.untold) = (state.seen, state.task, false);
        Ok(())
    }

    /// Takes the tasks that were drawn.
    pub fn take_tasks(&mut self) -> Vec<Vec<f64>> {
        std::mem::take(&mut self.made.tasks)
    }

    /// Appends the results of a reset or of a step to those of other environments.
    pub fn collect(&mut self, all: &mut Stepped) {
        let CommandResults { step, first, .. } = std::mem::take(&mut self.made);
        let Some(MadeStep { transition, length }) = step else {
            all.observations.extend(first.unwrap_or_default());
            return;
        };
        let Transition { observation, reward, terminated, truncated, info } = transition;
        all.observations.extend(first.as_ref().unwrap_or(&observation));
        all.last_observations.extend(observation);
        all.rewards.push(reward);
        all.terminated.push(terminated);
        all.truncated.push(truncated);
        all.lengths.push(length);
        all.info.extend(info);
    }
}

impl MadeStep {
    fn ended(&self) -> bool {
        self.transition.terminated || self.transition.truncated
    }
}
