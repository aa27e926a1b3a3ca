//! PPO's settings.

use crate::algo::on_policy::{MAX_BATCH, Sampling};
use crate::nn::Activation;
use crate::optim::Schedule;
use crate::policy::{LOG_STD, NetConfig};
use crate::settings::{Range, Settings};
use crate::{Error, Result};

crate::settings! {
    /// Hyper-parameters. Defaults are those of CleanRL's `ppo.py`, with 8 environments instead of 4.
    pub struct PpoConfig {
        /// Adam's step size; lower it if train/approx_kl exceeds about 0.03
        ///
        /// α > 0 of Adam.
        learning_rate: f64 = 2.5e-4, Range::Positive;
        /// linear: towards 0 at the end of the run
        learning_rate_schedule: Schedule = Schedule::Linear;
        /// clip range of the probability ratio; smaller is safer and slower
        ///
        /// ε of eq. 7.
        clip_eps: f64 = 0.2, Range::Fraction;
        /// linear: towards 0 at the end of the run
        clip_eps_schedule: Schedule = Schedule::Constant;
        /// steps per environment between updates (T)
        horizon: usize = 128, Range::Count(1, MAX_BATCH as u64);
        /// environments that run side by side (N)
        envs: usize = 8, Range::Count(1, MAX_BATCH as u64);
        /// passes over each rollout
        epochs: usize = 4, Range::Count(1, MAX_BATCH as u64);
        /// parts that each pass is split into
        minibatches: usize = 4, Range::Shown(&Range::Count(1, MAX_BATCH as u64), "divides T · N");
        /// discount of later rewards
        gamma: f64 = 0.99, Range::Unit;
        /// λ of the advantages; lower: less variance, more bias
        gae_lambda: f64 = 0.95, Range::Unit;
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
        /// by their running mean and deviation
        normalise_observations: bool = false;
        /// by the running deviation of the discounted return
        normalise_rewards: bool = false;
        /// in each minibatch
        normalise_advantages: bool = true;
        /// hidden layers of policy and value network
        hidden: Vec<usize> = vec![64, 64];
        /// of the hidden layers
        activation: Activation = Activation::Tanh;
        /// orthogonal first weights; false: uniform as in PyTorch
        orthogonal_init: bool = true;
        /// first ln σ of continuous actions
        log_std_init: f64 = 0.0, LOG_STD;
        /// state-dependent exploration of continuous actions
        ///
        /// arXiv:2005.05719.
        sde: bool = false;
        /// steps between its noise matrices; 0: one per rollout
        sde_sample_freq: usize = 0, Range::Shown(&Range::Count(0, MAX_BATCH as u64), "0, or divides T");
        /// Adam's ε
        adam_eps: f64 = 1e-5, Range::Positive;
    }
}

impl PpoConfig {
    /// Environment steps per iteration and seed, T · N.
    pub fn batch(&self) -> usize {
        self.horizon * self.envs
    }

    /// Rows of one minibatch.
    pub fn minibatch(&self) -> usize {
        self.batch() / self.minibatches
    }

    /// How rollouts are made.
    pub(crate) fn sampling(&self) -> Sampling {
        Sampling {
            horizon: self.horizon,
            envs: self.envs,
            gamma: self.gamma,
            gae_lambda: self.gae_lambda,
            normalise_observations: self.normalise_observations,
            normalise_rewards: self.normalise_rewards,
            sde: self.sde,
            sde_sample_freq: self.sde_sample_freq,
        }
    }

    /// Sizes and kinds of the networks.
    pub fn net(&self) -> NetConfig {
        NetConfig {
            hidden: self.hidden.clone(),
            activation: self.activation,
            orthogonal_init: self.orthogonal_init,
            log_std_init: self.log_std_init,
            sde: self.sde,
            normalise_observations: self.normalise_observations,
        }
    }

    /// Every value on its own and in combination.
    ///
    /// # Errors
    /// [`Error::Config`] with the first setting that cannot work and what to do about it.
    pub fn validate(&self) -> Result<()> {
        self.check()?;
        self.sampling().validate(("epochs", self.epochs), self.minibatches)?;
        if self.normalise_advantages && self.batch() == self.minibatches {
            let m = self.minibatches;
            let problem = format!("{m} minibatches leave one step in each, whose advantage cannot be standardised");
            return Err(Error::config("minibatches", problem));
        }
        self.net().validate()
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
            problem(|c| (c.horizon, c.envs, c.minibatches) = (2048, 1, 7)),
            "minibatches: 7 must divide horizon × envs (2048 × 1 = 2048); try 8"
        );
        assert_eq!(problem(|c| c.gamma = 1.5), "gamma: 1.5 is not in 0 to 1");
        assert_eq!(problem(|c| c.learning_rate = f64::NAN), "learning_rate: NaN is not above 0");
        assert_eq!(problem(|c| c.max_grad_norm = -0.5), "max_grad_norm: -0.5 is not 0 or more");
        for beyond in [1e39, 1e-60] {
            assert!(problem(|c| c.learning_rate = beyond).contains("single precision"), "{beyond}");
        }
        assert!(problem(|c| c.envs = 0).starts_with("envs: 0"));
        assert!(problem(|c| (c.envs, c.horizon) = (1 << 20, 1 << 20)).contains("1048576 × 1048576"));
        assert!(problem(|c| (c.envs, c.horizon, c.minibatches) = (2, 8, 16)).contains("standardised"));
        assert!(problem(|c| c.sde_sample_freq = 3).contains("divide the horizon (128)"));
        assert!(problem(|c| c.hidden = vec![64, 0]).contains("width of 0"));
        assert!(problem(|c| c.clip_eps = 1.0).contains("between 0 and 1"));
        assert!(problem(|c| c.log_std_init = 3.0).contains("-20 to 2"));
    }
}
