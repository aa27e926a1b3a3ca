//! TRPO's settings.

use crate::Result;
use crate::algo::on_policy::{MAX_BATCH, Sampling};
use crate::optim::{OptimiserConfig, TrustRegion};
use crate::policy::{MemoryConfig, NetConfig};
use crate::settings::{Range, Settings};

crate::settings! {
    /// Hyper-parameters. Defaults are those of Stable-Baselines3's contributed TRPO.
    pub struct TrpoConfig {
        /// The steps of the policy.
        ..trust_region: TrustRegion = TrustRegion {
            cg_iterations: 15,
            damping: 0.1,
            backtracks: 10,
            ..TrustRegion::default()
        };
        /// share of each rollout's steps that the KL's Hessian is of
        ///
        /// Takes this share of the steps, at even distances; where policies remember, of the environments, each with
        /// all of its steps. A smaller one is cheaper, and gives a rougher direction; the limit itself is that of all
        /// steps.
        curvature_share: f64 = 1.0, Range::Share;
        /// The steps of the value function.
        ..optimiser: OptimiserConfig;
        /// passes over each rollout in which the value function is fitted
        critic_epochs: usize = 10, Range::Count(1, MAX_BATCH as u64);
        /// over each rollout
        normalise_advantages: bool = true;
        /// Rollouts and their advantages.
        ..sampling: Sampling = Sampling { horizon: 2048, envs: 1, minibatches: 16, ..Sampling::default() };
        /// Policy and value network.
        ..net: NetConfig;
        /// Their memories: each network has its own, before its hidden layers.
        ..memory: MemoryConfig;
    }
}

impl TrpoConfig {
    /// Every value on its own and in combination.
    ///
    /// # Errors
    /// [`Error::Config`](crate::Error::Config) with the first setting that cannot work and what to do about it.
    pub fn validate(&self) -> Result<()> {
        self.check()?;
        self.sampling.validate("critic_epochs", self.critic_epochs)?;
        self.sampling.validate_standardised(self.normalise_advantages)?;
        self.net.validate()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(change: impl FnOnce(&mut TrpoConfig)) -> String {
        let mut config = TrpoConfig::default();
        change(&mut config);
        config.validate().unwrap_err().to_string()
    }

    #[test]
    fn the_defaults_are_valid_and_wrong_values_are_named() {
        let config = TrpoConfig::default();
        config.validate().unwrap();
        assert_eq!(TrpoConfig::default().with(&config.table()).unwrap(), config);
        assert_eq!(problem(|c| c.trust_region.max_kl = 0.0), "max_kl: 0 is not above 0");
        assert_eq!(problem(|c| c.trust_region.damping = -1.0), "damping: -1 is not 0 or more");
        assert_eq!(problem(|c| c.trust_region.cg_iterations = 0), "cg_iterations: 0 is not in 1 to 1000");
        assert_eq!(problem(|c| c.trust_region.backtrack_ratio = 1.0), "backtrack_ratio: 1 is not between 0 and 1");
        assert_eq!(
            problem(|c| c.sampling.minibatches = 7),
            "minibatches: 7 must divide horizon × envs (2048 × 1 = 2048); try 8, or set \
             minibatch_size, which need not"
        );
        assert!(problem(|c| c.critic_epochs = 0).starts_with("critic_epochs: 0"));
        assert!(problem(|c| (c.sampling.horizon, c.sampling.minibatches) = (1, 1)).contains("cannot be standardised"));
        assert!(problem(|c| c.net.gaussian.log_std_init = 3.0).contains("-20 to 2"));
        let problem = problem(|c| (c.net.gaussian.log_std_init, c.net.gaussian.min_std) = (-1.0, 0.5));
        assert!(problem.starts_with("min_std: 0.5 is above the first σ, e^log_std_init = 0.368"), "{problem}");
    }
}
