//! DDPG's settings.

use crate::Result;
use crate::algo::off_policy::Replay;
use crate::nn::Activation;
use crate::optim::AdamConfig;
use crate::policy::LayersConfig;
use crate::settings::{Range, Settings};

/// The noise by which DDPG explores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DdpgNoise {
    /// Anew at each step.
    Gaussian,
    /// Drawn back to 0, so that it lasts for some steps.
    #[default]
    OrnsteinUhlenbeck,
}

crate::words!(DdpgNoise { Gaussian = "gaussian", OrnsteinUhlenbeck = "ornstein_uhlenbeck" });

crate::settings! {
    /// Hyper-parameters. Defaults are those of the paper, section 7.
    pub struct DdpgConfig {
        /// The steps of both networks.
        ..adam: AdamConfig = AdamConfig { learning_rate: 1e-3, adam_eps: 1e-8, ..AdamConfig::default() };
        /// The settings of playing, remembering and drawing.
        ..replay: Replay = Replay { batch_size: 64, ..Replay::default() };
        /// Adam's step size of the policy; learning_rate is that of the critic
        policy_learning_rate: f64 = 1e-4, Range::Positive;
        /// share of the networks in their targets, each update; small is slow
        tau: f64 = 0.001, Range::Share;
        /// noise on actions
        ///
        /// The paper's process is that of Ornstein and Uhlenbeck.
        noise: DdpgNoise = DdpgNoise::OrnsteinUhlenbeck;
        /// σ of the noise on actions, which are from −1 to 1
        sigma: f64 = 0.2, Range::NotNegative;
        /// θ of the process: how strongly it is drawn back to 0
        noise_theta: f64 = 0.15, Range::NotNegative;
        /// time of a step in the process
        noise_dt: f64 = 1.0, Range::Positive;
        /// weight of the squares of the critic's weights in its loss
        weight_decay: f64 = 0.01, Range::NotNegative;
        /// factor of rewards, once
        reward_scale: f64 = 1.0, Range::Positive;
        /// longer gradients of the policy are scaled down; 0: never
        max_grad_norm: f64 = 0.0, Range::NotNegative;
        /// The networks.
        ..net: LayersConfig = LayersConfig { hidden: vec![400, 300], activation: Activation::Relu, orthogonal_init: false };
    }
}

impl DdpgConfig {
    /// Every value on its own and in combination.
    ///
    /// # Errors
    /// [`crate::Error::Config`] with the first setting that cannot work and what to do about it.
    pub fn validate(&self) -> Result<()> {
        self.check()?;
        self.net.validate()
    }
}
