//! A policy by values of actions: the actor of DQN.

use super::{Act, Acting, How, NetConfig, Policy};
use crate::Tensor;
use crate::dist::{self, RowNoise};
use crate::env::EnvSpec;
use crate::nn::{Layout, Mlp};
use crate::rng::stream;
use crate::tensor::Named;
use crate::{Error, Result};

/// The stream of the choices that chance makes, apart from whether it makes one.
const CHOICE: u32 = stream("choice");

/// A network from observations to the value of each choice. It takes the best one; when it explores, with the probability ε an even
/// draw among all of them, the best one included.
///
/// Mnih et al. 2015, doi:10.1038/nature14236, algorithm 1. ε is the acting value `epsilon`, `[]` or `[K, 1]`.
#[derive(Clone, Debug)]
pub struct EpsilonGreedy {
    mlp: Mlp,
    choices: usize,
    /// The network's last output is the value of the state, the others are advantages.
    dueling: bool,
}

impl EpsilonGreedy {
    /// A network whose slices are added to `layout` as `q.…`.
    ///
    /// # Errors
    /// [`Error::Config`] if the environment takes vectors.
    pub fn new(layout: &mut Layout, spec: &EnvSpec, config: &NetConfig) -> Result<EpsilonGreedy> {
        EpsilonGreedy::of(layout, spec, config, false)
    }

    /// The same with advantages of choices and a value of the state, both read from the last hidden layer: Q = V + A − mean A.
    ///
    /// Wang et al. 2016, arXiv:1511.06581, eq. 9.
    ///
    /// # Errors
    /// As [`new`](EpsilonGreedy::new).
    pub fn dueling(layout: &mut Layout, spec: &EnvSpec, config: &NetConfig) -> Result<EpsilonGreedy> {
        EpsilonGreedy::of(layout, spec, config, true)
    }

    fn of(layout: &mut Layout, spec: &EnvSpec, config: &NetConfig, dueling: bool) -> Result<EpsilonGreedy> {
        let Some(choices) = spec.action.choices() else {
            let problem = format!("`{}` takes vectors of numbers, and values of actions need choices", spec.name);
            return Err(Error::config("env", problem));
        };
        let sizes = [&[spec.observation.len()], &config.hidden[..], &[choices + usize::from(dueling)]].concat();
        let gain = config.orthogonal_init.then_some(1.0);
        let mlp = Mlp::new(layout, "q", 0, &sizes, config.activation, gain);
        Ok(EpsilonGreedy { mlp, choices, dueling })
    }

    /// Values of all choices at `obs: [K, N, O]`, `[K, N, C]`.
    #[track_caller]
    pub fn values(&self, parts: &[Tensor], obs: Tensor) -> Tensor {
        let out = self.mlp.forward(parts, obs);
        if !self.dueling {
            return out;
        }
        let (advantage, value) = (out.slice(2, 0, self.choices), out.slice(2, self.choices, self.choices + 1));
        value + advantage - advantage.sum_keep(2) * (1.0 / self.choices as f64)
    }
}

impl Policy for EpsilonGreedy {
    /// Extras are `values`, those of all choices.
    fn act(
        &self,
        acting: &Acting,
        observation: Tensor,
        memory: &Named,
        _: Option<Tensor>,
        noise: &RowNoise,
        how: How,
    ) -> Act {
        let values = self.values(&acting.parts, observation);
        let best = dist::best(values);
        let any = (noise.apart(CHOICE).uniform() * self.choices as f64).floor();
        let action = match how {
            How::Explore => {
                let epsilon = acting.values.get("epsilon");
                let epsilon = if epsilon.shape().is_empty() { epsilon } else { epsilon.unsqueeze(2) };
                noise.uniform().lt(epsilon).select(any, best)
            }
            How::Exploit => best,
            How::Uniform => any,
            How::Recorded(action) => action,
        };
        let broken = values.non_finite().to_f32().max_keep(2);
        let extras = Named::from([("seen", observation), ("values", values), ("broken", broken)]);
        Act { action, played: action, memory: memory.clone(), extras }
    }
}
