//! One environment outside of the tensor program.

use crate::env::{Dim, EnvSpec};
use crate::rng::{Key, Threefry, fold_in};
use crate::{Error, Result};

/// Where the random numbers of one call come from, so that training repeats exactly.
///
/// The same in every executor, however many threads it has. An automatic reset gets that of the step that ended the episode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chance {
    /// Differs between seeds, tasks and steps.
    pub key: Key,
    /// Number of the environment among those of its task.
    pub element: u32,
}

impl From<(Key, u32)> for Chance {
    fn from((key, element): (Key, u32)) -> Chance {
        Chance { key, element }
    }
}

impl Chance {
    /// A generator for this call.
    #[must_use]
    pub fn rng(self) -> Threefry {
        Threefry::new(fold_in(self.key, self.element))
    }

    /// A seed for an environment with a generator of its own.
    #[must_use]
    pub fn seed(self) -> u64 {
        let [low, high] = fold_in(self.key, self.element);
        u64::from(high) << 32 | u64::from(low)
    }
}

/// The outcome of a step.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Transition {
    /// The observation after it, `[O]`, also where the episode ended.
    pub observation: Vec<f64>,
    /// The step's reward.
    pub reward: f64,
    /// True if the episode ended in a final state.
    pub terminated: bool,
    /// True if the environment cut the episode off by itself. The time limit of its spec is the executor's business.
    pub truncated: bool,
    /// Values of [`HostEnv::info`], in that order.
    pub info: Vec<f64>,
}

/// The name of the [info](HostEnv::info) by which environments tell that a step was a success.
pub const SUCCESS: &str = "success";

/// An environment on the host: a simulator, a game, anything that is not written as an [`Env`](crate::env::Env).
///
/// Numbers are `f64`, so that nothing is lost that a simulator gives; devices round them to `f32`.
pub trait HostEnv: Send {
    /// Spaces, time limit and task parameters. The same at every call.
    fn spec(&self) -> &EnvSpec;

    /// Names of what steps report besides rewards, such as `success` (1 or 0, whether the goal was reached).
    fn info(&self) -> &[String] {
        &[]
    }

    /// Draws the parameters of one task, `[D]`: each uniformly in its range, unless an environment has a distribution of its own.
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

    /// The task of the episodes that follow, `[D]`; takes effect at the next reset.
    ///
    /// # Errors
    /// If there is no such task.
    fn set_task(&mut self, task: &[f64]) -> Result<()> {
        if task.is_empty() {
            return Ok(());
        }
        let problem = format!("has a single task, and was given one of {} numbers", task.len());
        Err(Error::Environment { name: self.spec().name.clone(), problem })
    }

    /// Start an episode: its first observation, `[O]`.
    ///
    /// # Errors
    /// Whatever fails in the environment; [`Error::Environment`] suits.
    fn reset(&mut self, chance: Chance) -> Result<Vec<f64>>;

    /// One step. `action` is the index of the choice, or the vector, within its bounds.
    ///
    /// # Errors
    /// As for [`reset`](HostEnv::reset).
    fn step(&mut self, action: &[f64], chance: Chance) -> Result<Transition>;

    /// Everything that the running episode and its task are made of, for [`restore`](HostEnv::restore); none if it cannot be saved. With it
    /// a resumed run equals the uninterrupted one to the byte; without it, episodes begin anew.
    fn save(&self) -> Option<Vec<u8>> {
        None
    }

    /// Goes back to what an environment like this one saved.
    ///
    /// # Errors
    /// If it is no such state.
    fn restore(&mut self, _state: &[u8]) -> Result<()> {
        let problem = "cannot go back to a saved state".to_owned();
        Err(Error::Environment { name: self.spec().name.clone(), problem })
    }
}
