//! Policies that do not adapt, in traces.

use super::config::Config;
use crate::algo::ActorCritic;
use crate::env::EnvSpec;
use crate::meta::Learner;
use crate::nn::Layout;
use crate::policy::{Acting, NetConfig, Normalised, PolicyNet};
use crate::tensor::Named;
use crate::{Context, DType, Error, Result};

/// The networks of a policy without memory: of PPO and TRPO, or what MAML's family has before it adapts.
#[derive(Clone, Debug)]
pub(super) struct FixedPolicy {
    pub net: PolicyNet,
    layout: Layout,
    /// Observations are standardised first.
    normalise: bool,
}

impl FixedPolicy {
    /// # Errors
    /// [`Error::Config`] for a policy with a memory.
    pub fn new(config: &Config, spec: &EnvSpec) -> Result<FixedPolicy> {
        match config {
            Config::Ppo(ppo) => Ok(FixedPolicy::of(spec, &ppo.net())),
            Config::Trpo(trpo) => Ok(FixedPolicy::of(spec, &trpo.net())),
            Config::Maml(maml) => {
                let Learner { policy, layout, .. } = Learner::new(spec, maml);
                Ok(FixedPolicy { net: policy, layout, normalise: false })
            }
            Config::Rl2(_) => {
                let problem = "a policy with a memory does not act from one observation alone; let it adapt instead";
                Err(Error::config("algorithm", problem))
            }
        }
    }

    /// The policy of an [`ActorCritic`].
    pub fn of(spec: &EnvSpec, config: &NetConfig) -> FixedPolicy {
        let ActorCritic { layout, policy, .. } = ActorCritic::new(spec, config);
        FixedPolicy { net: policy, layout, normalise: config.normalise_observations }
    }

    /// Declares the parameters of `seeds` stacked policies, as [`Config::policy_entries`] names them.
    pub fn declare(&self, cx: &mut Context, seeds: usize) -> Acting {
        let parts = self.layout.split(cx.input("theta", &[seeds, self.layout.len()], DType::F32));
        let mut values = Named::new();
        if self.normalise {
            for name in ["obs_mean", "obs_var"] {
                values = values.and(name, cx.input(name, &[seeds, self.net.observations()], DType::F32));
            }
        }
        Acting { parts, values }
    }

    /// It as who acts.
    pub fn policy(&self) -> Normalised<'_> {
        Normalised(&self.net)
    }
}
