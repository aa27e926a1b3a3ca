//! DQL's settings.

use crate::Result;
use crate::algo::off_policy::Replay;
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
        /// probability of an even draw at the start
        epsilon_initial: f64 = 0.1286, Range::Unit;
        /// the value that it comes near to
        epsilon_final: f64 = 0.05, Range::Unit;
        /// its distance to that after an iteration, in distances before
        ///
        /// Pyrado's `eps_schedule_gamma`.
        epsilon_decay: f64 = 0.9955, Range::Unit;
        /// updates from one copy of the target to the next
        target_update_interval: usize = 5, Range::Count(1, u32::MAX as u64);
        /// longer gradients are scaled down; 0: never
        max_grad_norm: f64 = 0.5, Range::NotNegative;
        /// The network.
        ..net: LayersConfig = LayersConfig { hidden: vec![32, 32], activation: Activation::Tanh, orthogonal_init: false };
    }
}

impl DqlConfig {
    /// Every value on its own and in combination.
    ///
    /// # Errors
    /// [`crate::Error::Config`] with the first setting that cannot work and what to do about it.
    pub fn validate(&self) -> Result<()> {
        self.check()?;
        self.net.validate()
    }
}
