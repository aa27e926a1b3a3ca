//! Parts that A2C, VPG, PPO, TRPO and SVPG share: rollouts under the trained policy, their credit, steps of policy and
//! value function, and the state between iterations.

mod actor_critic;
mod config;
mod contract;
mod critic_rule;
#[cfg(test)]
pub(crate) mod differences;
mod fitted;
mod loss;
mod minibatch;
mod networks;
mod rank_moments;
mod rollout;
mod sampling;
mod sequences;
mod values;
mod whole_episodes;

pub use actor_critic::{ActorCritic, Stepping};
pub use config::{AdvantageScope, CriticConfig, CriticSteps, PolicyGradient, ValueTargets};
pub use contract::{OnPolicy, OnPolicyLearner, Parts};
pub use critic_rule::{CriticOptimiser, CriticRule, CriticSchedule};
pub use fitted::{FittedBaseline, Predictions};
#[cfg(test)]
pub(super) use fitted::{RANGE, WEIGHTS};
pub use loss::{Losses, PolicyLook, approx_kl, likelihood_loss, likelihood_losses, value_loss};
pub use minibatch::{Minibatch, mean, standardise};
pub use networks::{Networks, StepRules};
pub use rollout::{Rollout, StepCredit};
pub use sampling::{MAX_BATCH, Sampling};
pub use sequences::Sequences;
pub use values::RolloutValues;
