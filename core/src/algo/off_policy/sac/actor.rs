//! SAC's policy, which draws vectors or weighs all choices.

use super::SacConfig;
use crate::Tensor;
use crate::dist::{RowNoise, at};
use crate::env::{ActionSpace, EnvSpec};
use crate::nn::{Layout, Mlp};
use crate::policy::{Distribution, NetConfig, Policy, PolicyNet, Squashed};
use crate::{Error, Result};

/// Both critics, and the slices of parameters.
type Critics<'a> = (&'a [Mlp; 2], &'a [Tensor]);

/// The policy's log-probabilities and values at a batch of observations.
#[derive(Clone, Copy, Debug)]
pub(super) struct Soft {
    /// ln π of a drawn action, or its mean over all choices, `[S, B, 1]`.
    pub log_prob: Tensor,
    /// The lower critic's value of that action, or the mean over all choices, `[S, B, 1]`.
    pub value: Tensor,
}

/// The policy, for either kind of action space.
#[derive(Clone, Debug)]
pub(super) enum SoftActor {
    /// A policy of vectors: critics read an action beside the observation.
    Vectors(Squashed),
    /// A policy of C choices: critics value all of them, and means over them are exact (arXiv:1910.07207, section 3).
    Choices(PolicyNet, usize),
}

impl SoftActor {
    /// Makes a policy whose slices are added to `layout`.
    pub fn new(layout: &mut Layout, spec: &EnvSpec, config: &SacConfig) -> Result<SoftActor> {
        let (net, first) = (&config.net, config.replay.first_layer());
        match &spec.action {
            ActionSpace::MultiDiscrete { .. } => {
                let (name, kind) = (&spec.name, spec.action.kind());
                let problem = format!("`{name}` takes {kind}, and SAC needs discrete or continuous ones");
                Err(Error::config("env", problem))
            }
            ActionSpace::Box { .. } if config.sde => {
                Squashed::state_dependent(layout, spec, (net, first), config.log_std_init).map(SoftActor::Vectors)
            }
            ActionSpace::Discrete { .. } if config.sde => {
                let problem = format!(
                    "`{}` takes discrete actions, and noise matrices disturb continuous ones; set it to false",
                    spec.name
                );
                Err(Error::config("sde", problem))
            }
            ActionSpace::Box { .. } => Squashed::new(layout, spec, net, first).map(SoftActor::Vectors),
            ActionSpace::Discrete { names } if names.len() == 1 => {
                let problem = format!("`{}` has a single action, so there is nothing to learn", spec.name);
                Err(Error::config("env", problem))
            }
            ActionSpace::Discrete { names } => {
                let net = NetConfig { layers: net.clone(), ..NetConfig::default() };
                Ok(SoftActor::Choices(PolicyNet::numbered(layout, spec, &net, first), names.len()))
            }
        }
    }

    /// The policy as others play it.
    pub fn policy(&self) -> Box<dyn Policy + '_> {
        match self {
            SoftActor::Vectors(policy) => Box::new(policy.clone()),
            SoftActor::Choices(policy, _) => Box::new(policy.clone()),
        }
    }

    /// The counts of numbers that a critic reads and gives, where an observation has `observations` numbers.
    pub fn sizes(&self, observations: usize) -> [usize; 2] {
        match self {
            SoftActor::Vectors(policy) => [observations + policy.actions(), 1],
            SoftActor::Choices(_, choices) => [observations, *choices],
        }
    }

    /// Both critics' values of the actions that were taken, `[S, B, 1]` each.
    #[track_caller]
    pub fn taken(&self, (critics, parts): Critics<'_>, obs: Tensor, action: Tensor) -> [Tensor; 2] {
        match self {
            SoftActor::Vectors(_) => {
                let input = Tensor::concat(&[obs, action], 2);
                [0, 1].map(|i| critics[i].forward(parts, input))
            }
            SoftActor::Choices(..) => [0, 1].map(|i| at(critics[i].forward(parts, obs), action)),
        }
    }

    /// ln π of drawn actions or its mean over all choices, `[S, B, 1]`, as in [`Soft`].
    #[track_caller]
    pub fn log_prob(&self, parts: &[Tensor], obs: Tensor, noise: &RowNoise) -> Tensor {
        match self {
            SoftActor::Vectors(policy) => {
                let here = policy.distribution(parts, obs);
                here.log_prob_before(here.sample(noise))
            }
            SoftActor::Choices(policy, _) => -policy.distribution(parts, obs).entropy(),
        }
    }

    /// Evaluates the policy at observations `[S, B, O]`, with values by these critics.
    #[track_caller]
    pub fn soft(&self, parts: &[Tensor], (critics, of): Critics<'_>, obs: Tensor, noise: &RowNoise) -> Soft {
        match self {
            SoftActor::Vectors(policy) => {
                let here = policy.distribution(parts, obs);
                let u = here.sample(noise);
                let log_prob = here.log_prob_before(u);
                let [a, b] = self.taken((critics, of), obs, u.tanh());
                Soft { log_prob, value: a.min(b) }
            }
            SoftActor::Choices(policy, _) => {
                let Distribution::Choice(here) = policy.distribution(parts, obs) else {
                    return Soft { log_prob: Tensor::poison(), value: Tensor::poison() };
                };
                let [a, b] = [0, 1].map(|i| critics[i].forward(of, obs));
                let probability = here.log_probs().exp();
                Soft { log_prob: -here.entropy(), value: (probability * a.min(b)).sum_keep(2) }
            }
        }
    }
}
