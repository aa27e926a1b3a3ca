//! Deep Q-Networks.
//!
//! Mnih et al. 2013, arXiv:1312.5602, algorithm 1, with the target network of doi:10.1038/nature14236; options are
//! double Q-learning (arXiv:1509.06461) and dueling networks (arXiv:1511.06581).
//! Departures from the papers, each with its reason:
//!  1. Adam in place of RMSprop, and Huber's loss in place of clipped errors, which has the same gradient (as
//!     Stable-Baselines3)
//!  2. time-limited episodes bootstrap from their final observation (arXiv:1712.00378)
//!  3. ε falls by iteration and not by step, so that it is one number of a program's run
//!  4. an update with a gradient that is not finite is dropped and counted

mod config;

pub use config::DqnConfig;

use super::shared::OffPolicyLearner;
use super::shared::q_learning::{Exploration, QConfig, QLearning, QSettings};
use crate::Result;
use crate::algo::{AlgorithmDef, Family};
use crate::env::EnvSpec;
use crate::nn::Layout;
use crate::policy::EpsilonGreedy;
use crate::settings::Settings as _;

/// DQN in the register.
pub static DQN: AlgorithmDef = AlgorithmDef {
    presets: crate::algo::presets!("dqn/presets.toml"),
    ..AlgorithmDef::new::<DqnConfig>(
        "dqn",
        "Deep Q-Networks, also double and dueling (arXiv:1312.5602, 1509.06461, 1511.06581)",
        Family::SingleTask,
        |settings, spec| Ok(Box::new(dqn(&DqnConfig::default().with(settings)?, spec)?)),
    )
};

/// Makes DQN for an environment whose actions are choices.
///
/// # Errors
/// If a setting is invalid, or does not fit the environment.
pub fn dqn(config: &DqnConfig, spec: &EnvSpec) -> Result<OffPolicyLearner<QLearning>> {
    OffPolicyLearner::new(networks(config, spec)?, spec)
}

/// Makes the network of DQN, with its settings.
///
/// # Errors
/// If a setting is invalid, or does not fit the environment.
pub fn networks(config: &DqnConfig, spec: &EnvSpec) -> Result<QLearning> {
    config.validate()?;
    let mut layout = Layout::new();
    let first = config.replay.first_layer();
    let policy = match config.dueling {
        true => EpsilonGreedy::dueling(&mut layout, spec, &config.shared.net, first)?,
        false => EpsilonGreedy::new(&mut layout, spec, &config.shared.net, first)?,
    };
    let QConfig { epsilon_initial, epsilon_final, .. } = config.shared;
    let settings = QSettings {
        replay: config.replay,
        horizon: spec.horizon,
        shared: config.shared.clone(),
        optimiser: config.adam.optimiser(),
        learning_rate: config.adam.learning_rate,
        schedule: config.adam.schedule,
        exploration: Exploration::Linear([epsilon_initial, epsilon_final], config.exploration_fraction),
        polyak: config.polyak,
        double: config.double,
    };
    Ok(QLearning::new(settings, layout, policy))
}
