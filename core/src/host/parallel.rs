//! Groups of environments on threads of their own.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use super::group::{Group, groups};
use super::{Chance, Executor, Fleet, HostEnv, Stepped};
use crate::backend::LocalFuture;
use crate::rng::Key;
use crate::{Error, Result};

/// What a thread is to do with all of its groups.
enum Command {
    SampleTasks(Vec<Chance>),
    SetTasks(Vec<Vec<f64>>),
    Reset(Vec<Key>),
    Step(Vec<f64>, Vec<Key>),
}

/// What came of it; only observations after a reset, tasks in their place where these were drawn, nothing after new tasks.
type Answer = Result<Stepped>;

struct Worker {
    /// Number of its groups.
    groups: usize,
    commands: Option<Sender<Command>>,
    answers: Receiver<Answer>,
    thread: Option<JoinHandle<()>>,
}

/// Steps environments on threads, whole tasks each: the same trajectories as [`IterativeExecutor`](super::IterativeExecutor).
///
/// Worth it where the steps of a task take longer than waking a thread does.
pub struct ParallelExecutor {
    fleet: Fleet,
    workers: Vec<Worker>,
}

impl ParallelExecutor {
    /// As [`IterativeExecutor::new`](super::IterativeExecutor::new), on `threads` threads (0: one per task).
    ///
    /// # Errors
    /// The same, or if a thread cannot be started.
    pub fn new(
        tasks: usize,
        envs_per_task: usize,
        horizon: usize,
        threads: usize,
        mut make: impl FnMut(usize) -> Result<Box<dyn HostEnv>>,
    ) -> Result<ParallelExecutor> {
        let (fleet, mut groups) = groups(tasks, envs_per_task, horizon, &mut make)?;
        let threads = if threads == 0 { tasks } else { threads.min(tasks) };
        let actions = fleet.envs_per_task * fleet.actions();
        let mut workers = Vec::with_capacity(threads);
        for thread in 0..threads {
            let (first, last) = (tasks * thread / threads, tasks * (thread + 1) / threads);
            let own: Vec<Group> = groups.drain(..last - first).collect();
            workers.push(Worker::start(own, actions)?);
        }
        Ok(ParallelExecutor { fleet, workers })
    }

    /// Send all workers their command, then take their answers in order: the first error is that of the lowest number.
    fn all(&mut self, mut command: impl FnMut(std::ops::Range<usize>) -> Command) -> Result<Stepped> {
        let mut first = 0;
        for worker in &self.workers {
            let own = first..first + worker.groups;
            first = own.end;
            worker.send(command(own))?;
        }
        let answers: Vec<Answer> = self.workers.iter().map(Worker::receive).collect();
        let mut all = Stepped::default();
        answers.into_iter().try_for_each(|answer| answer.map(|stepped| all.append(stepped)))?;
        Ok(all)
    }
}

fn gone() -> Error {
    Error::Program("a thread of the executor has ended; make a new executor".to_owned())
}

impl Worker {
    fn start(groups: Vec<Group>, actions: usize) -> Result<Worker> {
        let (commands, orders) = channel();
        let (reply, answers) = channel();
        let count = groups.len();
        let run = move || work(groups, actions, &orders, &reply);
        let thread = std::thread::Builder::new().name("environments".to_owned()).spawn(run);
        let thread = thread.map_err(|e| Error::Program(format!("no thread for environments could be started: {e}")))?;
        Ok(Worker { groups: count, commands: Some(commands), answers, thread: Some(thread) })
    }

    fn send(&self, command: Command) -> Result<()> {
        self.commands.as_ref().and_then(|commands| commands.send(command).ok()).ok_or_else(gone)
    }

    fn receive(&self) -> Answer {
        self.answers.recv().unwrap_or_else(|_| Err(gone()))
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.commands = None;
        if let Some(thread) = self.thread.take() {
            // It catches its environments' panics; nothing of one that it had itself is left to tell.
            let _ = thread.join();
        }
    }
}

/// Carries out commands until there is nobody left to give them.
fn work(mut groups: Vec<Group>, actions: usize, commands: &Receiver<Command>, answers: &Sender<Answer>) {
    while let Ok(command) = commands.recv() {
        let mut all = Stepped::default();
        let done = match command {
            Command::SampleTasks(chances) => {
                groups[0].sample_tasks(&chances).map(|drawn| all.observations = drawn.concat())
            }
            Command::SetTasks(tasks) => {
                groups.iter_mut().zip(&tasks).try_for_each(|(group, task)| group.set_task(task))
            }
            Command::Reset(keys) => groups
                .iter_mut()
                .zip(keys)
                .try_for_each(|(group, key)| group.reset(key).map(|first| all.observations.extend(first))),
            Command::Step(numbers, keys) => groups
                .iter_mut()
                .zip(numbers.chunks(actions))
                .zip(keys)
                .try_for_each(|((group, action), key)| group.step(action, key).map(|stepped| all.append(stepped))),
        };
        if answers.send(done.map(|()| all)).is_err() {
            return;
        }
    }
}

impl Executor for ParallelExecutor {
    fn fleet(&self) -> &Fleet {
        &self.fleet
    }

    fn sample_tasks<'a>(&'a mut self, chances: &'a [Chance]) -> LocalFuture<'a, Result<Vec<Vec<f64>>>> {
        Box::pin(async move {
            let worker = &self.workers[0];
            worker.send(Command::SampleTasks(chances.to_vec()))?;
            let numbers = worker.receive()?.observations;
            let width = self.fleet.spec.task.len();
            Ok((0..chances.len()).map(|i| numbers[i * width..(i + 1) * width].to_vec()).collect())
        })
    }

    fn set_tasks<'a>(&'a mut self, tasks: &'a [Vec<f64>]) -> LocalFuture<'a, Result<()>> {
        Box::pin(async move {
            self.fleet.expect_tasks(tasks)?;
            self.all(|own| Command::SetTasks(tasks[own].to_vec())).map(|_| ())
        })
    }

    fn reset<'a>(&'a mut self, keys: &'a [Key]) -> LocalFuture<'a, Result<Vec<f64>>> {
        Box::pin(async move {
            self.fleet.expect("keys", keys.len(), self.fleet.tasks)?;
            Ok(self.all(|own| Command::Reset(keys[own].to_vec()))?.observations)
        })
    }

    fn step<'a>(&'a mut self, actions: &'a [f64], keys: &'a [Key]) -> LocalFuture<'a, Result<Stepped>> {
        Box::pin(async move {
            self.fleet.expect_step(actions, keys)?;
            let each = self.fleet.envs_per_task * self.fleet.actions();
            self.all(|own| Command::Step(actions[own.start * each..own.end * each].to_vec(), keys[own].to_vec()))
        })
    }
}
