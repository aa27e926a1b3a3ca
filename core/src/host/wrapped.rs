//! Built-in environments, played on the host.

use super::episode_state::{read_numbers, write_numbers};
use super::{Chance, HostEnv, SUCCESS, Transition};
use crate::env::{EnvDef, EnvSpec};
use crate::{Error, Result};

/// An [`EnvDef`] as a [`HostEnv`], stepped in `f32`. With equal keys it has the
/// trajectories that a program has on the CPU.
#[derive(Clone, Debug)]
pub struct Wrapped {
    env: EnvDef,
    task: Vec<f32>,
    state: Vec<f32>,
    /// `success`, if the environment defines it.
    info: Vec<String>,
}

impl Wrapped {
    /// Wraps an environment, which plays its first task until another is set.
    #[must_use]
    pub fn new(env: &EnvDef) -> Wrapped {
        let (task, state) = (env.sample_task([0, 0], 0), vec![0.0; env.state_len()]);
        let known = env.success(&state, 0.0, false, &task).is_ok_and(|success| success.is_some());
        let info = if known { vec![SUCCESS.to_owned()] } else { Vec::new() };
        Wrapped { env: env.clone(), task, state, info }
    }
}

fn narrow(numbers: &[f64]) -> Vec<f32> {
    numbers.iter().map(|x| *x as f32).collect()
}

fn wide(numbers: &[f32]) -> Vec<f64> {
    numbers.iter().map(|x| f64::from(*x)).collect()
}

impl HostEnv for Wrapped {
    fn spec(&self) -> &EnvSpec {
        self.env.spec()
    }

    fn info(&self) -> &[String] {
        &self.info
    }

    fn sample_task(&self, chance: Chance) -> Result<Vec<f64>> {
        Ok(wide(&self.env.sample_task(chance.key, chance.element)))
    }

    fn set_task(&mut self, task: &[f64]) -> Result<()> {
        self.task = narrow(task);
        Ok(())
    }

    fn reset(&mut self, chance: Chance) -> Result<Vec<f64>> {
        self.state = self.env.reset(&self.task, chance.key, chance.element)?;
        Ok(wide(&self.env.observe(&self.state, &self.task)?))
    }

    fn step(&mut self, action: &[f64], chance: Chance) -> Result<Transition> {
        let step = self.env.step(&self.state, &narrow(action), &self.task, chance.key, chance.element)?;
        let success = self.env.success(&self.state, step.reward, step.terminated, &self.task)?;
        self.state = step.state;
        Ok(Transition {
            observation: wide(&step.observation),
            reward: f64::from(step.reward),
            terminated: step.terminated,
            info: success.map(|success| f64::from(u8::from(success))).into_iter().collect(),
            ..Transition::default()
        })
    }

    fn save(&self) -> Option<Vec<u8>> {
        let mut bytes = Vec::new();
        write_numbers(&mut bytes, &wide(&self.task));
        write_numbers(&mut bytes, &wide(&self.state));
        Some(bytes)
    }

    fn restore(&mut self, mut state: &[u8]) -> Result<()> {
        let (task, of_episode) = (narrow(&read_numbers(&mut state)?), narrow(&read_numbers(&mut state)?));
        let fits = (task.len(), of_episode.len(), state.len()) == (self.task.len(), self.state.len(), 0);
        if !fits || !task.iter().chain(&of_episode).all(|x| x.is_finite()) {
            let problem = "was given a state that is none of its own".to_owned();
            return Err(Error::Environment { name: self.spec().name.clone(), problem });
        }
        (self.task, self.state) = (task, of_episode);
        Ok(())
    }
}
