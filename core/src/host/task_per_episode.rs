//! Environments of the host with many tasks, for policies that do not adapt.

use super::{Chance, HostEnv, Transition};
use crate::Result;
use crate::env::EnvSpec;
use crate::rng::{fold_in, streams};

/// An environment that draws a task by itself for each episode, so that to learners it has a single one.
#[derive(Clone, Debug)]
pub struct TaskPerEpisode<E> {
    env: E,
    /// The environment's spec, without task parameters.
    spec: EnvSpec,
}

impl<E: HostEnv> TaskPerEpisode<E> {
    /// Wraps an environment.
    pub fn new(env: E) -> Self {
        let spec = EnvSpec { task: Vec::new(), ..env.spec().clone() };
        TaskPerEpisode { env, spec }
    }
}

impl<E: HostEnv> HostEnv for TaskPerEpisode<E> {
    fn spec(&self) -> &EnvSpec {
        &self.spec
    }

    fn info(&self) -> &[String] {
        self.env.info()
    }

    fn reset(&mut self, chance: Chance) -> Result<Vec<f64>> {
        let key = fold_in(chance.key, streams::TASK);
        let task = self.env.sample_task(Chance { key, ..chance })?;
        self.env.set_task(&task)?;
        self.env.reset(chance)
    }

    fn step(&mut self, action: &[f64], chance: Chance) -> Result<Transition> {
        self.env.step(action, chance)
    }

    fn save(&self) -> Option<Vec<u8>> {
        self.env.save()
    }

    fn restore(&mut self, state: &[u8]) -> Result<()> {
        self.env.restore(state)
    }
}
