//! Vanilla policy gradient: REINFORCE with a baseline.
//!
//! Williams 1992, doi:10.1007/BF00992696; Sutton et al. 2000. The policy makes one step along mean A ln π(a|s), then the value function,
//! which is the baseline, is fitted to the returns by an optimiser of its own, as in garage's VPG.
//! Departures from garage, each with its reason:
//!  1. rollouts are of fixed length instead of whole episodes, so that all environments always play; where one is cut off, by its end or by a
//!     time limit, the value of what comes next stands for the rest (arXiv:1712.00378)
//!  2. a step that is not finite is dropped and counted

use super::on_policy::{CriticConfig, CriticSteps, OnPolicy, OnPolicyLearner, PolicyGradient, Sampled, Sampling};
use super::{ActorCritic, AlgorithmDef, Family, Held, Metrics};
use crate::optim::OptimiserConfig;
use crate::play::Iteration;
use crate::policy::NetConfig;
use crate::settings::Settings as _;
use crate::{Result, Tensor};

/// VPG in the register.
pub static VPG: AlgorithmDef = AlgorithmDef::new::<VpgConfig>(
    "vpg",
    "Vanilla policy gradient: REINFORCE with a baseline (doi:10.1007/BF00992696)",
    Family::SingleTask,
    |settings, spec| Ok(Box::new(Vpg::new(&VpgConfig::default().with(settings)?, spec)?)),
);

/// VPG on one environment.
pub type Vpg = OnPolicyLearner<VpgConfig>;

crate::settings! {
    /// Hyper-parameters. The order of the steps is garage's; the numbers are ours.
    pub struct VpgConfig {
        /// The loss and its steps.
        ..gradient: PolicyGradient = PolicyGradient {
            optimiser: OptimiserConfig { learning_rate: 1e-2, ..OptimiserConfig::default() },
            normalise_advantages: true,
            critic: CriticConfig {
                critic: CriticSteps::Last,
                critic_learning_rate: 1e-3,
                log_details: true,
                ..CriticConfig::default()
            },
            ..PolicyGradient::default()
        };
        /// Rollouts and their advantages.
        ..sampling: Sampling = Sampling { horizon: 128, minibatches: 1, gae_lambda: 1.0, ..Sampling::default() };
        /// Policy and value network.
        ..net: NetConfig;
    }
}

impl VpgConfig {
    /// Every value on its own and in combination.
    ///
    /// # Errors
    /// [`Error::Config`](crate::Error::Config) with the first setting that cannot work and what to do about it.
    pub fn validate(&self) -> Result<()> {
        self.check()?;
        self.gradient.critic.validate(&self.sampling, 1, self.gradient.normalise_advantages)?;
        self.net.validate()
    }
}

impl OnPolicy for VpgConfig {
    fn validate(&self) -> Result<()> {
        VpgConfig::validate(self)
    }

    fn net(&self) -> &NetConfig {
        &self.net
    }

    fn sampling(&self) -> &Sampling {
        &self.sampling
    }

    fn critic(&self) -> Option<(&CriticConfig, bool)> {
        Some((&self.gradient.critic, self.gradient.normalise_advantages))
    }

    fn schedules(&self, done: u64, total: u64) -> Vec<(&'static str, f64)> {
        self.gradient.schedules(done, total)
    }

    fn learn(&self, it: &mut Iteration<'_>, net: &ActorCritic, held: &Held, sampled: &Sampled<'_>) -> Metrics {
        self.gradient.update().learn(it, net, held, sampled, Tensor::constant_f32(1.0))
    }
}
