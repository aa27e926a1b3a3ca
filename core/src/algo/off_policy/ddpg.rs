//! Deep Deterministic Policy Gradient.
//!
//! Lillicrap et al. 2015, arXiv:1509.02971, algorithm 1.
//! Departures from the paper, each with its reason:
//!  1. the critic reads actions in its first layer instead of its second, as in Stable-Baselines3
//!  2. last layers are initialised like other layers
//!  3. time-limited episodes bootstrap from their final observation (arXiv:1712.00378)
//!  4. an update with a gradient that is not finite is dropped and counted
//!
//! Noise is in units of actions that range from −1 to 1.

mod config;

pub use config::{DdpgConfig, DdpgNoise};

use super::shared::OffPolicyLearner;
use super::shared::deterministic::{Deterministic, DeterministicSettings};
use crate::Result;
use crate::algo::{AlgorithmDef, Family};
use crate::env::EnvSpec;
use crate::policy::Noise;
use crate::settings::Settings as _;

/// DDPG in the register.
pub static DDPG: AlgorithmDef = AlgorithmDef {
    presets: crate::algo::presets!("ddpg/presets.toml"),
    ..AlgorithmDef::new::<DdpgConfig>(
        "ddpg",
        "Deep Deterministic Policy Gradient (arXiv:1509.02971)",
        Family::SingleTask,
        |settings, spec| Ok(Box::new(ddpg(&DdpgConfig::default().with(settings)?, spec)?)),
    )
};

/// Makes DDPG for an environment whose actions are vectors.
///
/// # Errors
/// If a setting is invalid, or does not fit the environment.
pub fn ddpg(config: &DdpgConfig, spec: &EnvSpec) -> Result<OffPolicyLearner<Deterministic>> {
    OffPolicyLearner::new(networks(config, spec)?, spec)
}

/// Makes the networks of DDPG, with its settings.
///
/// # Errors
/// If a setting is invalid, or does not fit the environment.
pub fn networks(config: &DdpgConfig, spec: &EnvSpec) -> Result<Deterministic> {
    config.validate()?;
    let noise = match config.noise {
        DdpgNoise::Gaussian => Noise::Gaussian,
        DdpgNoise::OrnsteinUhlenbeck => Noise::OrnsteinUhlenbeck { theta: config.noise_theta, dt: config.noise_dt },
    };
    let settings = DeterministicSettings {
        replay: config.replay,
        shared: config.shared.clone(),
        adam: config.adam,
        noise,
        weight_decay: config.weight_decay,
        critics: 1,
        delay: 1,
        smoothing: None,
    };
    Deterministic::new(settings, spec)
}
