//! One call of an environment, which may panic or return nonsense.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::faults::{Fault, FaultKind};
use super::{Chance, Fleet, HostEnv, Transition};
use crate::{Error, Result};

/// Gives the environment of a number.
pub(super) type Make = dyn Fn(usize) -> Result<Box<dyn HostEnv>> + Send + Sync;

/// A call, with its arguments.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum EnvCall<'a> {
    /// A new environment where there is none.
    Make,
    SampleTask(Chance),
    SetTask(Vec<f64>),
    Reset(Chance),
    Step(&'a [f64], Chance),
}

/// The result of a call.
#[derive(Debug)]
pub(super) enum Answer {
    Done,
    Numbers(Vec<f64>),
    Transition(Transition),
}

/// The result of a call, or how it went wrong.
pub(super) type CallResult<T> = std::result::Result<T, Fault>;

impl EnvCall<'_> {
    /// Its name in errors.
    pub fn doing(&self) -> &'static str {
        match self {
            EnvCall::Make => "make",
            EnvCall::SampleTask(_) => "sample_task",
            EnvCall::SetTask(_) => "set_task",
            EnvCall::Reset(_) => "reset",
            EnvCall::Step(..) => "step",
        }
    }

    /// Call the environment in `place`, or fill the place.
    pub fn run(
        &self,
        place: &mut Option<Box<dyn HostEnv>>,
        number: usize,
        fleet: &Fleet,
        make: Option<&Make>,
    ) -> CallResult<Answer> {
        let Some(env) = place.as_deref_mut() else {
            *place = Some(caught(|| new(number, fleet, make))?);
            return Ok(Answer::Done);
        };
        match self {
            EnvCall::Make => Ok(Answer::Done),
            EnvCall::SampleTask(chance) => {
                let task = caught(|| env.sample_task(*chance))?;
                expect("the task", &task, fleet.spec.task.len())?;
                Ok(Answer::Numbers(task))
            }
            EnvCall::SetTask(task) => caught(|| env.set_task(task)).map(|()| Answer::Done),
            EnvCall::Reset(chance) => {
                let first = caught(|| env.reset(*chance))?;
                expect("the observation", &first, fleet.observations())?;
                Ok(Answer::Numbers(first))
            }
            EnvCall::Step(action, chance) => {
                let transition = caught(|| env.step(action, *chance))?;
                expect("the observation", &transition.observation, fleet.observations())?;
                expect("the reward", &[transition.reward], 1)?;
                expect("the info", &transition.info, fleet.info.len())?;
                Ok(Answer::Transition(transition))
            }
        }
    }
}

/// An environment like the others.
fn new(number: usize, fleet: &Fleet, make: Option<&Make>) -> Result<Box<dyn HostEnv>> {
    let Some(make) = make else { return Err(Error::Program("there is no environment".to_owned())) };
    let env = make(number)?;
    fleet.expect_like(&*env, number)?;
    Ok(env)
}

/// Calls `f`; an error or a panic of it becomes a fault.
pub(super) fn caught<T>(f: impl FnOnce() -> Result<T>) -> CallResult<T> {
    let (kind, problem) = match catch_unwind(AssertUnwindSafe(f)) {
        Ok(Ok(value)) => return Ok(value),
        Ok(Err(Error::Environment { problem, .. })) => (FaultKind::Failed, problem),
        Ok(Err(other)) => (FaultKind::Failed, other.to_string()),
        Err(panic) => (FaultKind::Panicked, format!("panicked: {}", message(&*panic))),
    };
    Err(Fault { kind, problem })
}

/// Drop what may panic doing so.
#[cfg(feature = "parallel")]
pub(super) fn discard<T>(value: T) {
    // There is nobody left whom its panic would concern.
    let _ = catch_unwind(AssertUnwindSafe(|| drop(value)));
}

/// The message of a panic.
fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|s| (*s).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no message".to_owned())
}

/// Numbers that must be so many, all finite.
fn expect(what: &str, numbers: &[f64], expected: usize) -> CallResult<()> {
    let problem = if numbers.len() != expected {
        format!("{what} has {} numbers, expected {expected}", numbers.len())
    } else if let Some(number) = numbers.iter().find(|x| !x.is_finite()) {
        format!("{what} holds {number}")
    } else {
        return Ok(());
    };
    Err(Fault { kind: FaultKind::Nonsense, problem })
}
