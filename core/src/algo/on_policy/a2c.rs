//! Advantage actor-critic, synchronous.
//!
//! Mnih et al. 2016, arXiv:1602.01783, algorithm S3, with actors that wait for each other: after T steps of N
//! environments one step of descent is made on
//!
//! −mean A ln π(a|s) + c₁ ½ mean (v − R)² − c₂ mean H
//!
//! Departures from the paper, each with its reason:
//!  1. RMSprop's ε stands beside the root, as in `torch.optim.RMSprop`, and its average begins at 0; Stable-Baselines3
//!     has a variant that begins at 1 with ε under the root
//!  2. policy and value have separate networks, which make their steps together or apart, as `critic` says
//!  3. time-limited episodes bootstrap from the final observation (arXiv:1712.00378), and a step
//!     that is not finite is dropped and counted

use super::{Networks, OnPolicy, OnPolicyLearner, Parts, PolicyGradient, Rollout, Sampling, likelihood_losses};
use crate::Result;
use crate::algo::{ActorCritic, AlgorithmDef, Family, Held, Metrics};
use crate::learn::Turn;
use crate::optim::{OptimiserConfig, OptimiserKind, Progress};
use crate::play::Iteration;
use crate::policy::{MemoryConfig, NetConfig};
use crate::settings::Settings as _;

/// A2C in the register.
pub static A2C: AlgorithmDef = AlgorithmDef {
    presets: crate::algo::presets!("a2c/presets.toml"),
    ..AlgorithmDef::new::<A2cConfig>(
        "a2c",
        "Advantage actor-critic, synchronous (arXiv:1602.01783)",
        Family::SingleTask,
        |settings, spec| Ok(Box::new(A2c::new(&A2cConfig::default().with(settings)?, spec)?)),
    )
};

/// A2C on an environment.
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
    /// Checks every setting, alone and in combination.
    ///
    /// # Errors
    /// [`Error::Config`](crate::Error::Config) with the first setting that cannot work and what to do about it.
    pub fn validate(&self) -> Result<()> {
        self.check()?;
        self.gradient.validate(&self.sampling, &self.memory)?;
        self.net.validate()
    }
}

impl OnPolicy for A2cConfig {
    fn parts(&self) -> Parts<'_> {
        Parts {
            sampling: &self.sampling,
            net: &self.net,
            memory: self.memory,
            stepping: self.gradient.critic.stepping(),
            entries: self.gradient.critic.entries(self.gradient.normalise_advantages),
            baseline: None,
        }
    }

    fn sampling_mut(&mut self) -> &mut Sampling {
        &mut self.sampling
    }

    fn validate(&self) -> Result<()> {
        A2cConfig::validate(self)
    }

    fn schedules(&self, at: Progress) -> Vec<(&'static str, f64)> {
        self.gradient.schedules(at)
    }

    /// Makes an iteration of algorithm S3.
    fn iteration(&self, nets: &ActorCritic, it: &mut Iteration<'_>, held: &Held, turn: Option<&dyn Turn>) -> Metrics {
        let critic = &self.gradient.critic;
        let rollout = Rollout::collect(&self.sampling, nets, it, held);
        let mut credit = rollout.credit(&rollout.values, critic.target_lambda());
        let explained = rollout.explained_variance(&credit);
        let mut networks = Networks::begin(&rollout, self.gradient.steps(), held, turn);
        if critic.first() {
            networks.step_critic(it, &credit);
            credit = rollout.credit(&rollout.values_by(networks.critic()), critic.target_lambda());
        }
        networks.step_policy(it, held, &credit, &|parts, batch, standardised| {
            likelihood_losses(nets, parts, batch, standardised)
        });
        if critic.last() {
            networks.step_critic(it, &credit);
        }
        networks.keep(it, explained)
    }
}
