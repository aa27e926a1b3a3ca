//! PPO's settings.

use crate::Result;
use crate::algo::on_policy::{AdvantageScope, CriticConfig, MAX_BATCH, Sampling, ValueTargets};
use crate::optim::{ClipFall, OptimiserConfig, Progress, RateSchedule, Schedule};
use crate::policy::{MemoryConfig, NetConfig};
use crate::settings::{Range, Settings};

crate::settings! {
    /// The limits of an update by PPO.
    #[derive(Copy)]
    pub struct ClipConfig {
        /// clip range of the probability ratio; smaller is safer and slower
        ///
        /// ε of eq. 7.
        clip_eps: f64 = 0.2, Range::Fraction;
        /// linear, cosine: towards 0 at the end of the run; exponential, step: to clip_eps_fall
        clip_eps_schedule: Schedule = Schedule::Constant;
        /// How far the clip range falls.
        ..fall: ClipFall;
        /// clip the change of the value as well
        value_clip: bool = true;
        /// above 0: stop an iteration's updates at 1.5 times this KL
        target_kl: f64 = 0.0, Range::NotNegative;
    }
}

impl ClipConfig {
    /// The clip range in the next iteration.
    #[must_use]
    pub fn clip_eps(&self, at: Progress) -> f64 {
        self.clip_eps * self.clip_eps_schedule.factor_by(self.fall, at.share())
    }
}

crate::settings! {
    /// Hyper-parameters. Defaults are those of CleanRL's `ppo.py`, with 8 environments instead of 4.
    pub struct PpoConfig {
        /// The steps of both networks.
        ..optimiser: OptimiserConfig = OptimiserConfig {
            learning_rate: 2.5e-4,
            schedule: RateSchedule { learning_rate_schedule: Schedule::Linear, ..RateSchedule::default() },
            ..OptimiserConfig::default()
        };
        /// The limits of its updates.
        ..limits: ClipConfig;
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
        /// subtract their mean, divide by their deviation
        normalise_advantages: bool = true;
        /// The value function.
        ..critic: CriticConfig;
        /// Rollouts and their advantages.
        ..sampling: Sampling;
        /// Policy and value network.
        ..net: NetConfig;
        /// Their memories: each network has its own, before its hidden layers.
        ..memory: MemoryConfig;
    }
}

impl PpoConfig {
    /// The defaults of `ppo2`, which are those of Pyrado's `PPO2` and `GAE` as far as they are settings here. A
    /// minibatch has its 32 steps, of the 8 × 128 that PPO plays here; `minibatch_size` would win over the number of
    /// minibatches that a user or an older snapshot says.
    #[must_use]
    pub fn ppo2() -> PpoConfig {
        PpoConfig {
            optimiser: OptimiserConfig { learning_rate: 5e-4, ..OptimiserConfig::default() },
            limits: ClipConfig { clip_eps: 0.1, ..ClipConfig::default() },
            epochs: 3,
            entropy_coef: 1e-3,
            max_grad_norm: 0.0,
            sampling: Sampling { minibatches: 32, ..Sampling::default() },
            critic: CriticConfig {
                value_targets: ValueTargets::Empirical,
                advantage_scope: AdvantageScope::Rollout,
                log_details: true,
                ..CriticConfig::default()
            },
            ..PpoConfig::default()
        }
    }

    /// Every value on its own and in combination.
    ///
    /// # Errors
    /// [`Error::Config`](crate::Error::Config) with the first setting that cannot work and what to do about it.
    pub fn validate(&self) -> Result<()> {
        self.check()?;
        self.critic.validate((&self.sampling, &self.memory), self.epochs, self.normalise_advantages)?;
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
            "minibatches: 7 must divide horizon × envs (2048 × 1 = 2048); try 8, or set \
             minibatch_size, which need not"
        );
        assert_eq!(problem(|c| c.sampling.gamma = 1.5), "gamma: 1.5 is not in 0 to 1");
        assert_eq!(problem(|c| c.optimiser.learning_rate = f64::NAN), "learning_rate: NaN is not above 0");
        assert_eq!(problem(|c| c.max_grad_norm = -0.5), "max_grad_norm: -0.5 is not 0 or more");
        for beyond in [1e39, 1e-60] {
            assert!(problem(|c| c.optimiser.learning_rate = beyond).contains("single precision"), "{beyond}");
        }
        assert!(problem(|c| c.sampling.envs = 0).starts_with("envs: 0"));
        assert!(problem(|c| (c.sampling.envs, c.sampling.horizon) = (1 << 20, 1 << 20)).contains("1048576 × 1048576"));
        assert!(
            problem(|c| (c.sampling.envs, c.sampling.horizon, c.sampling.minibatches) = (2, 8, 16))
                .contains("standardised")
        );
        assert!(problem(|c| c.sampling.sde_sample_freq = 3).contains("divide the horizon (128)"));
        assert!(problem(|c| c.net.layers.hidden = vec![64, 0]).contains("width of 0"));
        assert!(problem(|c| c.limits.clip_eps = 1.0).contains("between 0 and 1"));
        assert!(problem(|c| c.net.gaussian.log_std_init = 3.0).contains("-20 to 2"));
    }
}
