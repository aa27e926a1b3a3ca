//! DDPG's settings.

use crate::algo::off_policy::Replay;
use crate::algo::off_policy::deterministic::DeterministicConfig;
use crate::learn::PolyakConfig;
use crate::optim::AdamConfig;
use crate::settings::{Range, Settings};
use crate::{Error, Result};

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
        ///
        /// Each step takes θ · `noise_dt` times the noise away from it. From 2 on it grows from step to step.
        noise_theta: f64 = 0.15, Range::Shown(&Range::NotNegative, "0 to 2 / noise_dt");
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
        let (theta, dt) = (self.noise_theta, self.noise_dt);
        if self.noise == DdpgNoise::OrnsteinUhlenbeck && theta * dt >= 2.0 {
            let problem = format!(
                "{theta} × noise_dt ({dt}) must be below 2: each step takes that many times the noise away from it, \
                 and from 2 on it grows without end; lower one of them, or set noise to \"gaussian\""
            );
            return Err(Error::config("noise_theta", problem));
        }
        self.shared.net.validate()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noise_that_would_grow_from_step_to_step_is_refused() {
        let config =
            |noise, noise_theta, noise_dt| DdpgConfig { noise, noise_theta, noise_dt, ..DdpgConfig::default() };
        let process = |theta, dt| config(DdpgNoise::OrnsteinUhlenbeck, theta, dt).validate();
        for (theta, dt) in [(8.28, 1.0), (2.0, 1.0), (0.15, 20.0)] {
            let message = process(theta, dt).unwrap_err().to_string();
            assert!(
                message.starts_with(&format!("noise_theta: {theta} × noise_dt ({dt}) must be below 2")),
                "{message}"
            );
        }
        assert!(process(8.28, 0.01).is_ok() && process(1.99, 1.0).is_ok() && process(0.0, 1.0).is_ok());
        assert!(config(DdpgNoise::Gaussian, 8.28, 1.0).validate().is_ok());
    }
}
