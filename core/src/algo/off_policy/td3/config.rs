//! TD3's settings.

use crate::Result;
use crate::algo::off_policy::Replay;
use crate::nn::Activation;
use crate::optim::AdamConfig;
use crate::policy::LayersConfig;
use crate::settings::{Range, Settings};

crate::settings! {
    /// Hyper-parameters. Defaults are those of Stable-Baselines3, with the paper's exploration.
    pub struct Td3Config {
        /// The steps of all networks.
        ..adam: AdamConfig = AdamConfig { learning_rate: 1e-3, adam_eps: 1e-8, ..AdamConfig::default() };
        /// The settings of playing, remembering and drawing.
        ..replay: Replay;
        /// Adam's step size of the policy; learning_rate is that of the critics
        policy_learning_rate: f64 = 1e-3, Range::Positive;
        /// share of the networks in their targets, at each step of these; small is slow
        tau: f64 = 0.005, Range::Share;
        /// σ of the noise on actions, which are from −1 to 1
        sigma: f64 = 0.1, Range::NotNegative;
        /// d: updates of the critics for one of the policy and the targets
        policy_delay: usize = 2, Range::Count(1, 64);
        /// σ of the noise on the target's actions
        target_noise: f64 = 0.2, Range::NotNegative;
        /// limit of that noise, c
        target_noise_limit: f64 = 0.5, Range::NotNegative;
        /// factor of rewards, once
        reward_scale: f64 = 1.0, Range::Positive;
        /// longer gradients of the policy are scaled down; 0: never
        max_grad_norm: f64 = 0.0, Range::NotNegative;
        /// The networks.
        ..net: LayersConfig = LayersConfig { hidden: vec![256, 256], activation: Activation::Relu, orthogonal_init: false };
    }
}

impl Td3Config {
    /// Every value on its own and in combination.
    ///
    /// # Errors
    /// [`crate::Error::Config`] with the first setting that cannot work and what to do about it.
    pub fn validate(&self) -> Result<()> {
        self.check()?;
        self.net.validate()
    }
}
