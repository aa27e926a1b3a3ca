//! A policy by the values of choices: the actor of DQN and DQL.

use super::{Act, Acting, ActionRule, How, LayersConfig, Outline, Policy};
use crate::Tensor;
use crate::dist::{self, RowNoise};
use crate::env::EnvSpec;
use crate::nn::{Layout, Mlp};
use crate::rng::stream;
use crate::tensor::Named;
use crate::{Error, Result};

/// The stream of random choices, apart from the stream that says whether there is one.
const CHOICE: u32 = stream("choice");

/// A network that values each choice. The policy takes the choice of the highest value; when it explores, it draws
/// evenly among all choices with the probability ε.
///
/// Mnih et al. 2015, doi:10.1038/nature14236, algorithm 1. ε is the acting value `epsilon`, `[]` or `[K, 1]`.
#[derive(Clone, Debug)]
pub struct EpsilonGreedy {
    mlp: Mlp,
    choices: usize,
    head: ValueHead,
}

/// The forms in which a network gives the values of choices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ValueHead {
    /// One output per choice.
    Each,
    /// The last output is the value of the state, and the others are advantages of choices.
    Dueling,
    /// A single output, for the choice that the network reads beside the observation.
    Pair,
}

impl EpsilonGreedy {
    /// Makes a network with an output per choice. Its slices are added to `layout` as `q.…`; the
    /// first linear layer gets the number `first`.
    ///
    /// # Errors
    /// [`Error::Config`] if the environment takes continuous or multi-discrete actions.
    pub fn new(layout: &mut Layout, spec: &EnvSpec, config: &LayersConfig, first: usize) -> Result<EpsilonGreedy> {
        EpsilonGreedy::of(layout, spec, (config, first), ValueHead::Each)
    }

    /// Makes a network of advantages of choices and a value of the state, both read from
    /// the last hidden layer: Q = V + A − mean A.
    ///
    /// Wang et al. 2016, arXiv:1511.06581, eq. 9.
    ///
    /// # Errors
    /// As [`new`](EpsilonGreedy::new).
    pub fn dueling(layout: &mut Layout, spec: &EnvSpec, config: &LayersConfig, first: usize) -> Result<EpsilonGreedy> {
        EpsilonGreedy::of(layout, spec, (config, first), ValueHead::Dueling)
    }

    /// Makes a network that reads an observation and one choice, as a number from −1 for the first
    /// to 1 for the last, and gives its value.
    ///
    /// It is Pyrado's `DiscreteActQValPolicy`, which tabulates the values of all choices.
    ///
    /// # Errors
    /// As [`new`](EpsilonGreedy::new).
    pub fn of_pairs(layout: &mut Layout, spec: &EnvSpec, config: &LayersConfig, first: usize) -> Result<EpsilonGreedy> {
        EpsilonGreedy::of(layout, spec, (config, first), ValueHead::Pair)
    }

    fn of(
        layout: &mut Layout,
        spec: &EnvSpec,
        (config, first): (&LayersConfig, usize),
        head: ValueHead,
    ) -> Result<EpsilonGreedy> {
        let Some(choices) = spec.action.choices() else {
            let (name, kind) = (&spec.name, spec.action.kind());
            let problem = format!("`{name}` takes {kind}, and this policy needs discrete ones");
            return Err(Error::config("env", problem));
        };
        let (inputs, outputs) = match head {
            ValueHead::Each => (0, choices),
            ValueHead::Dueling => (0, choices + 1),
            ValueHead::Pair => (1, 1),
        };
        let sizes = [&[spec.observation.len() + inputs], &config.hidden[..], &[outputs]].concat();
        let gain = config.orthogonal_init.then_some(1.0);
        let mlp = Mlp::new(layout, "q", first, &sizes, config.activation, gain);
        Ok(EpsilonGreedy { mlp, choices, head })
    }

    /// The values of all C choices at `obs: [K, N, O]`: `[K, N, C]`.
    #[track_caller]
    pub fn values(&self, parts: &[Tensor], obs: Tensor) -> Tensor {
        if self.head == ValueHead::Pair {
            let ([k, n], c) = ([obs.size(0), obs.size(1)], self.choices);
            let wide = |x: Tensor, width: usize| x.broadcast_to(&[k, n, c, width]).reshape(&[k, n * c, width]);
            let choice = wide(Tensor::iota(&[1, 1, c, 1], 2).to_f32(), 1);
            return self.value(parts, wide(obs.unsqueeze(2), obs.size(2)), choice).reshape(&[k, n, c]);
        }
        let out = self.mlp.forward(parts, obs);
        if self.head == ValueHead::Each {
            return out;
        }
        let (advantage, value) = (out.slice(2, 0, self.choices), out.slice(2, self.choices, self.choices + 1));
        value + advantage - advantage.sum_keep(2) * (1.0 / self.choices as f64)
    }

    /// The values of single choices, `action: [K, N, 1]` → `[K, N, 1]`.
    #[track_caller]
    pub fn value(&self, parts: &[Tensor], obs: Tensor, action: Tensor) -> Tensor {
        match self.head {
            ValueHead::Each | ValueHead::Dueling => dist::at(self.values(parts, obs), action),
            ValueHead::Pair => {
                let number = action * (2.0 / (self.choices - 1).max(1) as f64) - 1.0;
                self.mlp.forward(parts, Tensor::concat(&[obs, number], 2))
            }
        }
    }
}

impl Policy for EpsilonGreedy {
    /// Extras are `values`, the values of all choices.
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

    fn outline(&self) -> Option<Outline> {
        let rule = match self.head {
            ValueHead::Each => ActionRule::Values,
            ValueHead::Dueling => ActionRule::Dueling,
            ValueHead::Pair => ActionRule::Pairs(self.choices),
        };
        Some(Outline::of(&self.mlp, rule))
    }
}
