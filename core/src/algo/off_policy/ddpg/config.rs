//! DDPG's settings.

use crate::Result;
use crate::algo::off_policy::Replay;
use crate::algo::off_policy::deterministic::DeterministicConfig;
use crate::learn::PolyakConfig;
use crate::optim::AdamConfig;
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
        /// noise on actions
        ///
        /// The paper's process is that of Ornstein and Uhlenbeck.
        noise: DdpgNoise = DdpgNoise::OrnsteinUhlenbeck;
        /// θ of the process: how strongly it is drawn back to 0
        noise_theta: f64 = 0.15, Range::NotNegative;
        /// time of a step in the process
        noise_dt: f64 = 1.0, Range::Positive;
        /// weight of the squares of the critic's weights in its loss
        weight_decay: f64 = 0.01, Range::NotNegative;
        /// The settings that TD3 has too.
        ..shared: DeterministicConfig = DeterministicConfig {
            policy_learning_rate: 1e-4,
            polyak: PolyakConfig { tau: 0.001 },
            sigma: 0.2,
            ..DeterministicConfig::hidden(vec![400, 300])
        };
    }
}

impl DdpgConfig {
    /// Every value on its own and in combination.
    ///
    /// # Errors
    /// [`crate::Error::Config`] with the first setting that cannot work and what to do about it.
    pub fn validate(&self) -> Result<()> {
        self.check()?;
        self.shared.net.validate()
    }
}
