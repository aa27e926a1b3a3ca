//! Environments on threads of their own.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;

use super::call::Make;
use super::episode_state::{groups_of, states_of, states_of_group};
use super::slot::{Command, slots};
use super::slots::{Shared, Slots, gone, work};
use super::{Chance, Executor, Faults, Fleet, HostEnv, Stepped, Tolerance};
use crate::backend::LocalFuture;
use crate::rng::Key;
use crate::{Error, Result};

/// Checks of a thread's progress within its time limit.
const CHECKS: u32 = 8;

/// Steps environments on threads, an equal number on each. Trajectories are those of
/// [`IterativeExecutor`](super::IterativeExecutor), on any number of threads. The environments of one
/// task may be spread over several threads.
///
/// It pays where one step of a thread's environments takes longer than waking the thread does.
pub struct ParallelExecutor {
    shared: Arc<Shared>,
    workers: Vec<Worker>,
    /// The numbers of threads that have carried out their command.
    done: (Sender<usize>, Receiver<usize>),
}

/// A thread and the slots of its environments.
struct Worker {
    slots: Arc<Slots>,
    thread: Option<(Sender<Arc<Command>>, JoinHandle<()>)>,
}

impl ParallelExecutor {
    /// Makes environments as [`IterativeExecutor::new`](super::IterativeExecutor::new) does, on `threads` threads, at
    /// most one per environment (0: one per core of the processor).
    ///
    /// The first environment that fails is an error, and one that hangs is waited for.
    ///
    /// # Errors
    /// As [`IterativeExecutor::new`](super::IterativeExecutor::new), or if a thread cannot be started.
    pub fn new(
        tasks: usize,
        envs_per_task: usize,
        horizon: usize,
        threads: usize,
        mut make: impl FnMut(usize) -> Result<Box<dyn HostEnv>>,
    ) -> Result<ParallelExecutor> {
        ParallelExecutor::start([tasks, envs_per_task, horizon, threads], None, &mut make, None)
    }

    /// Makes environments as [`new`](ParallelExecutor::new) does, and replaces those that fail or hang by new ones of
    /// `make`.
    ///
    /// [`Executor::faults`] counts the failures. `make` is called again, on the threads of environments, with
    /// the number of the environment that failed.
    ///
    /// # Errors
    /// As [`new`](ParallelExecutor::new), or if the time limit is zero.
    pub fn tolerant(
        tasks: usize,
        envs_per_task: usize,
        horizon: usize,
        threads: usize,
        tolerance: Tolerance,
        make: impl Fn(usize) -> Result<Box<dyn HostEnv>> + Send + Sync + 'static,
    ) -> Result<ParallelExecutor> {
        if tolerance.time_limit.is_zero() {
            return Err(Error::config("time_limit", "no call can be made in no time; give more than zero"));
        }
        let make: Arc<Make> = Arc::new(make);
        let again = Arc::clone(&make);
        let sizes = [tasks, envs_per_task, horizon, threads];
        ParallelExecutor::start(sizes, Some(tolerance), &mut |number| make(number), Some(again))
    }

    fn start(
        [tasks, envs_per_task, horizon, threads]: [usize; 4],
        tolerance: Option<Tolerance>,
        make: &mut dyn FnMut(usize) -> Result<Box<dyn HostEnv>>,
        again: Option<Arc<Make>>,
    ) -> Result<ParallelExecutor> {
        let (fleet, mut slots) = slots(tasks, envs_per_task, horizon, make)?;
        let envs = slots.len();
        let threads = match threads {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            threads => threads,
        };
        let threads = threads.min(envs);
        let shared = Arc::new(Shared { fleet, tolerance, make: again });
        let mut executor = ParallelExecutor { shared, workers: Vec::with_capacity(threads), done: channel() };
        for thread in 0..threads {
            let (first, last) = (envs * thread / threads, envs * (thread + 1) / threads);
            let own = slots.drain(..last - first).collect();
            executor.workers.push(Worker { slots: Arc::new(Slots::new(own, tolerance)), thread: None });
            executor.start_thread(thread)?;
        }
        Ok(executor)
    }

    /// Collects the results of all environments, in order.
    fn results(&self) -> Stepped {
        let mut all = Stepped::default();
        self.workers.iter().for_each(|worker| worker.slots.collect(&mut all));
        all
    }

    /// Starts a thread that works on a worker's slots.
    fn start_thread(&mut self, number: usize) -> Result<()> {
        let worker = &mut self.workers[number];
        let (orders, commands) = channel();
        let (slots, shared, done) = (Arc::clone(&worker.slots), Arc::clone(&self.shared), self.done.0.clone());
        let run = move || work(&slots, &shared, &commands, &|| done.send(number).is_ok());
        let thread = std::thread::Builder::new().name("environments".to_owned()).spawn(run);
        let thread = thread.map_err(|e| Error::Program(format!("no thread for environments could be started: {e}")))?;
        worker.thread = Some((orders, thread));
        Ok(())
    }

    /// Orders a worker's thread to carry out a command, or the rest of it.
    fn order(&mut self, number: usize, command: &Arc<Command>) -> Result<()> {
        if self.workers[number].thread.is_none() {
            self.start_thread(number)?;
        }
        let sent = self.workers[number].thread.as_ref().map(|(orders, _)| orders.send(Arc::clone(command)));
        sent.and_then(std::result::Result::ok).ok_or_else(gone)
    }

    /// Carries out a command on the first `count` workers. Of several errors, the one of the lowest worker is returned.
    fn all(&mut self, command: Command, count: usize) -> Result<()> {
        let command = Arc::new(command);
        // Workers that are busy: the moves that they had made at the last check, and the checks in a row without a new
        // one.
        let mut busy: Vec<Option<(u64, u32)>> = Vec::with_capacity(count);
        for number in 0..count {
            self.workers[number].slots.begin();
            let ordered = self.order(number, &command);
            busy.push(ordered.map(|()| (0, 0)).map_err(|error| self.workers[number].slots.refuse(error)).ok());
        }
        while busy.iter().any(Option::is_some) {
            match self.wait() {
                Ok(number) => busy[number] = None,
                Err(RecvTimeoutError::Timeout) => {
                    for (number, state) in busy.iter_mut().enumerate() {
                        *state = state.and_then(|(seen, checks)| self.check(number, seen, checks, &command));
                    }
                }
                // This end holds a sender itself.
                Err(RecvTimeoutError::Disconnected) => return Err(gone()),
            }
        }
        let errors = self.workers[..count].iter().filter_map(|worker| worker.slots.take_error());
        errors.collect::<Vec<_>>().into_iter().next().map_or(Ok(()), Err)
    }

    /// Waits for a thread that is done and returns its number, or a timeout when a check is due.
    fn wait(&self) -> std::result::Result<usize, RecvTimeoutError> {
        match self.shared.tolerance {
            Some(tolerance) => self.done.1.recv_timeout(tolerance.time_limit / CHECKS),
            None => self.done.1.recv().map_err(|_| RecvTimeoutError::Disconnected),
        }
    }

    /// Checks whether a busy thread gets on, and replaces one that hangs. Returns the moves it has made and the checks
    /// in a row without a new one; none where the worker's command is over.
    fn check(&mut self, number: usize, seen: u64, checks: u32, command: &Arc<Command>) -> Option<(u64, u32)> {
        let moves = self.workers[number].slots.moves();
        let checks = if moves == seen { checks + 1 } else { 0 };
        if checks <= CHECKS {
            return Some((moves, checks));
        }
        self.replace(number, command).then_some((0, 0))
    }

    /// Abandons the thread of a worker and lets another one go on with the command.
    /// Returns false if nothing is left to do.
    fn replace(&mut self, number: usize, command: &Arc<Command>) -> bool {
        let limit = self.shared.tolerance.map(|tolerance| tolerance.time_limit).unwrap_or_default();
        let Some((slots, going_on)) = self.workers[number].slots.abandon(command, &self.shared, limit) else {
            // It got done just now, and its message is on the way.
            return true;
        };
        self.workers[number] = Worker { slots: Arc::new(slots), thread: None };
        let ordered = if going_on { self.order(number, command) } else { return false };
        ordered.map_err(|error| self.workers[number].slots.refuse(error)).is_ok()
    }
}

impl Drop for ParallelExecutor {
    fn drop(&mut self) {
        // Without a sender of commands, threads leave and drop their environments.
        let threads: Vec<JoinHandle<()>> = self.workers.iter_mut().filter_map(|w| Some(w.thread.take()?.1)).collect();
        let patient = |Tolerance { time_limit, .. }: Tolerance| {
            // An environment may also hang as it is dropped.
            threads.iter().all(|_| self.done.1.recv_timeout(time_limit).is_ok())
        };
        if self.shared.tolerance.is_none_or(patient) {
            for thread in threads {
                // Threads catch their environments' panics; a panic of the thread itself leaves nothing to report.
                let _ = thread.join();
            }
        }
    }
}

impl Executor for ParallelExecutor {
    fn fleet(&self) -> &Fleet {
        &self.shared.fleet
    }

    fn sample_tasks<'a>(&'a mut self, chances: &'a [Chance]) -> LocalFuture<'a, Result<Vec<Vec<f64>>>> {
        Box::pin(async move {
            self.all(Command::SampleTasks(chances.to_vec()), 1)?;
            Ok(self.workers[0].slots.take_tasks())
        })
    }

    fn set_tasks<'a>(&'a mut self, tasks: &'a [Vec<f64>]) -> LocalFuture<'a, Result<()>> {
        Box::pin(async move {
            self.shared.fleet.expect_tasks(tasks)?;
            self.all(Command::SetTasks(tasks.to_vec()), self.workers.len())
        })
    }

    fn reset<'a>(&'a mut self, keys: &'a [Key]) -> LocalFuture<'a, Result<Vec<f64>>> {
        Box::pin(async move {
            self.shared.fleet.expect("keys", keys.len(), self.shared.fleet.tasks)?;
            self.all(Command::Reset(keys.to_vec()), self.workers.len())?;
            Ok(self.results().observations)
        })
    }

    fn step<'a>(&'a mut self, actions: &'a [f64], keys: &'a [Key]) -> LocalFuture<'a, Result<Stepped>> {
        Box::pin(async move {
            self.shared.fleet.expect_step(actions, keys)?;
            self.all(Command::Step(actions.to_vec(), keys.to_vec()), self.workers.len())?;
            Ok(self.results())
        })
    }

    fn save(&self) -> LocalFuture<'_, Result<Option<Vec<Vec<u8>>>>> {
        Box::pin(async move {
            let fleet = &self.shared.fleet;
            let states =
                self.workers.iter().map(|worker| worker.slots.save(fleet)).collect::<Result<Option<Vec<_>>>>()?;
            Ok(states.map(|states| groups_of(&states.concat(), fleet)))
        })
    }

    fn check_saved(&self, group: &[u8]) -> Result<()> {
        states_of_group(group, &self.shared.fleet).map(drop)
    }

    fn restore<'a>(&'a mut self, groups: &'a [Vec<u8>]) -> LocalFuture<'a, Result<()>> {
        Box::pin(async move {
            let fleet = &self.shared.fleet;
            let mut rest = &states_of(groups, fleet)?[..];
            for worker in &self.workers {
                let (own, others) = rest.split_at(worker.slots.count().min(rest.len()));
                worker.slots.restore(&mut own.iter().cloned(), fleet)?;
                rest = others;
            }
            Ok(())
        })
    }

    fn faults(&self) -> Faults {
        let mut all = Faults::default();
        self.workers.iter().for_each(|worker| all.add(&worker.slots.faults()));
        all
    }
}
