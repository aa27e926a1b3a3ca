//! The distribution of an action, whichever kind it is.

use super::{Bounds, How};
use crate::Tensor;
use crate::dist::{Categorical, Gaussian, RowNoise};
use crate::tensor::Named;

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

    /// An action per row, `[K, N, A]`.
    #[track_caller]
    pub fn choose(&self, how: How, bounds: &Bounds, noise: &RowNoise) -> Tensor {
        match how {
            How::Explore => self.sample(noise),
            How::Exploit => self.mode(),
            How::Uniform => bounds.scale(bounds.uniform(noise)),
            How::Recorded(action) => action,
        }
    }

    /// More about an action that was taken where the network saw `seen: [K, N, I]`, by the names of [`Act::extras`](super::Act::extras).
    #[track_caller]
    pub fn extras(&self, seen: Tensor, action: Tensor) -> Named {
        let log_prob = self.log_prob(action);
        // A choice is a number whatever it was made of.
        let acted = match self {
            Distribution::Choice(_) => log_prob,
            Distribution::Vector(_) => action,
        };
        Named::from([
            ("seen", seen),
            ("log_prob", log_prob),
            ("entropy", self.entropy()),
            ("broken", acted.non_finite().to_f32().max_keep(2)),
        ])
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
