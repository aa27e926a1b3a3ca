//! Twin Delayed Deep Deterministic policy gradient.
//!
//! Fujimoto et al. 2018, arXiv:1802.09477, algorithm 1.
//! Departures from the paper, each with its reason:
//!  1. time-limited episodes bootstrap from their final observation (arXiv:1712.00378)
//!  2. an update with a gradient that is not finite is dropped and counted
//!
//! Noise is in units of actions that range from −1 to 1.

mod config;

pub use config::Td3Config;

use super::shared::OffPolicyLearner;
use super::shared::deterministic::{Deterministic, DeterministicSettings};
use crate::Result;
use crate::algo::{AlgorithmDef, Family};
use crate::env::EnvSpec;
use crate::policy::Noise;
use crate::settings::Settings as _;

/// TD3 in the register.
pub static TD3: AlgorithmDef = AlgorithmDef {
    presets: crate::algo::presets!("td3/presets.toml"),
    ..AlgorithmDef::new::<Td3Config>(
        "td3",
        "Twin Delayed Deep Deterministic policy gradient (arXiv:1802.09477)",
        Family::SingleTask,
        |settings, spec| Ok(Box::new(td3(&Td3Config::default().with(settings)?, spec)?)),
    )
};

/// Makes TD3 for an environment whose actions are vectors.
///
/// # Errors
/// If a setting is invalid, or does not fit the environment.
pub fn td3(config: &Td3Config, spec: &EnvSpec) -> Result<OffPolicyLearner<Deterministic>> {
    OffPolicyLearner::new(networks(config, spec)?, spec)
}

/// Makes the networks of TD3, with its settings.
///
/// # Errors
/// If a setting is invalid, or does not fit the environment.
pub fn networks(config: &Td3Config, spec: &EnvSpec) -> Result<Deterministic> {
    config.validate()?;
    let settings = DeterministicSettings {
        replay: config.replay,
        shared: config.shared.clone(),
        adam: config.adam,
        noise: Noise::Gaussian,
        weight_decay: 0.0,
        critics: 2,
        delay: config.policy_delay,
        smoothing: Some([config.target_noise, config.target_noise_limit]),
    };
    Deterministic::new(settings, spec)
}
