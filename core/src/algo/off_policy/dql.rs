//! Deep Q-Learning as Pyrado has it.
//!
//! Muratore, SimuRLacra, `pyrado.algorithms.step_based.dql`: the network reads an observation and one action, and its
//! values of all choices make a table; ε falls by a factor in each iteration; the target is copied after a number of
//! updates. Departures, each with its reason:
//!  1. the loss is at the action that was taken; Pyrado's is at the best action, so it is no temporal difference
//!  2. the memory holds the observation after each step; Pyrado takes the one of the next row
//!  3. time-limited episodes bootstrap from their final observation (arXiv:1712.00378)
//!  4. an update with a gradient that is not finite is dropped and counted

mod config;

pub use config::DqlConfig;

use super::shared::OffPolicyLearner;
use super::shared::q_learning::{Exploration, QConfig, QLearning, QSettings};
use crate::Result;
use crate::algo::{AlgorithmDef, Family};
use crate::env::EnvSpec;
use crate::learn::PolyakConfig;
use crate::nn::Layout;
use crate::optim::Decay;
use crate::policy::EpsilonGreedy;
use crate::settings::Settings as _;

/// DQL in the register.
pub static DQL: AlgorithmDef = AlgorithmDef {
    presets: crate::algo::presets!("dql/presets.toml"),
    ..AlgorithmDef::new::<DqlConfig>(
        "dql",
        "Deep Q-Learning of a network that reads observation and action (Pyrado's)",
        Family::SingleTask,
        |settings, spec| Ok(Box::new(dql(&DqlConfig::default().with(settings)?, spec)?)),
    )
};

/// Makes DQL for an environment whose actions are choices.
///
/// # Errors
/// If a setting is invalid, or does not fit the environment.
pub fn dql(config: &DqlConfig, spec: &EnvSpec) -> Result<OffPolicyLearner<QLearning>> {
    OffPolicyLearner::new(networks(config, spec)?, spec)
}

/// Makes the network of DQL, with its settings.
///
/// # Errors
/// If a setting is invalid, or does not fit the environment.
pub fn networks(config: &DqlConfig, spec: &EnvSpec) -> Result<QLearning> {
    config.validate()?;
    let mut layout = Layout::new();
    let policy = EpsilonGreedy::of_pairs(&mut layout, spec, &config.shared.net, config.replay.first_layer())?;
    let QConfig { epsilon_initial: from, epsilon_final: to, .. } = config.shared;
    let settings = QSettings {
        replay: config.replay,
        horizon: spec.horizon,
        shared: config.shared.clone(),
        optimiser: config.rms_prop.optimiser(),
        learning_rate: config.rms_prop.learning_rate,
        schedule: config.rms_prop.schedule,
        exploration: Exploration::By(Decay::Geometric { from, to, factor: config.epsilon_decay }),
        polyak: PolyakConfig { tau: 1.0 },
        double: false,
    };
    Ok(QLearning::new(settings, layout, policy))
}
