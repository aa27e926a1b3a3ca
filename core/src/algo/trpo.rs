//! Trust Region Policy Optimization.
//!
//! Schulman et al. 2015, arXiv:1502.05477, eq. 14 and appendix C.
//! Departures from the paper, each with its reason:
//!  1. the states are those of rollouts of fixed length, or of whole episodes (`min_rollouts`), whose advantages a value
//!     function estimates (arXiv:1506.02438), instead of whole trajectories' returns, as all that compare with TRPO do
//!  2. the value function is fitted by Adam on minibatches, as in Stable-Baselines3's contributed TRPO, whose settings and
//!     scores are published
//!  3. advantages are standardised over the rollout, time-limited episodes bootstrap from the final observation
//!     (arXiv:1712.00378), and a step that is not finite is dropped and counted
//!
//! An iteration is one program, run for all stacked seeds: rollout, advantages, conjugate gradients, line search, passes of
//! the value function. Nothing is read in between. Where policies remember, surrogate, KL and products with its Hessian
//! go through the steps of each environment in order, from the states before the rollout.

mod config;

pub use super::on_policy::{kl, surrogate};
pub use config::TrpoConfig;

use super::on_policy::{OnPolicy, OnPolicyLearner, Sampled, Sampling, TrustRegionUpdate};
use super::{ActorCritic, AlgorithmDef, Family, Held, Metrics};
use crate::Result;
use crate::optim::Progress;
use crate::play::Iteration;
use crate::policy::{MemoryConfig, NetConfig};
use crate::settings::Settings as _;

/// TRPO in the register.
pub static TRPO: AlgorithmDef = AlgorithmDef::new::<TrpoConfig>(
    "trpo",
    "Trust Region Policy Optimization (arXiv:1502.05477)",
    Family::SingleTask,
    |settings, spec| Ok(Box::new(Trpo::new(&TrpoConfig::default().with(settings)?, spec)?)),
);

/// TRPO on one environment.
pub type Trpo = OnPolicyLearner<TrpoConfig>;

impl OnPolicy for TrpoConfig {
    fn validate(&self) -> Result<()> {
        TrpoConfig::validate(self)
    }

    fn net(&self) -> &NetConfig {
        &self.net
    }

    fn memory(&self) -> MemoryConfig {
        self.memory
    }

    fn sampling(&self) -> &Sampling {
        &self.sampling
    }

    fn sampling_mut(&mut self) -> &mut Sampling {
        &mut self.sampling
    }

    fn schedules(&self, at: Progress) -> Vec<(&'static str, f64)> {
        vec![("train/learning_rate", self.adam.rate(at))]
    }

    fn takes_turns(&self) -> bool {
        true
    }

    fn learn(&self, it: &mut Iteration<'_>, net: &ActorCritic, held: &Held, sampled: &Sampled<'_>) -> Metrics {
        let update = TrustRegionUpdate {
            trust_region: &self.trust_region,
            curvature_share: self.curvature_share,
            optimiser: self.adam.optimiser().into(),
            critic_epochs: self.critic_epochs,
            critic_max_grad_norm: 0.0,
            normalise_advantages: self.normalise_advantages,
        };
        update.learn(it, net, held, sampled)
    }
}
