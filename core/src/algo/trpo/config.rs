//! TRPO's settings.

use serde::{Deserialize, Serialize};

use crate::algo::on_policy::Sampling;
use crate::nn::Activation;
use crate::optim::{Hessian, Schedule, TrustRegion};
use crate::policy::NetConfig;
use crate::{Error, Result};

/// Hyper-parameters. Defaults are those of Stable-Baselines3's contributed TRPO.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TrpoConfig {
    /// Largest mean KL(old ‖ new) of a step, δ of eq. 12, above 0, default 0.01. Larger: faster and less safe.
    pub max_kl: f64,
    /// Conjugate-gradient iterations, default 15.
    pub cg_iterations: usize,
    /// Added to the diagonal of the KL's Hessian, at least 0, default 0.1. Larger: nearer to the plain gradient.
    pub damping: f64,
    /// Most steps of the line search, default 10.
    pub backtracks: usize,
    /// Factor between its steps, in (0, 1), default 0.8.
    pub backtrack_ratio: f64,
    /// `exact`, `finite_differences` or `one_sided_differences`, default `exact`.
    pub hessian: Hessian,
    /// Adam step size of the value function, above 0, default 1e-3.
    pub learning_rate: f64,
    /// `constant` or `linear` (towards 0 at the end of the run), default `constant`.
    pub learning_rate_schedule: Schedule,
    /// Passes over each rollout that fit the value function, default 10.
    pub critic_epochs: usize,
    /// Parts that each pass is split into; divides T · N, default 16.
    pub minibatches: usize,
    /// Environment steps per environment between updates (T), default 2048.
    pub horizon: usize,
    /// Environments that run side by side (N), default 1.
    pub envs: usize,
    /// Discount γ in [0, 1], default 0.99.
    pub gamma: f64,
    /// λ of the advantage estimates in [0, 1], default 0.95. Lower: less variance, more bias.
    pub gae_lambda: f64,
    /// Shift and scale observations by their running mean and deviation, default false.
    pub normalise_observations: bool,
    /// Scale rewards by the running deviation of the discounted return, default false.
    pub normalise_rewards: bool,
    /// Standardise the advantages of a rollout, default true.
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

impl Default for TrpoConfig {
    fn default() -> Self {
        TrpoConfig {
            max_kl: 0.01,
            cg_iterations: 15,
            damping: 0.1,
            backtracks: 10,
            backtrack_ratio: 0.8,
            hessian: Hessian::Exact,
            learning_rate: 1e-3,
            learning_rate_schedule: Schedule::Constant,
            critic_epochs: 10,
            minibatches: 16,
            horizon: 2048,
            envs: 1,
            gamma: 0.99,
            gae_lambda: 0.95,
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

impl TrpoConfig {
    /// Environment steps per iteration and seed, T · N.
    pub fn batch(&self) -> usize {
        self.horizon * self.envs
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

    /// The policy's steps.
    pub fn trust_region(&self) -> TrustRegion {
        TrustRegion {
            delta: self.max_kl,
            cg_iterations: self.cg_iterations,
            damping: self.damping,
            backtracks: self.backtracks,
            backtrack_ratio: self.backtrack_ratio,
            hessian: self.hessian,
        }
    }

    /// Every value on its own and in combination.
    ///
    /// # Errors
    /// [`Error::Config`] with the first setting that cannot work and what to do about it.
    pub fn validate(&self) -> Result<()> {
        self.trust_region().validate()?;
        Error::in_range("learning_rate", self.learning_rate, self.learning_rate > 0.0, "above 0")?;
        Error::in_range("adam_eps", self.adam_eps, self.adam_eps > 0.0, "above 0")?;
        self.sampling().validate(("critic_epochs", self.critic_epochs), self.minibatches)?;
        if self.normalise_advantages && self.batch() == 1 {
            let problem = "a rollout of one step has one advantage, which cannot be standardised";
            return Err(Error::config("horizon", problem));
        }
        self.net().validate()
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
        assert_eq!(toml::from_str::<TrpoConfig>(&toml::to_string(&config).unwrap()).unwrap(), config);
        assert_eq!(problem(|c| c.max_kl = 0.0), "max_kl: 0 is not above 0");
        assert_eq!(problem(|c| c.damping = -1.0), "damping: -1 is not 0 or more");
        assert_eq!(problem(|c| c.cg_iterations = 0), "cg_iterations: 0 is not in 1 to 1000");
        assert_eq!(problem(|c| c.backtrack_ratio = 1.0), "backtrack_ratio: 1 is not between 0 and 1");
        assert_eq!(
            problem(|c| c.minibatches = 7),
            "minibatches: 7 must divide horizon × envs (2048 × 1 = 2048); try 8"
        );
        assert!(problem(|c| c.critic_epochs = 0).starts_with("critic_epochs: 0"));
        assert!(problem(|c| (c.horizon, c.minibatches) = (1, 1)).contains("cannot be standardised"));
        assert!(problem(|c| c.log_std_init = 3.0).contains("-20 to 2"));
    }
}
