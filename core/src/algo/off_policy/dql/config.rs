//! DQL's settings.

use crate::Result;
use crate::algo::off_policy::Replay;
use crate::algo::off_policy::q_learning::QConfig;
use crate::nn::Activation;
use crate::optim::RmsPropConfig;
use crate::policy::LayersConfig;
use crate::settings::{Range, Settings};

crate::settings! {
    /// Hyper-parameters. Defaults are those of Pyrado's class, and where it has none those of its ball on a beam.
    pub struct DqlConfig {
        /// The network's steps.
        ..rms_prop: RmsPropConfig;
        /// The settings of playing, remembering and drawing.
        ..replay: Replay = Replay {
            gamma: 0.998,
            memory_size: 5000,
            batch_size: 256,
            learning_starts: 500,
            train_freq: 50,
            gradient_steps: 20,
            ..Replay::default()
        };
        /// distance of ε to its end after an iteration, in distances before
        ///
        /// Pyrado's `eps_schedule_gamma`.
        epsilon_decay: f64 = 0.9955, Range::Unit;
        /// The settings that DQN has too.
        ..shared: QConfig = QConfig {
            epsilon_initial: 0.1286,
            epsilon_final: 0.05,
            target_update_interval: 5,
            max_grad_norm: 0.5,
            net: LayersConfig { hidden: vec![32, 32], activation: Activation::Tanh, orthogonal_init: false },
            ..QConfig::default()
        };
    }
}

impl DqlConfig {
    /// Every value on its own and in combination.
    ///
    /// # Errors
    /// [`crate::Error::Config`] with the first setting that cannot work and what to do about it.
    pub fn validate(&self) -> Result<()> {
        self.check()?;
        self.shared.net.validate()
    }
}
