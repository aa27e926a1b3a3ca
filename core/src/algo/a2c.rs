//! Advantage actor-critic, synchronous.
//!
//! Mnih et al. 2016, arXiv:1602.01783, algorithm S3, whose actors wait for each other: after T steps of N environments one gradient step of
//!
//! −mean A ln π(a|s) + c₁ ½ mean (v − R)² − c₂ mean H
//!
//! Departures from the paper, each with its reason:
//!  1. RMSprop's ε stands beside the root, as in `torch.optim.RMSprop`, and its average begins at 0; Stable-Baselines3 has a variant that
//!     begins at 1 with ε under the root
//!  2. separate networks for policy and value, which `critic` lets make their steps together or apart
//!  3. time-limited episodes bootstrap from the final observation (arXiv:1712.00378), and a step that is not finite is dropped and counted

use super::on_policy::{OnPolicy, OnPolicyLearner, OnePass, PolicyGradient, Sampling};
use super::{AlgorithmDef, Family};
use crate::Result;
use crate::optim::{OptimiserConfig, OptimiserKind};
use crate::policy::{MemoryConfig, NetConfig};
use crate::settings::Settings as _;

/// A2C in the register.
pub static A2C: AlgorithmDef = AlgorithmDef::new::<A2cConfig>(
    "a2c",
    "Advantage actor-critic, synchronous (arXiv:1602.01783)",
    Family::SingleTask,
    |settings, spec| Ok(Box::new(A2c::new(&A2cConfig::default().with(settings)?, spec)?)),
);

/// A2C on one environment.
pub type A2c = OnPolicyLearner<A2cConfig>;

crate::settings! {
    /// Hyper-parameters. Defaults are those of Stable-Baselines3's A2C, with 8 environments.
    pub struct A2cConfig {
        /// The loss and its steps.
        ..gradient: PolicyGradient = PolicyGradient {
            optimiser: OptimiserConfig {
                optimiser: OptimiserKind::RmsProp,
                learning_rate: 7e-4,
                ..OptimiserConfig::default()
            },
            ..PolicyGradient::default()
        };
        /// Rollouts and their advantages.
        ..sampling: Sampling = Sampling { horizon: 5, minibatches: 1, gae_lambda: 1.0, ..Sampling::default() };
        /// Policy and value network.
        ..net: NetConfig;
        /// Their memories: each network has its own, before its hidden layers.
        ..memory: MemoryConfig;
    }
}

impl A2cConfig {
    /// Every value on its own and in combination.
    ///
    /// # Errors
    /// [`Error::Config`](crate::Error::Config) with the first setting that cannot work and what to do about it.
    pub fn validate(&self) -> Result<()> {
        OnPolicy::validate(self)
    }
}

impl OnePass for A2cConfig {
    fn gradient(&self) -> &PolicyGradient {
        &self.gradient
    }

    fn sampling(&self) -> &Sampling {
        &self.sampling
    }

    fn sampling_mut(&mut self) -> &mut Sampling {
        &mut self.sampling
    }

    fn net(&self) -> &NetConfig {
        &self.net
    }

    fn memory(&self) -> MemoryConfig {
        self.memory
    }
}
