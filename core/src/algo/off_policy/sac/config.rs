//! SAC's settings.

use crate::Result;
use crate::algo::off_policy::Replay;
use crate::learn::PolyakConfig;
use crate::nn::Activation;
use crate::optim::AdamConfig;
use crate::policy::{LOG_STD, LayersConfig};
use crate::settings::{Range, Settings};

crate::settings! {
    /// Hyper-parameters. Defaults are those of Stable-Baselines3.
    pub struct SacConfig {
        /// The steps of all networks.
        ..adam: AdamConfig = AdamConfig { learning_rate: 3e-4, adam_eps: 1e-8, ..AdamConfig::default() };
        /// The settings of playing, remembering and drawing.
        ..replay: Replay;
        /// The critics' targets.
        ..polyak: PolyakConfig;
        /// updates from one step of the targets to the next
        target_update_interval: usize = 1, Range::Count(1, u32::MAX as u64);
        /// first weight of the entropy, α
        temperature: f64 = 1.0, Range::Positive;
        /// learn α, so that the entropy comes to its target
        learn_temperature: bool = true;
        /// target of the entropy for each number of an action that is a vector
        target_entropy: f64 = -1.0, Range::Between(-100.0, 100.0);
        /// target of the entropy of discrete actions, as a share of the largest one
        ///
        /// arXiv:1910.07207, section 4: 0.98 ln C of C choices.
        target_entropy_share: f64 = 0.98, Range::Unit;
        /// explore by a noise matrix on the policy's features, drawn anew after train_freq steps
        ///
        /// Generalised state-dependent exploration, arXiv:2005.05719. Iterations of whole episodes (`min_rollouts`)
        /// have one matrix each.
        sde: bool = false;
        /// α makes its step first, and the others use the new one
        ///
        /// As Pyrado; otherwise it makes its step last, as in the paper's algorithm.
        temperature_first: bool = false;
        /// factor of rewards, once
        reward_scale: f64 = 1.0, Range::Positive;
        /// divide each batch's rewards by their deviation, after taking off their mean
        ///
        /// As Pyrado; it changes what is best, where episodes can end.
        standardise_rewards: bool = false;
        /// longer gradients of the policy are scaled down; 0: never
        max_grad_norm: f64 = 0.0, Range::NotNegative;
        /// The networks.
        ..net: LayersConfig = LayersConfig {
            hidden: vec![256, 256],
            activation: Activation::Relu,
            orthogonal_init: false,
        };
        /// first ln σ of continuous actions
        log_std_init: f64 = -3.0, LOG_STD;
    }
}

impl SacConfig {
    /// Every value on its own and in combination.
    ///
    /// # Errors
    /// [`crate::Error::Config`] with the first setting that cannot work and what to do about it.
    pub fn validate(&self) -> Result<()> {
        self.check()?;
        self.net.validate()
    }
}
