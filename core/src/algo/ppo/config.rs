//! PPO's settings.

use crate::algo::on_policy::{MAX_BATCH, Sampling};
use crate::optim::{AdamConfig, Schedule};
use crate::policy::NetConfig;
use crate::settings::{Range, Settings};
use crate::{Error, Result};

crate::settings! {
    /// Hyper-parameters. Defaults are those of CleanRL's `ppo.py`, with 8 environments instead of 4.
    pub struct PpoConfig {
        /// The steps of both networks.
        ..adam: AdamConfig =
            AdamConfig { learning_rate: 2.5e-4, learning_rate_schedule: Schedule::Linear, ..AdamConfig::default() };
        /// clip range of the probability ratio; smaller is safer and slower
        ///
        /// ε of eq. 7.
        clip_eps: f64 = 0.2, Range::Fraction;
        /// linear: towards 0 at the end of the run
        clip_eps_schedule: Schedule = Schedule::Constant;
        /// passes over each rollout
        epochs: usize = 4, Range::Count(1, MAX_BATCH as u64);
        /// weight of the entropy bonus
        ///
        /// c₂ of eq. 9.
        entropy_coef: f64 = 0.01, Range::NotNegative;
        /// weight of the value loss ½ (v − R)²
        ///
        /// c₁ of eq. 9. Stable-Baselines3's `vf_coef` weighs (v − R)², so it is half of this.
        value_coef: f64 = 0.5, Range::NotNegative;
        /// longer gradients are scaled down; 0: never
        max_grad_norm: f64 = 0.5, Range::NotNegative;
        /// clip the change of the value as well
        value_clip: bool = true;
        /// above 0: stop an iteration's updates at 1.5 times this KL
        target_kl: f64 = 0.0, Range::NotNegative;
        /// in each minibatch
        normalise_advantages: bool = true;
        /// Rollouts and their advantages.
        ..sampling: Sampling;
        /// Policy and value network.
        ..net: NetConfig;
    }
}

impl PpoConfig {
    /// Every value on its own and in combination.
    ///
    /// # Errors
    /// [`Error::Config`] with the first setting that cannot work and what to do about it.
    pub fn validate(&self) -> Result<()> {
        self.check()?;
        self.sampling.validate("epochs", self.epochs)?;
        if self.normalise_advantages && self.sampling.batch() == self.sampling.minibatches {
            let m = self.sampling.minibatches;
            let problem = format!("{m} minibatches leave one step in each, whose advantage cannot be standardised");
            return Err(Error::config("minibatches", problem));
        }
        self.net.validate()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(change: impl FnOnce(&mut PpoConfig)) -> String {
        let mut config = PpoConfig::default();
        change(&mut config);
        config.validate().unwrap_err().to_string()
    }

    #[test]
    fn the_defaults_are_valid_and_read_back() {
        let config = PpoConfig::default();
        config.validate().unwrap();
        assert_eq!(PpoConfig::default().with(&config.table()).unwrap(), config);
        assert!(PpoConfig::default().with(&toml::from_str("clip_esp = 0.1").unwrap()).is_err());
    }

    #[test]
    fn wrong_values_are_named_with_what_would_work() {
        assert_eq!(
            problem(|c| (c.sampling.horizon, c.sampling.envs, c.sampling.minibatches) = (2048, 1, 7)),
            "minibatches: 7 must divide horizon × envs (2048 × 1 = 2048); try 8"
        );
        assert_eq!(problem(|c| c.sampling.gamma = 1.5), "gamma: 1.5 is not in 0 to 1");
        assert_eq!(problem(|c| c.adam.learning_rate = f64::NAN), "learning_rate: NaN is not above 0");
        assert_eq!(problem(|c| c.max_grad_norm = -0.5), "max_grad_norm: -0.5 is not 0 or more");
        for beyond in [1e39, 1e-60] {
            assert!(problem(|c| c.adam.learning_rate = beyond).contains("single precision"), "{beyond}");
        }
        assert!(problem(|c| c.sampling.envs = 0).starts_with("envs: 0"));
        assert!(problem(|c| (c.sampling.envs, c.sampling.horizon) = (1 << 20, 1 << 20)).contains("1048576 × 1048576"));
        assert!(
            problem(|c| (c.sampling.envs, c.sampling.horizon, c.sampling.minibatches) = (2, 8, 16))
                .contains("standardised")
        );
        assert!(problem(|c| c.sampling.sde_sample_freq = 3).contains("divide the horizon (128)"));
        assert!(problem(|c| c.net.hidden = vec![64, 0]).contains("width of 0"));
        assert!(problem(|c| c.clip_eps = 1.0).contains("between 0 and 1"));
        assert!(problem(|c| c.net.log_std_init = 3.0).contains("-20 to 2"));
    }
}
