//! The environments of one task: time limit, automatic reset, and errors that say where they come from.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::{Chance, Fleet, HostEnv, Stepped, Transition};
use crate::rng::Key;
use crate::{Error, Result};

/// An environment and how far its episode is.
struct Member {
    env: Box<dyn HostEnv>,
    /// Steps of the running episode; none before the first reset and after an error.
    steps: Option<usize>,
}

/// E environments that play the same task.
pub(super) struct Group {
    /// Number of the task.
    task: usize,
    members: Vec<Member>,
    observations: usize,
    actions: usize,
    infos: usize,
    horizon: usize,
}

/// What a failing environment was doing.
struct Place<'a> {
    task: usize,
    copy: usize,
    number: usize,
    doing: &'a str,
}

impl Place<'_> {
    fn error(&self, name: &str, problem: &str) -> Error {
        let Place { task, copy, number, doing } = self;
        let problem = format!("number {number} (copy {copy} of task {task}), {doing}: {problem}");
        Error::Environment { name: name.to_owned(), problem }
    }
}

/// The groups of a fleet, with environments that `make` gives for each number.
pub(super) fn groups(
    tasks: usize,
    envs_per_task: usize,
    horizon: usize,
    make: &mut dyn FnMut(usize) -> Result<Box<dyn HostEnv>>,
) -> Result<(Fleet, Vec<Group>)> {
    let mut envs = vec![make(0)?];
    let fleet = Fleet::new(&*envs[0], tasks, envs_per_task, horizon)?;
    for number in 1..fleet.num_envs() {
        let env = make(number)?;
        if *env.spec() != fleet.spec || *env.info() != fleet.info {
            let problem = format!("number {number} has another spec or other info than number 0");
            return Err(Error::Environment { name: fleet.spec.name, problem });
        }
        envs.push(env);
    }
    let mut envs = envs.into_iter();
    let group = |task| Group {
        task,
        members: envs.by_ref().take(envs_per_task).map(|env| Member { env, steps: None }).collect(),
        observations: fleet.observations(),
        actions: fleet.actions(),
        infos: fleet.info.len(),
        horizon: fleet.horizon,
    };
    let groups = (0..tasks).map(group).collect();
    Ok((fleet, groups))
}

/// What a panic said.
fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|s| (*s).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no message".to_owned())
}

impl Member {
    /// A call of the environment; its error or panic says which one it was.
    fn call<T>(&mut self, at: &Place<'_>, f: impl FnOnce(&mut dyn HostEnv) -> Result<T>) -> Result<T> {
        let result = catch_unwind(AssertUnwindSafe(|| f(&mut *self.env)));
        let problem = match result {
            Ok(Ok(value)) => return Ok(value),
            Ok(Err(Error::Environment { problem, .. })) => problem,
            Ok(Err(other)) => other.to_string(),
            Err(panic) => format!("panicked: {}", message(&*panic)),
        };
        self.steps = None;
        Err(at.error(&self.env.spec().name, &problem))
    }

    /// Numbers that must be so many, all finite.
    fn expect(&mut self, at: &Place<'_>, what: &str, numbers: &[f64], expected: usize) -> Result<()> {
        let problem = if numbers.len() != expected {
            format!("{what} has {} numbers, expected {expected}", numbers.len())
        } else if let Some(number) = numbers.iter().find(|x| !x.is_finite()) {
            format!("{what} holds {number}")
        } else {
            return Ok(());
        };
        self.steps = None;
        Err(at.error(&self.env.spec().name, &problem))
    }
}

impl Group {
    fn place<'a>(&self, copy: usize, doing: &'a str) -> Place<'a> {
        Place { task: self.task, copy, number: self.task * self.members.len() + copy, doing }
    }

    /// Parameters of tasks, `[D]` each, by the first environment.
    pub fn sample_tasks(&mut self, chances: &[Chance]) -> Result<Vec<Vec<f64>>> {
        let at = self.place(0, "sample_task");
        let draw = |chance: &Chance| {
            let width = self.members[0].env.spec().task.len();
            let task = self.members[0].call(&at, |env| env.sample_task(*chance))?;
            self.members[0].expect(&at, "the task", &task, width)?;
            Ok(task)
        };
        chances.iter().map(draw).collect()
    }

    pub fn set_task(&mut self, task: &[f64]) -> Result<()> {
        (0..self.members.len()).try_for_each(|copy| {
            let at = self.place(copy, "set_task");
            self.members[copy].call(&at, |env| env.set_task(task))
        })
    }

    /// First observations, `[E · O]`.
    pub fn reset(&mut self, key: Key) -> Result<Vec<f64>> {
        let mut all = Vec::with_capacity(self.members.len() * self.observations);
        for copy in 0..self.members.len() {
            all.extend(self.reset_one(copy, key)?);
        }
        Ok(all)
    }

    fn reset_one(&mut self, copy: usize, key: Key) -> Result<Vec<f64>> {
        let at = self.place(copy, "reset");
        let member = &mut self.members[copy];
        let first = member.call(&at, |env| env.reset(Chance { key, element: copy as u32 }))?;
        member.expect(&at, "the observation", &first, self.observations)?;
        member.steps = Some(0);
        Ok(first)
    }

    /// One step with actions `[E · A]`.
    pub fn step(&mut self, actions: &[f64], key: Key) -> Result<Stepped> {
        let mut all = Stepped::default();
        for (copy, action) in actions.chunks(self.actions).enumerate() {
            let at = self.place(copy, "step");
            let member = &mut self.members[copy];
            let Some(steps) = member.steps else {
                return Err(at.error(&member.env.spec().name, "no episode is running; reset first"));
            };
            let chance = Chance { key, element: copy as u32 };
            let Transition { observation, reward, terminated, truncated, info } =
                member.call(&at, |env| env.step(action, chance))?;
            member.expect(&at, "the observation", &observation, self.observations)?;
            member.expect(&at, "the reward", &[reward], 1)?;
            member.expect(&at, "the info", &info, self.infos)?;
            let steps = steps + 1;
            member.steps = Some(steps);
            let truncated = !terminated && (truncated || steps >= self.horizon);
            let next = if terminated || truncated { Some(self.reset_one(copy, key)?) } else { None };
            all.observations.extend(next.as_ref().unwrap_or(&observation));
            all.last_observations.extend(observation);
            all.rewards.push(reward);
            all.terminated.push(terminated);
            all.truncated.push(truncated);
            all.lengths.push(steps);
            all.info.extend(info);
        }
        Ok(all)
    }
}
