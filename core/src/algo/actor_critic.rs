//! A policy and a value function: two networks on one θ.

use crate::Tensor;
use crate::dist::{Categorical, Gaussian, RowNoise, StateDependent};
use crate::env::{ActionSpace, EnvSpec};
use crate::nn::{Activation, Layout, Mlp, Slot};

/// What the networks are made of.
#[derive(Clone, Debug, PartialEq)]
pub struct NetConfig {
    /// Widths of the hidden layers of each network.
    pub hidden: Vec<usize>,
    /// What follows each hidden layer.
    pub activation: Activation,
    /// Orthogonal initial weights (gain √2, last layers 0.01 and 1) and zero biases; otherwise those of PyTorch.
    pub orthogonal_init: bool,
    /// Initial logarithm of the standard deviation of continuous actions.
    pub log_std_init: f64,
    /// State-dependent exploration of continuous actions.
    pub sde: bool,
}

#[derive(Clone, Debug, PartialEq)]
enum Head {
    Choice,
    Gaussian(Slot),
    StateDependent(Slot),
}

/// Distribution of the actions of rows of observations.
#[derive(Clone, Copy, Debug)]
pub enum Distribution {
    /// Of one of several choices.
    Choice(Categorical),
    /// Of a vector of numbers.
    Vector(Gaussian),
}

impl Distribution {
    /// Joint log-probability or log-density, `[S, B, A]` → `[S, B, 1]`.
    #[track_caller]
    pub fn log_prob(&self, action: Tensor) -> Tensor {
        match self {
            Distribution::Choice(d) => d.log_prob(action),
            Distribution::Vector(d) => d.log_prob(action),
        }
    }

    /// Entropy, `[S, B, 1]`.
    #[track_caller]
    pub fn entropy(&self) -> Tensor {
        match self {
            Distribution::Choice(d) => d.entropy(),
            Distribution::Vector(d) => d.entropy(),
        }
    }

    /// A draw per row, `[S, B, A]`.
    #[track_caller]
    pub fn sample(&self, noise: &RowNoise) -> Tensor {
        match self {
            Distribution::Choice(d) => d.sample(noise),
            Distribution::Vector(d) => d.sample(noise),
        }
    }

    /// The most probable action, `[S, B, A]`.
    #[track_caller]
    pub fn mode(&self) -> Tensor {
        match self {
            Distribution::Choice(d) => d.mode(),
            Distribution::Vector(d) => d.mode(),
        }
    }
}

/// Policy and value networks for one environment. Parameters are values: `parts` is [`Layout::split`] of θ `[S, P]`.
#[derive(Clone, Debug)]
pub struct ActorCritic {
    /// Which part of θ is what.
    pub layout: Layout,
    policy: Mlp,
    value: Mlp,
    head: Head,
    observations: usize,
    actions: usize,
    /// Smallest and largest action, for vectors.
    bounds: Option<[Vec<f64>; 2]>,
}

impl ActorCritic {
    /// Networks from the observations of an environment to its actions and to a value.
    pub fn new(spec: &EnvSpec, config: &NetConfig) -> ActorCritic {
        let mut layout = Layout::new();
        let outputs = spec.action.choices().unwrap_or(spec.action.dim());
        let sizes = |out: usize| [&[spec.observation.len()], &config.hidden[..], &[out]].concat();
        let gain = |last: f64| config.orthogonal_init.then_some(last);
        let policy = Mlp::new(&mut layout, "policy", &sizes(outputs), config.activation, gain(0.01));
        let value = Mlp::new(&mut layout, "value", &sizes(1), config.activation, gain(1.0));
        let log_std = crate::nn::Init::Constant(config.log_std_init);
        let features = config.hidden.last().copied().unwrap_or(spec.observation.len());
        let head = match &spec.action {
            ActionSpace::Discrete { .. } => Head::Choice,
            _ if config.sde => Head::StateDependent(layout.add("log_std", &[features, outputs], log_std)),
            _ => Head::Gaussian(layout.add("log_std", &[outputs], log_std)),
        };
        let bounds = match &spec.action {
            ActionSpace::Discrete { .. } => None,
            ActionSpace::Box { dims } => {
                Some([dims.iter().map(|d| d.low).collect(), dims.iter().map(|d| d.high).collect()])
            }
        };
        let (observations, actions) = (spec.observation.len(), spec.action.dim());
        ActorCritic { layout, policy, value, head, observations, actions, bounds }
    }

    /// O, how many numbers an observation has.
    pub fn observations(&self) -> usize {
        self.observations
    }

    /// A, how many numbers an action has; 1 for a choice.
    pub fn actions(&self) -> usize {
        self.actions
    }

    /// The policy at `obs: [S, B, O]`.
    #[track_caller]
    pub fn distribution(&self, parts: &[Tensor], obs: Tensor) -> Distribution {
        self.distribution_and_features(parts, obs).0
    }

    fn distribution_and_features(&self, parts: &[Tensor], obs: Tensor) -> (Distribution, Tensor) {
        let (out, features) = self.policy.forward_features(parts, obs);
        let distribution = match self.head {
            Head::Choice => Distribution::Choice(Categorical::new(out)),
            Head::Gaussian(slot) => Distribution::Vector(Gaussian::new(out, parts[slot])),
            Head::StateDependent(slot) => {
                Distribution::Vector(StateDependent::new(parts[slot]).distribution(out, features))
            }
        };
        (distribution, features)
    }

    /// The value function at `obs: [S, B, O]` → `[S, B, 1]`.
    #[track_caller]
    pub fn value(&self, parts: &[Tensor], obs: Tensor) -> Tensor {
        self.value.forward(parts, obs)
    }

    /// A noise matrix per row, `[S, N, A · L]`, if exploration is state-dependent.
    #[track_caller]
    pub fn noise_matrix(&self, parts: &[Tensor], noise: &RowNoise) -> Option<Tensor> {
        match self.head {
            Head::StateDependent(slot) => Some(StateDependent::new(parts[slot]).draw(noise)),
            _ => None,
        }
    }

    /// A draw from the policy and its log-probability, `[S, N, A]` and `[S, N, 1]`. With a noise matrix, the noise is
    /// the matrix's instead of a fresh one.
    #[track_caller]
    pub fn act(&self, parts: &[Tensor], obs: Tensor, noise: &RowNoise, matrix: Option<Tensor>) -> (Tensor, Tensor) {
        let (distribution, features) = self.distribution_and_features(parts, obs);
        let action = match (&self.head, matrix) {
            (Head::StateDependent(slot), Some(matrix)) => {
                distribution.mode() + StateDependent::new(parts[*slot]).disturb(features, matrix)
            }
            _ => distribution.sample(noise),
        };
        (action, distribution.log_prob(action))
    }

    /// The action that an environment gets: vectors are limited to the action space.
    ///
    /// Log-probabilities are those of the action before (as Stable-Baselines3): limiting is part of the environment.
    #[track_caller]
    pub fn limit(&self, action: Tensor) -> Tensor {
        match &self.bounds {
            None => action,
            Some([low, high]) => action.max(Tensor::literal_f32(low)).min(Tensor::literal_f32(high)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::env::{Dim, EnvSpec};

    fn config(sde: bool) -> NetConfig {
        NetConfig { hidden: vec![8, 4], activation: Activation::Tanh, orthogonal_init: true, log_std_init: -1.0, sde }
    }

    #[test]
    fn parameters_are_those_of_two_networks_and_the_exploration() {
        let choice = EnvSpec::new("a", vec![Dim::unbounded("x"); 3], ActionSpace::discrete(&["l", "r"]), 9);
        let nets = |out: usize| (3 * 8 + 8) + (8 * 4 + 4) + (4 * out + out);
        assert_eq!(ActorCritic::new(&choice, &config(false)).layout.len(), nets(2) + nets(1));
        let vector = ActionSpace::continuous(vec![Dim::new("f", -2.0, 1.0); 2]);
        let vector = EnvSpec::new("b", vec![Dim::unbounded("x"); 3], vector, 9);
        assert_eq!(ActorCritic::new(&vector, &config(false)).layout.len(), nets(2) + nets(1) + 2);
        let sde = ActorCritic::new(&vector, &config(true));
        assert_eq!(sde.layout.len(), nets(2) + nets(1) + 4 * 2);
        assert!(sde.layout.init([1, 2]).ends_with(&[-1.0; 8]));
    }
}
