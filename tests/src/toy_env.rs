//! The environment of the recorded traces of executors, and ways in which it can fail.

use quickstudy_core::env::{ActionSpace, Dim, EnvSpec};
use quickstudy_core::host::{Chance, HostEnv, Transition};
use quickstudy_core::{Error, Result};

/// A fault in the second step of an episode.
#[derive(Clone, Copy, Debug)]
pub enum Fault {
    /// The environment returns an error.
    Error,
    /// The environment panics.
    Panic,
    /// Its observation lacks a number.
    Short,
    /// Its reward is not a number.
    NotFinite,
}

/// s₀ = [task, 0]; s' = [s₀ + a, s₁ + 1]; the reward is s'₀; it ends at s'₁ ≥ 2 + task; the info is s'.
#[derive(Clone, Debug)]
pub struct ToyEnv {
    /// Its description of itself.
    pub spec: EnvSpec,
    info: Vec<String>,
    task: f64,
    state: [f64; 2],
    fault: Option<Fault>,
}

impl Default for ToyEnv {
    fn default() -> ToyEnv {
        ToyEnv::failing(None)
    }
}

impl ToyEnv {
    /// One that fails.
    #[must_use]
    pub fn failing(fault: Option<Fault>) -> ToyEnv {
        let observation = vec![Dim::unbounded("position"), Dim::unbounded("steps")];
        let action = ActionSpace::continuous(vec![Dim::new("move", -10.0, 10.0)]);
        let spec = EnvSpec::new("toy", observation, action, 100).task(vec![Dim::new("start", 0.0, 9.0)]);
        let info = vec!["e.0".to_owned(), "e.1".to_owned()];
        ToyEnv { spec, info, task: 0.0, state: [0.0; 2], fault }
    }
}

impl HostEnv for ToyEnv {
    fn spec(&self) -> &EnvSpec {
        &self.spec
    }

    fn info(&self) -> &[String] {
        &self.info
    }

    fn set_task(&mut self, task: &[f64]) -> Result<()> {
        self.task = task[0];
        Ok(())
    }

    fn reset(&mut self, _chance: Chance) -> Result<Vec<f64>> {
        self.state = [self.task, 0.0];
        Ok(self.state.to_vec())
    }

    #[allow(clippy::panic, reason = "one of the ways to fail")]
    fn step(&mut self, action: &[f64], _chance: Chance) -> Result<Transition> {
        self.state = [self.state[0] + action[0], self.state[1] + 1.0];
        let mut transition = Transition {
            observation: self.state.to_vec(),
            reward: self.state[0],
            terminated: self.state[1] >= 2.0 + self.task,
            truncated: false,
            info: self.state.to_vec(),
        };
        match self.fault.filter(|_| self.state[1] == 2.0) {
            None => {}
            Some(Fault::Error) => {
                let problem = "the simulator is gone".to_owned();
                return Err(Error::Environment { name: "toy".to_owned(), problem });
            }
            Some(Fault::Panic) => panic!("out of cheese"),
            Some(Fault::Short) => transition.observation.truncate(1),
            Some(Fault::NotFinite) => transition.reward = f64::NAN,
        }
        Ok(transition)
    }
}
