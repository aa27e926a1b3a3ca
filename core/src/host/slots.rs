//! The slots of one thread, behind a lock that the thread releases during each call, so that another thread can take over when an
//! environment hangs.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::call::{Make, discard};
use super::episode_state::EpisodeState;
use super::faults::{Fault, FaultKind};
use super::parallel::gone;
use super::slot::{Command, Slot, Trouble};
use super::{Faults, Fleet, Stepped, Tolerance};
use crate::{Error, Result};

/// The state that all threads share.
pub(super) struct Shared {
    pub fleet: Fleet,
    pub tolerance: Option<Tolerance>,
    /// Gives another environment in place of one that failed.
    pub make: Option<Arc<Make>>,
}

/// The slots of one thread.
pub(super) struct Slots(Mutex<ThreadWork>);

struct ThreadWork {
    slots: Vec<Slot>,
    /// The index of the slot that is worked at.
    at: usize,
    /// Counts beginnings and ends of calls; two equal counts in a row mean that a call has not returned.
    moves: u64,
    /// Tells whether the command is carried out, or as far as it can be.
    finished: bool,
    /// Tells the thread that works here to leave, as another one goes on elsewhere.
    abandoned: bool,
    error: Option<Error>,
    trouble: Trouble,
}

/// Carries out commands until there is nobody left to give them, or another thread has taken over.
pub(super) fn work(slots: &Slots, shared: &Shared, commands: &Receiver<Arc<Command>>, done: &dyn Fn() -> bool) {
    let all = || {
        while let Ok(command) = commands.recv() {
            if !slots.carry_out(&command, shared, done) {
                return false;
            }
        }
        let slots = std::mem::take(&mut slots.lock().slots);
        slots.into_iter().for_each(discard);
        done()
    };
    if catch_unwind(AssertUnwindSafe(all)).is_err() {
        slots.refuse(gone());
        done();
    }
}

impl Slots {
    pub fn new(slots: Vec<Slot>, tolerance: Option<Tolerance>) -> Slots {
        let trouble = Trouble { tolerance, faults: Faults::default() };
        let work = ThreadWork { slots, at: 0, moves: 0, finished: true, abandoned: false, error: None, trouble };
        Slots(Mutex::new(work))
    }

    fn lock(&self) -> MutexGuard<'_, ThreadWork> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A command begins.
    pub fn begin(&self) {
        let mut work = self.lock();
        (work.at, work.finished, work.error) = (0, false, None);
        work.slots.iter_mut().for_each(Slot::begin);
    }

    /// The command cannot be carried out.
    pub fn refuse(&self, error: Error) {
        let mut work = self.lock();
        (work.finished, work.error) = (true, Some(error));
    }

    pub fn moves(&self) -> u64 {
        self.lock().moves
    }

    pub fn faults(&self) -> Faults {
        self.lock().trouble.faults.clone()
    }

    pub fn take_error(&self) -> Option<Error> {
        self.lock().error.take()
    }

    /// Tasks that the first environment drew.
    pub fn take_tasks(&self) -> Vec<Vec<f64>> {
        self.lock().slots[0].take_tasks()
    }

    /// The number of its environments.
    pub fn count(&self) -> usize {
        self.lock().slots.len()
    }

    /// Where its environments are in their episodes; none if that cannot be saved.
    pub fn save(&self, fleet: &Fleet) -> Result<Option<Vec<EpisodeState>>> {
        self.lock().slots.iter().map(|slot| slot.save(fleet)).collect()
    }

    /// Goes on where environments were, with the first of these states.
    pub fn restore(&self, states: &mut dyn Iterator<Item = EpisodeState>, fleet: &Fleet) -> Result<()> {
        self.lock().slots.iter_mut().zip(states).try_for_each(|(slot, state)| slot.restore(state, fleet))
    }

    /// Put what the environments gave behind the results of others.
    pub fn collect(&self, all: &mut Stepped) {
        self.lock().slots.iter_mut().for_each(|slot| slot.collect(all));
    }

    /// Call by call, until the command is carried out or a call fails for good. False if another thread has taken over.
    fn carry_out(&self, command: &Command, shared: &Shared, done: &dyn Fn() -> bool) -> bool {
        let mut work = self.lock();
        loop {
            if work.abandoned {
                return false;
            }
            work.moves += 1;
            let (call, mut env) = match work.next(command, &shared.fleet) {
                Ok(Some(at)) => at,
                nothing => {
                    (work.finished, work.error) = (true, nothing.err());
                    return done();
                }
            };
            let number = work.slots[work.at].number();
            drop(work);
            let outcome = call.run(&mut env, number, &shared.fleet, shared.make.as_deref());
            work = self.lock();
            if !work.abandoned {
                work.moves += 1;
                let ThreadWork { slots, at, trouble, .. } = &mut *work;
                work.error = slots[*at].accept(&call, &mut env, outcome, &shared.fleet, trouble).err();
            }
            if env.is_some() {
                drop(work);
                discard(env);
                work = self.lock();
            }
        }
    }

    /// Takes the slots from a thread that hangs, and counts the call that hangs as a fault. Returns the slots, and true if another
    /// thread is to go on with the command; nothing if the thread is done after all.
    pub fn abandon(&self, command: &Command, shared: &Shared, limit: Duration) -> Option<(Slots, bool)> {
        let mut old = self.lock();
        if old.finished {
            return None;
        }
        old.abandoned = true;
        let mut slots = std::mem::take(&mut old.slots);
        let mut trouble = std::mem::take(&mut old.trouble);
        let (at, mut error) = (old.at, old.error.take());
        drop(old);
        if let (None, Ok(Some(call))) = (&error, slots[at].next(command, &shared.fleet)) {
            let fault = Fault { kind: FaultKind::Hung, problem: format!("took longer than {limit:?}") };
            error = slots[at].fail(&call, fault, &shared.fleet, &mut trouble).err();
        }
        let going_on = error.is_none();
        let work = ThreadWork { slots, at, moves: 0, finished: !going_on, abandoned: false, error, trouble };
        Some((Slots(Mutex::new(work)), going_on))
    }
}

impl ThreadWork {
    /// The next call, and its environment if there is one.
    fn next<'a>(&mut self, command: &'a Command, fleet: &Fleet) -> Result<Option<Next<'a>>> {
        if let Some(error) = self.error.take() {
            return Err(error);
        }
        let places = if let Command::SampleTasks(_) = command { 1 } else { self.slots.len() };
        while self.at < places {
            let slot = &mut self.slots[self.at];
            if let Some(call) = slot.next(command, fleet)? {
                return Ok(Some((call, slot.lend())));
            }
            self.at += 1;
        }
        Ok(None)
    }
}

type Next<'a> = (super::call::EnvCall<'a>, Option<Box<dyn super::HostEnv>>);
