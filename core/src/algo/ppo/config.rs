//! PPO's settings.

use serde::{Deserialize, Serialize};

use crate::algo::on_policy::Sampling;
use crate::nn::Activation;
use crate::optim::Schedule;
use crate::policy::NetConfig;
use crate::{Error, Result};

/// Hyper-parameters. Defaults are those of CleanRL's `ppo.py`, with 8 environments instead of 4.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PpoConfig {
    /// Adam step size α > 0, default 2.5e-4. Raise for speed, lower if `train/approx_kl` exceeds about 0.03.
    pub learning_rate: f64,
    /// `constant` or `linear` (towards 0 at the end of the run), default `linear`.
    pub learning_rate_schedule: Schedule,
    /// Clip range ε of eq. 7, in (0, 1), default 0.2. Smaller steps are safer and slower.
    pub clip_eps: f64,
    /// `constant` or `linear`, default `constant`.
    pub clip_eps_schedule: Schedule,
    /// Environment steps per environment between updates (T), default 128.
    pub horizon: usize,
    /// Environments that run side by side (N), default 8.
    pub envs: usize,
    /// Passes over each rollout, default 4.
    pub epochs: usize,
    /// Parts that each pass is split into; divides T · N, default 4.
    pub minibatches: usize,
    /// Discount γ in [0, 1], default 0.99.
    pub gamma: f64,
    /// λ of the advantage estimates in [0, 1], default 0.95. Lower: less variance, more bias.
    pub gae_lambda: f64,
    /// Weight of the entropy bonus, c₂ of eq. 9, at least 0, default 0.01.
    pub entropy_coef: f64,
    /// Weight of the value loss ½ (v − R)², c₁ of eq. 9, at least 0, default 0.5. Stable-Baselines3's `vf_coef` weighs
    /// (v − R)², so it is half of this.
    pub value_coef: f64,
    /// Longer gradients are scaled down to this length; 0: never. Default 0.5.
    pub max_grad_norm: f64,
    /// Clip the change of the value by ε as well, default true.
    pub value_clip: bool,
    /// If above 0: no more updates in an iteration once `approx_kl` exceeds 1.5 times this, default 0 (never stop).
    pub target_kl: f64,
    /// Shift and scale observations by their running mean and deviation, default false.
    pub normalise_observations: bool,
    /// Scale rewards by the running deviation of the discounted return, default false.
    pub normalise_rewards: bool,
    /// Standardise advantages in each minibatch, default true.
    pub normalise_advantages: bool,
    /// Widths of the hidden layers of policy and value network, default `[64, 64]`.
    pub hidden: Vec<usize>,
    /// `tanh` or `relu`, default `tanh`.
    pub activation: Activation,
    /// Orthogonal initial weights; false: uniform as in PyTorch. Default true.
    pub orthogonal_init: bool,
    /// Initial ln σ of continuous actions, default 0.
    pub log_std_init: f64,
    /// State-dependent exploration (arXiv:2005.05719) of continuous actions, default false.
    pub sde: bool,
    /// Steps between new noise matrices of state-dependent exploration; divides T; 0: one per rollout. Default 0.
    pub sde_sample_freq: usize,
    /// Adam's ε, above 0, default 1e-5.
    pub adam_eps: f64,
}

impl Default for PpoConfig {
    fn default() -> Self {
        PpoConfig {
            learning_rate: 2.5e-4,
            learning_rate_schedule: Schedule::Linear,
            clip_eps: 0.2,
            clip_eps_schedule: Schedule::Constant,
            horizon: 128,
            envs: 8,
            epochs: 4,
            minibatches: 4,
            gamma: 0.99,
            gae_lambda: 0.95,
            entropy_coef: 0.01,
            value_coef: 0.5,
            max_grad_norm: 0.5,
            value_clip: true,
            target_kl: 0.0,
            normalise_observations: false,
            normalise_rewards: false,
            normalise_advantages: true,
            hidden: vec![64, 64],
            activation: Activation::Tanh,
            orthogonal_init: true,
            log_std_init: 0.0,
            sde: false,
            sde_sample_freq: 0,
            adam_eps: 1e-5,
        }
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

    /// What the networks are made of.
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
        let number = Error::in_range;
        number("learning_rate", self.learning_rate, self.learning_rate > 0.0, "above 0")?;
        number("clip_eps", self.clip_eps, self.clip_eps > 0.0 && self.clip_eps < 1.0, "between 0 and 1")?;
        number("entropy_coef", self.entropy_coef, self.entropy_coef >= 0.0, "0 or more")?;
        number("value_coef", self.value_coef, self.value_coef >= 0.0, "0 or more")?;
        number("max_grad_norm", self.max_grad_norm, self.max_grad_norm >= 0.0, "0 (no limit) or more")?;
        number("target_kl", self.target_kl, self.target_kl >= 0.0, "0 (never stop) or more")?;
        number("adam_eps", self.adam_eps, self.adam_eps > 0.0, "above 0")?;
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
        assert_eq!(toml::from_str::<PpoConfig>(&toml::to_string(&config).unwrap()).unwrap(), config);
        assert!(toml::from_str::<PpoConfig>("clip_esp = 0.1").is_err());
    }

    #[test]
    fn wrong_values_are_named_with_what_would_work() {
        assert_eq!(
            problem(|c| (c.horizon, c.envs, c.minibatches) = (2048, 1, 7)),
            "minibatches: 7 must divide horizon × envs (2048 × 1 = 2048); try 8"
        );
        assert_eq!(problem(|c| c.gamma = 1.5), "gamma: 1.5 is not in 0 to 1");
        assert_eq!(problem(|c| c.learning_rate = f64::NAN), "learning_rate: NaN is not above 0");
        assert_eq!(problem(|c| c.max_grad_norm = -0.5), "max_grad_norm: -0.5 is not 0 (no limit) or more");
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
