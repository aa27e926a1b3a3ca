//! A single environment outside of tensor programs.

use crate::env::{Dim, EnvSpec};
use crate::rng::{Key, Threefry, fold_in};
use crate::{Error, Result};

/// The source of the random numbers of one call, so that training repeats exactly.
///
/// It is the same in every executor, on any number of threads. An automatic reset gets the
/// chance of the step that ended the episode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chance {
    /// A key that differs between seeds, tasks and steps.
    pub key: Key,
    /// The environment's number among those of its task.
    pub element: u32,
}

impl From<(Key, u32)> for Chance {
    fn from((key, element): (Key, u32)) -> Chance {
        Chance { key, element }
    }
}

impl Chance {
    /// Makes a generator of random numbers for this call.
    #[must_use]
    pub fn rng(self) -> Threefry {
        Threefry::new(fold_in(self.key, self.element))
    }

    /// Makes a seed for an environment with a generator of its own.
    #[must_use]
    pub fn seed(self) -> u64 {
        let [low, high] = fold_in(self.key, self.element);
        u64::from(high) << 32 | u64::from(low)
    }
}

/// The outcome of a step.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Transition {
    /// The observation that the step led to, `[O]`, also where the episode ended.
    pub observation: Vec<f64>,
    /// The step's reward.
    pub reward: f64,
    /// True if the episode ended in a final state.
    pub terminated: bool,
    /// True if the environment itself cut the episode off. The executor applies the time limit of the spec.
    pub truncated: bool,
    /// Values by the names of [`HostEnv::info`], in their order.
    pub info: Vec<f64>,
}

/// The name of the [info](HostEnv::info) that is not 0 where a step was a success.
pub const SUCCESS: &str = "success";

/// An environment on the host: a simulator, a game, anything that is not written as an [`Env`](crate::env::Env).
///
/// Numbers are `f64`, so that a simulator's values are kept exactly; devices round them to `f32`.
pub trait HostEnv: Send {
    /// Spaces, time limit and task parameters; equal at every call.
    fn spec(&self) -> &EnvSpec;

    /// Names of the values that steps report besides rewards, such as `success` (1 where the goal was reached, 0
    /// elsewhere).
    fn info(&self) -> &[String] {
        &[]
    }

    /// Draws the parameters of one task, `[D]`: each uniformly in its range, unless an environment has a distribution
    /// of its own.
    ///
    /// # Errors
    /// [`Error::Environment`] if a range is not finite.
    fn sample_task(&self, chance: Chance) -> Result<Vec<f64>> {
        let mut rng = chance.rng();
        let draw = |dim: &Dim| {
            if (dim.high - dim.low).is_finite() {
                return Ok(dim.low + (dim.high - dim.low) * rng.uniform());
            }
            let problem = format!("task parameter `{}` has no finite range; implement `sample_task`", dim.name);
            Err(Error::Environment { name: self.spec().name.clone(), problem })
        };
        self.spec().task.iter().map(draw).collect()
    }

    /// Sets the task of later episodes, `[D]`, from the next reset on.
    ///
    /// # Errors
    /// If the environment has no such task.
    fn set_task(&mut self, task: &[f64]) -> Result<()> {
        if task.is_empty() {
            return Ok(());
        }
        let problem = format!("has a single task, and was given one of {} numbers", task.len());
        Err(Error::Environment { name: self.spec().name.clone(), problem })
    }

    /// Starts an episode and returns its first observation, `[O]`.
    ///
    /// # Errors
    /// Any failure of the environment; [`Error::Environment`] suits.
    fn reset(&mut self, chance: Chance) -> Result<Vec<f64>>;

    /// Makes one step. `action` is the index of the choice, or a vector within the bounds.
    ///
    /// # Errors
    /// As for [`reset`](HostEnv::reset).
    fn step(&mut self, action: &[f64], chance: Chance) -> Result<Transition>;

    /// Saves all of the running episode and its task, for [`restore`](HostEnv::restore); none if that is impossible.
    /// With it a resumed run equals the uninterrupted one to the byte; without it, episodes begin anew.
    fn save(&self) -> Option<Vec<u8>> {
        None
    }

    /// Goes back to a state that an environment like this one saved.
    ///
    /// # Errors
    /// If `state` is not such a state. By default none is.
    fn restore(&mut self, _state: &[u8]) -> Result<()> {
        let problem = "cannot go back to a saved state".to_owned();
        Err(Error::Environment { name: self.spec().name.clone(), problem })
    }
}
