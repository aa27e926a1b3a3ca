//! Environments in processes of Python.

use std::rc::Rc;
use std::time::Duration;

use quickstudy_core::backend::LocalFuture;
use quickstudy_core::env::EnvSpec;
use quickstudy_core::host::{Chance, Executor, FaultKind, Faults, Fleet, FleetSize, Stepped};
use quickstudy_core::rng::Key;
use quickstudy_core::{Error, Result};

use crate::deck::Deck;
use crate::failure::Failure;
use crate::fault_log::FaultLog;
use crate::member::{Episodes, Member, ended};
use crate::message::{HEAD, Message, kind};
use crate::outcome::{End, Outcome};
use crate::pool::{Ask, Pool};
use crate::spec::Described;
use crate::worker::Worker;

/// Bytes of a picture at most.
const LARGEST_PICTURE: usize = 1 << 28;

/// An executor whose environments are in processes of Python, an equal number in each. A step is one message to each
/// process.
///
/// Every reset is seeded from the run's keys, so episodes are the same for any number of processes, as far as
/// environments draw from the generators that they are given. A process that dies, hangs or sends nonsense is replaced
/// by another one, and an environment that raises by another one in its process. The step that failed counts as cut off
/// where it began, with a reward of 0; [`faults`](Executor::faults) counts them. Four failures of a process, or of an
/// environment, with no step in between are an error, and so are more than a hundred that are more than one in twenty
/// steps.
pub struct Workers {
    pool: Rc<Pool>,
    fleet: Fleet,
    members: Vec<Member>,
    episodes: Episodes,
    /// The tasks that are drawn; none where there are no tasks.
    deck: Option<Deck>,
    tasks: Option<Vec<Vec<f64>>>,
    log: FaultLog,
    limit: Duration,
    render: bool,
    message: Message,
}

/// The use that is made of an executor.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Use {
    /// True if its tasks are those held out.
    pub held_out: bool,
    /// True if its environments are drawn.
    pub render: bool,
}

impl Workers {
    /// Starts the workers of a fleet, or takes those that wait.
    pub(crate) fn new(pool: &Rc<Pool>, spec: &EnvSpec, size: FleetSize, used: Use) -> Result<Workers> {
        let Use { held_out, render } = used;
        pool.prepare()?;
        let options = &pool.recipe().options;
        let FleetSize { tasks, envs_per_task, horizon } = size;
        let fleet = Fleet::of(spec.clone(), Vec::new(), tasks, envs_per_task, horizon)?;
        let envs = fleet.num_envs();
        let cores = || std::thread::available_parallelism().map_or(1, usize::from);
        let count = options.workers.unwrap_or_else(cores).clamp(1, envs);
        let mut workers = Workers {
            pool: Rc::clone(pool),
            episodes: Episodes { seen: Vec::new(), lengths: vec![0; envs], failures: vec![0; envs] },
            fleet,
            members: Vec::with_capacity(count),
            deck: None,
            tasks: None,
            log: FaultLog::new(pool),
            limit: options.time_limit,
            render,
            message: Message::default(),
        };
        let mut asked = Vec::with_capacity(count);
        for number in 0..count {
            let first = envs * number / count;
            let member = Member { worker: None, first, count: envs * (number + 1) / count - first, failures: 0 };
            asked.push(pool.asked(workers.ask(&member)));
            workers.members.push(member);
        }
        for (number, asked) in asked.into_iter().enumerate() {
            let described = workers.made(number, asked)?;
            if render && !described.pictures {
                return Err(pool.recipe().error("it cannot be drawn: its render modes have no rgb_array"));
            }
            workers.deck = described.deck(held_out);
            workers.fleet.info = described.info();
            workers.fleet.spec = described.spec(&spec.name);
        }
        Ok(workers)
    }

    /// Waits until a worker has made its environments. One that fails is replaced, unless none has ever made them.
    fn made(&mut self, number: usize, mut asked: Result<Worker>) -> Result<Described> {
        loop {
            let described = asked.and_then(|mut worker| {
                let described = self.pool.described(&mut worker)?;
                self.pool.show(&worker);
                Ok((worker, described))
            });
            let error = match described {
                Ok((worker, described)) => {
                    self.members[number].worker = Some(worker);
                    return Ok(described);
                }
                Err(error) if self.is_stopped() || error == Error::Interrupted => return Err(error),
                Err(error) if !self.pool.is_proved() => return Err(error),
                Err(error) => error,
            };
            let member = &mut self.members[number];
            member.failures += 1;
            let (failures, which) = (member.failures, member.which());
            self.log.note(failures, &which, &Failure::new(FaultKind::Died, error.to_string()))?;
            asked = self.pool.asked(self.ask(&self.members[number]));
        }
    }

    /// True if nothing is to be waited for any more.
    fn is_stopped(&self) -> bool {
        (self.pool.recipe().options.stop)()
    }

    fn ask(&self, member: &Member) -> Ask {
        Ask { count: member.count, horizon: self.fleet.horizon, first: member.first, render: self.render }
    }

    /// The seeds of the episodes that environments begin with these keys, one key per group: other ones for each
    /// attempt, since an episode may fail by its seed.
    fn seeds(fleet: &Fleet, first: usize, count: usize, keys: &[Key], attempt: u32) -> impl Iterator<Item = u32> {
        let other = attempt.wrapping_mul(0x1f83_d9ab);
        let seed = move |number: usize| {
            let (task, copy) = (number / fleet.envs_per_task, number % fleet.envs_per_task);
            // Older environments hand seeds on to generators that take 31 bits.
            (Chance { key: keys[task], element: copy as u32 }.seed() as u32).wrapping_add(other) & 0x7fff_ffff
        };
        (first..first + count).map(seed)
    }

    /// The tasks of a member's environments, one behind the other.
    fn tasks_of(&self, member: &Member) -> Option<Vec<f64>> {
        let (tasks, each) = (self.tasks.as_ref()?, self.fleet.envs_per_task);
        Some((member.first..member.first + member.count).flat_map(|number| tasks[number / each].clone()).collect())
    }

    /// Makes a worker in an empty place, and gives it its tasks.
    fn fill(&mut self, number: usize) -> std::result::Result<(), Failure> {
        let said = |error: Error| match error {
            Error::Interrupted => Failure::stopped(),
            other => Failure::new(FaultKind::Died, other.to_string()),
        };
        // An import of some seconds says nothing of the steps that the others make meanwhile.
        self.members.iter_mut().filter_map(|member| member.worker.as_mut()).for_each(Worker::leave_untimed);
        let mut worker = self.pool.asked(self.ask(&self.members[number])).map_err(said)?;
        self.pool.described(&mut worker).map_err(said)?;
        if let Some(tasks) = self.tasks_of(&self.members[number]) {
            worker.send(self.message.begin(kind::SET_TASKS).numbers(&tasks).end(), self.limit)?;
            worker.receive(kind::SET_TASKS, HEAD, self.pool.starting())?;
        }
        self.members[number].worker = Some(worker);
        Ok(())
    }

    /// Asks a worker for new episodes; [`take_first`](Workers::take_first) waits for its answer.
    fn ask_first(&mut self, number: usize, keys: &[Key]) -> std::result::Result<(), Failure> {
        let Member { worker, first, count, failures } = &mut self.members[number];
        let seeds = Self::seeds(&self.fleet, *first, *count, keys, *failures);
        let message = self.message.begin(kind::RESET).words(seeds).end();
        worker.as_mut().ok_or_else(ended)?.send(message, self.limit)
    }

    /// Waits for the first observations of a worker's new episodes.
    fn take_first(&mut self, number: usize) -> std::result::Result<Vec<f64>, Failure> {
        let Member { worker, first, count, .. } = &mut self.members[number];
        let (first, worker) = (*first, worker.as_mut().ok_or_else(ended)?);
        let width = self.fleet.observations();
        let message = worker.receive(kind::OUTCOME, Outcome::longest(*count, width), self.limit)?;
        let outcome = Outcome::read(message, *count, width)?;
        let (seen, raised) = (outcome.observations().collect(), outcome.raised);
        self.pool.show(worker);
        for raised in raised {
            let said = |error: Error| Failure::new(FaultKind::Failed, error.to_string());
            self.count(first + raised.env.unwrap_or(0), &raised.failure()).map_err(said)?;
        }
        Ok(seen)
    }

    /// Begins new episodes in a member after its worker failed, by new workers until one does.
    fn replace(&mut self, number: usize, mut failure: Failure, keys: &[Key]) -> Result<Vec<f64>> {
        loop {
            let member = &mut self.members[number];
            if let Some(worker) = member.worker.take() {
                self.pool.show(&worker);
            }
            member.failures += 1;
            let (failures, which) = (member.failures, member.which());
            if failure.stopped || self.is_stopped() {
                return Err(Error::Interrupted);
            }
            self.log.note(failures, &which, &failure)?;
            let begun = self.fill(number).and_then(|()| self.ask_first(number, keys));
            match begun.and_then(|()| self.take_first(number)) {
                Ok(seen) => return Ok(seen),
                Err(again) => failure = again,
            }
        }
    }

    /// Counts a failure of an environment that its worker has replaced.
    fn count(&mut self, env: usize, failure: &Failure) -> Result<()> {
        self.episodes.failures[env] += 1;
        self.log.note(self.episodes.failures[env], &format!("number {env}"), failure)
    }

    /// Gives up what workers are at: they may be in the middle of a message.
    fn abandon(&mut self) {
        self.episodes.seen.clear();
        for member in &mut self.members {
            if let Some(worker) = member.worker.take() {
                self.pool.show(&worker);
            }
        }
    }

    fn reset_all(&mut self, keys: &[Key]) -> Result<Vec<f64>> {
        self.fleet.expect("keys", keys.len(), self.fleet.tasks)?;
        let mut all = Vec::with_capacity(self.fleet.num_envs() * self.fleet.observations());
        // All of them are asked before the first is waited for.
        let members = self.members.len();
        let ask = |number: usize| {
            if self.members[number].worker.is_none() {
                self.fill(number)?;
            }
            self.ask_first(number, keys)
        };
        let asked: Vec<_> = (0..members).map(ask).collect();
        for (number, asked) in asked.into_iter().enumerate() {
            all.extend(match asked.and_then(|()| self.take_first(number)) {
                Ok(first) => first,
                Err(failure) => self.replace(number, failure, keys)?,
            });
        }
        self.episodes.lengths.fill(0);
        self.episodes.seen.clone_from(&all);
        Ok(all)
    }

    fn step_all(&mut self, actions: &[f64], keys: &[Key]) -> Result<Stepped> {
        self.fleet.expect_step(actions, keys)?;
        if self.episodes.seen.is_empty() {
            return Err(Error::Program("no episode is running; reset first".to_owned()));
        }
        let width = self.fleet.actions();
        let mut sent = Vec::with_capacity(self.members.len());
        for Member { worker, first, count, .. } in &mut self.members {
            let seeds = Self::seeds(&self.fleet, *first, *count, keys, 0);
            let own = &actions[*first * width..(*first + *count) * width];
            let message = self.message.begin(kind::STEP).words(seeds).numbers(own).end();
            sent.push(match worker {
                Some(worker) => worker.send(message, self.limit),
                None => Err(ended()),
            });
        }
        self.log.add_steps(self.fleet.num_envs());
        let mut stepped = Stepped::default();
        for (number, sent) in sent.into_iter().enumerate() {
            match sent.and_then(|()| self.take(number, &mut stepped)) {
                Ok(failed) => {
                    for (env, failure) in failed {
                        self.count(env, &failure)?;
                    }
                }
                Err(failure) => {
                    let first = self.replace(number, failure, keys)?;
                    self.cut_off(number, &first, &mut stepped);
                }
            }
        }
        self.episodes.seen.clone_from(&stepped.observations);
        Ok(stepped)
    }

    /// Waits for a worker's answer to a step and appends it to `all`. Returns the environments that failed, each with
    /// its failure.
    fn take(&mut self, number: usize, all: &mut Stepped) -> std::result::Result<Vec<(usize, Failure)>, Failure> {
        let Workers { members, fleet, episodes, limit, pool, .. } = self;
        let Member { worker, first, count, failures } = &mut members[number];
        let worker = worker.as_mut().ok_or_else(ended)?;
        let (o, n) = (fleet.observations(), *count);
        let outcome = Outcome::read(worker.receive(kind::OUTCOME, Outcome::longest(n, o), *limit)?, n, o)?;
        *failures = 0;
        let begin = all.observations.len();
        all.rewards.extend(outcome.rewards());
        all.observations.extend(outcome.observations());
        if !fleet.info.is_empty() {
            all.info.extend(outcome.success());
        }
        let mut ended = 0;
        for (copy, end) in outcome.ends().enumerate() {
            let env = *first + copy;
            match end {
                End::None => {
                    let own = begin + copy * o;
                    all.last_observations.extend_from_slice(&all.observations[own..own + o]);
                }
                End::Failed => all.last_observations.extend_from_slice(&episodes.seen[env * o..(env + 1) * o]),
                End::Terminated | End::Truncated => all.last_observations.extend(outcome.last(ended)),
            }
            ended += usize::from(end != End::None);
            all.terminated.push(end == End::Terminated);
            all.truncated.push(matches!(end, End::Truncated | End::Failed));
            let length = &mut episodes.lengths[env];
            *length += 1;
            all.lengths.push(*length);
            if end != End::None {
                *length = 0;
            }
            if end != End::Failed {
                episodes.failures[env] = 0;
            }
        }
        let failed = outcome.raised.iter().map(|raised| (*first + raised.env.unwrap_or(0), raised.failure()));
        let failed = failed.collect();
        pool.show(worker);
        Ok(failed)
    }

    /// Appends steps that count as cut off where they began, of a worker that failed. `first` has the observations of
    /// the episodes that followed.
    fn cut_off(&mut self, number: usize, first: &[f64], all: &mut Stepped) {
        let (member, o) = (&self.members[number], self.fleet.observations());
        let envs = member.first..member.first + member.count;
        all.observations.extend_from_slice(first);
        all.last_observations.extend_from_slice(&self.episodes.seen[envs.start * o..envs.end * o]);
        for env in envs {
            all.rewards.push(0.0);
            all.terminated.push(false);
            all.truncated.push(true);
            all.lengths.push(self.episodes.lengths[env] + 1);
            all.info.extend(std::iter::repeat_n(0.0, self.fleet.info.len()));
            self.episodes.lengths[env] = 0;
        }
    }

    fn set_all_tasks(&mut self, tasks: &[Vec<f64>]) -> Result<()> {
        self.fleet.expect_tasks(tasks)?;
        if self.fleet.spec.task.is_empty() {
            return Ok(());
        }
        self.tasks = Some(tasks.to_vec());
        // The next reset makes workers, and gives them their tasks, where there are none.
        let (limit, starting) = (self.limit, self.pool.starting());
        let mut told = Vec::with_capacity(self.members.len());
        for number in 0..self.members.len() {
            let own = self.tasks_of(&self.members[number]).unwrap_or_default();
            let message = self.message.begin(kind::SET_TASKS).numbers(&own).end();
            told.push(self.members[number].worker.as_mut().map(|worker| worker.send(message, limit)));
        }
        for (number, told) in told.into_iter().enumerate() {
            let (Some(told), Some(worker)) = (told, &mut self.members[number].worker) else { continue };
            let taken = told.and_then(|()| Ok(worker.receive(kind::SET_TASKS, HEAD, starting).map(drop)?));
            if let Err(failure) = taken {
                self.members[number].worker = None;
                self.log.note(0, &format!("worker {number}"), &failure)?;
            }
        }
        Ok(())
    }

    /// A picture of an environment: that after its last step, also where an episode ended with it.
    pub(crate) fn picture(&mut self, env: usize) -> Result<(usize, usize, Vec<u8>)> {
        self.drawn(env).inspect_err(|_| self.abandon())
    }

    fn drawn(&mut self, env: usize) -> Result<(usize, usize, Vec<u8>)> {
        let problem =
            |failure: Failure| Error::Environment { name: self.fleet.spec.name.clone(), problem: failure.problem };
        let member = self.members.iter_mut().find(|member| (member.first..member.first + member.count).contains(&env));
        let worker = member.and_then(|member| Some((member.first, member.worker.as_mut()?)));
        let Some((first, worker)) = worker else { return Err(problem(Failure::garbled("no picture"))) };
        let mut message = Message::default();
        let sent =
            worker.send(message.begin(kind::RENDER).words(std::iter::once((env - first) as u32)).end(), self.limit);
        sent.map_err(problem)?;
        let answer = worker
            .receive(kind::RENDER, LARGEST_PICTURE, self.pool.starting())
            .map_err(|wrong| problem(wrong.into()))?;
        let word =
            |at: usize| answer.get(at..at + 4).and_then(|b| b.first_chunk()).map_or(0, |b| u32::from_le_bytes(*b));
        let (height, width) = (word(HEAD) as usize, word(HEAD + 4) as usize);
        let pixels = answer.get(HEAD + 8..).unwrap_or_default();
        if height == 0 || width == 0 || pixels.len() != 3 * height * width {
            return Err(problem(Failure::garbled("a picture of another size than it says")));
        }
        Ok((height, width, pixels.to_vec()))
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        self.log.end();
        for worker in self.members.drain(..).filter_map(|member| member.worker) {
            self.pool.show(&worker);
            self.pool.give_back(worker);
        }
    }
}

impl Executor for Workers {
    fn fleet(&self) -> &Fleet {
        &self.fleet
    }

    fn sample_tasks<'a>(&'a mut self, chances: &'a [Chance]) -> LocalFuture<'a, Result<Vec<Vec<f64>>>> {
        let dealt = self.deck.as_ref().map_or_else(|| vec![Vec::new(); chances.len()], |deck| deck.deal(chances));
        Box::pin(async move { Ok(dealt) })
    }

    fn set_tasks<'a>(&'a mut self, tasks: &'a [Vec<f64>]) -> LocalFuture<'a, Result<()>> {
        Box::pin(async move { self.set_all_tasks(tasks) })
    }

    fn reset<'a>(&'a mut self, keys: &'a [Key]) -> LocalFuture<'a, Result<Vec<f64>>> {
        Box::pin(async move { self.reset_all(keys).inspect_err(|_| self.abandon()) })
    }

    fn step<'a>(&'a mut self, actions: &'a [f64], keys: &'a [Key]) -> LocalFuture<'a, Result<Stepped>> {
        Box::pin(async move { self.step_all(actions, keys).inspect_err(|_| self.abandon()) })
    }

    fn faults(&self) -> Faults {
        self.log.faults().clone()
    }
}
