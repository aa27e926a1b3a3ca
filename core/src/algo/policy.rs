//! A policy: a network from observations to a distribution of actions.

use crate::Tensor;
use crate::dist::{Categorical, Gaussian, LOG_STD_RANGE, RowNoise, StateDependent};
use crate::env::{ActionSpace, EnvSpec};
use crate::nn::{Activation, Init, Layout, Mlp, Slot};
use crate::{Error, Result};

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
    /// Observations are standardised first: that is layer 0 of each network then, and its first linear layer is number 1.
    pub normalise_observations: bool,
}

/// Widest hidden layer.
const MAX_WIDTH: usize = 8192;
/// Most hidden layers.
const MAX_DEPTH: usize = 16;

impl NetConfig {
    /// Number of the first linear layer of a network.
    pub(super) fn first(&self) -> usize {
        usize::from(self.normalise_observations)
    }

    /// Number and widths of the hidden layers, and the range of the deviation.
    ///
    /// # Errors
    /// [`Error::Config`] if they cannot work.
    pub fn validate(&self) -> Result<()> {
        if self.hidden.len() > MAX_DEPTH {
            return Err(Error::config("hidden", format!("at most {MAX_DEPTH} layers, got {}", self.hidden.len())));
        }
        let (low, high) = LOG_STD_RANGE;
        let inside = (low..=high).contains(&self.log_std_init);
        Error::in_range("log_std_init", self.log_std_init, inside, &format!("in {low} to {high}"))?;
        match self.hidden.iter().find(|w| **w == 0 || **w > MAX_WIDTH) {
            Some(width) => Err(Error::config("hidden", format!("a width of {width} is not in 1 to {MAX_WIDTH}"))),
            None => Ok(()),
        }
    }
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

    /// KL(self ‖ other), `[S, B, 1]`: how far `other`, of the same kind, has moved away.
    #[track_caller]
    pub fn kl(&self, other: &Distribution) -> Tensor {
        match (self, other) {
            (Distribution::Choice(a), Distribution::Choice(b)) => a.kl(b),
            (Distribution::Vector(a), Distribution::Vector(b)) => a.kl(b),
            _ => Tensor::poison(),
        }
    }

    /// Tells what is not finite where it acts on `obs: [S, B, O]` by `action`: 0 nothing, 1 the observation, 2 the policy
    /// itself, f32 `[S, B, 1]`.
    #[track_caller]
    pub fn lost(&self, obs: Tensor, action: Tensor) -> Tensor {
        let any = |x: Tensor| x.non_finite().to_f32().max_keep(2);
        // A choice is a number whatever it was made of.
        let acted = match self {
            Distribution::Choice(d) => d.log_prob(action),
            Distribution::Vector(_) => action,
        };
        let seen = any(obs);
        seen + any(acted) * 2.0 * (1.0 - seen)
    }

    /// The same distribution as a constant: no gradient passes.
    #[track_caller]
    pub fn stop_gradient(&self) -> Distribution {
        match self {
            Distribution::Choice(d) => Distribution::Choice(d.stop_gradient()),
            Distribution::Vector(d) => Distribution::Vector(d.stop_gradient()),
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

/// A policy for one environment. Parameters are values: `parts` is [`Layout::split`] of θ `[S, P]`.
#[derive(Clone, Debug)]
pub struct PolicyNet {
    mlp: Mlp,
    head: Head,
    observations: usize,
    actions: usize,
    limits: Limits,
}

/// The smallest and largest action that an environment takes.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Limits(Option<[Vec<f64>; 2]>);

impl Limits {
    /// Of vectors; choices have none.
    pub(super) fn of(action: &ActionSpace) -> Limits {
        match action {
            ActionSpace::Discrete { .. } => Limits(None),
            ActionSpace::Box { dims } => {
                Limits(Some([dims.iter().map(|d| d.low).collect(), dims.iter().map(|d| d.high).collect()]))
            }
        }
    }

    /// The nearest action inside, `[S, B, A]`.
    #[track_caller]
    pub(super) fn apply(&self, action: Tensor) -> Tensor {
        match &self.0 {
            None => action,
            Some([low, high]) => action.max(Tensor::literal_f32(low)).min(Tensor::literal_f32(high)),
        }
    }
}

impl PolicyNet {
    /// A network whose slices are added to `layout`, the head's last.
    pub fn new(layout: &mut Layout, spec: &EnvSpec, config: &NetConfig) -> PolicyNet {
        let mlp = PolicyNet::trunk(layout, spec, config);
        PolicyNet::on(mlp, layout, spec, config)
    }

    /// The layers of a policy.
    pub(super) fn trunk(layout: &mut Layout, spec: &EnvSpec, config: &NetConfig) -> Mlp {
        let outputs = spec.action.choices().unwrap_or(spec.action.dim());
        let sizes = [&[spec.observation.len()], &config.hidden[..], &[outputs]].concat();
        Mlp::new(layout, "policy", config.first(), &sizes, config.activation, config.orthogonal_init.then_some(0.01))
    }

    /// The policy on its layers.
    pub(super) fn on(mlp: Mlp, layout: &mut Layout, spec: &EnvSpec, config: &NetConfig) -> PolicyNet {
        let outputs = spec.action.choices().unwrap_or(spec.action.dim());
        let log_std = Init::Constant(config.log_std_init);
        let features = config.hidden.last().copied().unwrap_or(spec.observation.len());
        let head = match &spec.action {
            ActionSpace::Discrete { .. } => Head::Choice,
            _ if config.sde => Head::StateDependent(layout.add("policy.log_std", &[features, outputs], log_std)),
            _ => Head::Gaussian(layout.add("policy.log_std", &[outputs], log_std)),
        };
        PolicyNet {
            mlp,
            head,
            observations: spec.observation.len(),
            actions: spec.action.dim(),
            limits: Limits::of(&spec.action),
        }
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
        let (out, features) = self.mlp.forward_features(parts, obs);
        let distribution = match self.head {
            Head::Choice => Distribution::Choice(Categorical::new(out)),
            Head::Gaussian(slot) => Distribution::Vector(Gaussian::new(out, parts[slot])),
            Head::StateDependent(slot) => {
                Distribution::Vector(StateDependent::new(parts[slot]).distribution(out, features))
            }
        };
        (distribution, features)
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
        self.limits.apply(action)
    }
}
