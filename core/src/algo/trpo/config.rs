//! TRPO's settings.

use crate::algo::on_policy::{MAX_BATCH, Sampling};
use crate::nn::Activation;
use crate::optim::{Hessian, Schedule, TrustRegion};
use crate::policy::{LOG_STD, NetConfig};
use crate::settings::{Range, Settings};
use crate::{Error, Result};

crate::settings! {
    /// Hyper-parameters. Defaults are those of Stable-Baselines3's contributed TRPO.
    pub struct TrpoConfig {
        /// largest KL of the old policy from the new one in a step
        ///
        /// δ of eq. 12. Larger: faster and less safe.
        max_kl: f64 = 0.01, Range::Positive;
        /// conjugate-gradient iterations
        cg_iterations: usize = 15, Range::Count(1, 1000);
        /// added to the diagonal of the KL's Hessian
        ///
        /// Larger: nearer to the plain gradient.
        damping: f64 = 0.1, Range::NotNegative;
        /// most steps of the line search
        backtracks: usize = 10, Range::Count(1, 1000);
        /// factor between its steps
        backtrack_ratio: f64 = 0.8, Range::Fraction;
        /// products with the KL's Hessian
        hessian: Hessian = Hessian::Exact;
        /// Adam's step size, of the value function
        learning_rate: f64 = 1e-3, Range::Positive;
        /// linear: towards 0 at the end of the run
        learning_rate_schedule: Schedule = Schedule::Constant;
        /// passes over each rollout that fit the value function
        critic_epochs: usize = 10, Range::Count(1, MAX_BATCH as u64);
        /// parts that each pass is split into
        minibatches: usize = 16, Range::Shown(&Range::Count(1, MAX_BATCH as u64), "divides T · N");
        /// steps per environment between updates (T)
        horizon: usize = 2048, Range::Count(1, MAX_BATCH as u64);
        /// environments that run side by side (N)
        envs: usize = 1, Range::Count(1, MAX_BATCH as u64);
        /// discount of later rewards
        gamma: f64 = 0.99, Range::Unit;
        /// λ of the advantages; lower: less variance, more bias
        gae_lambda: f64 = 0.95, Range::Unit;
        /// by their running mean and deviation
        normalise_observations: bool = false;
        /// by the running deviation of the discounted return
        normalise_rewards: bool = false;
        /// over each rollout
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
        self.check()?;
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
        assert_eq!(TrpoConfig::default().with(&config.table()).unwrap(), config);
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
