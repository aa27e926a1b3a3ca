//! TD3's settings.

use crate::Result;
use crate::algo::off_policy::Replay;
use crate::algo::off_policy::deterministic::DeterministicConfig;
use crate::optim::AdamConfig;
use crate::settings::{Range, Settings};

crate::settings! {
    /// Hyper-parameters. Defaults are those of Stable-Baselines3, with the paper's exploration.
    pub struct Td3Config {
        /// The steps of all networks.
        ..adam: AdamConfig = AdamConfig { learning_rate: 1e-3, adam_eps: 1e-8, ..AdamConfig::default() };
        /// The settings of playing, remembering and drawing.
        ..replay: Replay;
        /// d: updates of the critics for one of the policy and the targets
        policy_delay: usize = 2, Range::Count(1, 64);
        /// σ of the noise on the target's actions
        target_noise: f64 = 0.2, Range::NotNegative;
        /// limit of that noise, c
        target_noise_limit: f64 = 0.5, Range::NotNegative;
        /// The settings that DDPG has too.
        ..shared: DeterministicConfig = DeterministicConfig::hidden(vec![256, 256]);
    }
}

impl Td3Config {
    /// Every value on its own and in combination.
    ///
    /// # Errors
    /// [`crate::Error::Config`] with the first setting that cannot work and what to do about it.
    pub fn validate(&self) -> Result<()> {
        self.check()?;
        self.shared.net.validate()
    }
}
