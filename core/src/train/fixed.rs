//! Policies that do not adapt, in traces.

use super::config::Config;
use crate::algo::{ActorCritic, Distribution, NetConfig, OBS_LIMIT, PolicyNet};
use crate::env::EnvSpec;
use crate::meta::Learner;
use crate::nn::Layout;
use crate::sample::Moments;
use crate::{Context, DType, Error, Result, Tensor};

/// The networks of a policy without memory: of PPO and TRPO, or what MAML's family has before it adapts.
#[derive(Clone, Debug)]
pub(super) struct FixedPolicy {
    pub net: PolicyNet,
    layout: Layout,
    /// Observations are standardised first.
    normalise: bool,
}

/// Its parameters in a trace.
#[derive(Clone, Debug)]
pub(super) struct FixedParts {
    parts: Vec<Tensor>,
    moments: Option<Moments>,
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
    pub fn declare(&self, cx: &mut Context, seeds: usize) -> FixedParts {
        let parts = self.layout.split(cx.input("theta", &[seeds, self.layout.len()], DType::F32));
        let moments = self.normalise.then(|| {
            let mut of = |name: &str| cx.input(name, &[seeds, self.net.observations()], DType::F32);
            Moments { mean: of("obs_mean"), var: of("obs_var"), count: Tensor::zeros(&[seeds, 1]) }
        });
        FixedParts { parts, moments }
    }

    /// What it does at `obs: [S, B, O]`.
    #[track_caller]
    pub fn distribution(&self, of: &FixedParts, obs: Tensor) -> Distribution {
        self.net.distribution(&of.parts, of.moments.map_or(obs, |m| m.standardise(obs, OBS_LIMIT)))
    }
}
