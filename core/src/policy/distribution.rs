//! The distribution of actions, for each kind of action space.

use super::{ActionUnits, How};
use crate::Tensor;
use crate::dist::{Categorical, Gaussian, MultiCategorical, RowNoise};
use crate::tensor::Named;

/// Distributions of actions, one per row of observations.
#[derive(Clone, Copy, Debug)]
pub enum Distribution {
    /// A distribution of one of several choices.
    Choice(Categorical),
    /// A distribution of vectors.
    Vector(Gaussian),
    /// A distribution of several choices at once.
    Choices(MultiCategorical),
}

impl Distribution {
    /// Makes the distribution of one or several choices, with so many options each, from the logits of all options,
    /// `[S, B, A]`.
    #[track_caller]
    pub fn of_choices(logits: Tensor, counts: &[usize]) -> Distribution {
        match counts {
            [_] => Distribution::Choice(Categorical::new(logits)),
            _ => Distribution::Choices(MultiCategorical::new(logits, counts)),
        }
    }

    /// The joint log-probability or log-density of actions, `[S, B, A]` → `[S, B, 1]`.
    #[track_caller]
    pub fn log_prob(&self, action: Tensor) -> Tensor {
        match self {
            Distribution::Choice(d) => d.log_prob(action),
            Distribution::Vector(d) => d.log_prob(action),
            Distribution::Choices(d) => d.log_prob(action),
        }
    }

    /// Entropy, `[S, B, 1]`.
    #[track_caller]
    pub fn entropy(&self) -> Tensor {
        match self {
            Distribution::Choice(d) => d.entropy(),
            Distribution::Vector(d) => d.entropy(),
            Distribution::Choices(d) => d.entropy(),
        }
    }

    /// Draws an action per row, `[S, B, A]`.
    #[track_caller]
    pub fn sample(&self, noise: &RowNoise) -> Tensor {
        match self {
            Distribution::Choice(d) => d.sample(noise),
            Distribution::Vector(d) => d.sample(noise),
            Distribution::Choices(d) => d.sample(noise),
        }
    }

    /// KL(self ‖ other), `[S, B, 1]`, of distributions of the same kind: how far `other` has moved away.
    #[track_caller]
    pub fn kl(&self, other: &Distribution) -> Tensor {
        match (self, other) {
            (Distribution::Choice(a), Distribution::Choice(b)) => a.kl(b),
            (Distribution::Vector(a), Distribution::Vector(b)) => a.kl(b),
            (Distribution::Choices(a), Distribution::Choices(b)) => a.kl(b),
            _ => Tensor::poison(),
        }
    }

    /// Chooses an action per row, `[K, N, A]`.
    #[track_caller]
    pub fn choose(&self, how: How, units: &ActionUnits, noise: &RowNoise) -> Tensor {
        match how {
            How::Explore => self.sample(noise),
            How::Exploit => self.mode(),
            How::Uniform => units.uniform(noise),
            How::Recorded(action) => action,
        }
    }

    /// Values about an action that was taken where the network saw `seen: [K, N, I]`, by the names
    /// of [`Act::extras`](super::Act::extras).
    #[track_caller]
    pub fn extras(&self, seen: Tensor, action: Tensor) -> Named {
        let log_prob = self.log_prob(action);
        // A choice is a finite number even where its logits are not, so its log-probability is tested.
        let acted = match self {
            Distribution::Choice(_) | Distribution::Choices(_) => log_prob,
            Distribution::Vector(_) => action,
        };
        Named::from([
            ("seen", seen),
            ("log_prob", log_prob),
            ("entropy", self.entropy()),
            ("broken", acted.non_finite().to_f32().max_keep(2)),
        ])
    }

    /// This distribution as a constant, through which no gradient passes.
    #[track_caller]
    pub fn stop_gradient(&self) -> Distribution {
        match self {
            Distribution::Choice(d) => Distribution::Choice(d.stop_gradient()),
            Distribution::Vector(d) => Distribution::Vector(d.stop_gradient()),
            Distribution::Choices(d) => Distribution::Choices(d.stop_gradient()),
        }
    }

    /// The deterministic action, `[S, B, A]`.
    #[track_caller]
    pub fn mode(&self) -> Tensor {
        match self {
            Distribution::Choice(d) => d.mode(),
            Distribution::Vector(d) => d.mode(),
            Distribution::Choices(d) => d.mode(),
        }
    }
}
