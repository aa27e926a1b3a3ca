//! DQN's settings.

use crate::algo::off_policy::Replay;
use crate::nn::Activation;
use crate::optim::AdamConfig;
use crate::policy::LayersConfig;
use crate::settings::{Range, Settings};
use crate::{Error, Result};

crate::settings! {
    /// Hyper-parameters. Defaults are those of Stable-Baselines3, but for the interval of the target, which counts updates here.
    pub struct DqnConfig {
        /// The network's steps.
        ..adam: AdamConfig = AdamConfig { learning_rate: 1e-4, adam_eps: 1e-8, ..AdamConfig::default() };
        /// The settings of playing, remembering and drawing.
        ..replay: Replay = Replay { batch_size: 32, train_freq: 4, ..Replay::default() };
        /// probability of an even draw at the start
        epsilon_initial: f64 = 1.0, Range::Unit;
        /// the same from the end of exploration_fraction on
        epsilon_final: f64 = 0.05, Range::Unit;
        /// share of the run in which that falls, on a line
        exploration_fraction: f64 = 0.1, Range::Unit;
        /// updates from one step of the target to the next
        target_update_interval: usize = 2500, Range::Count(1, u32::MAX as u64);
        /// share of the network in its target at such a step; 1 copies it
        tau: f64 = 1.0, Range::Share;
        /// the network chooses the action whose value the target gives
        ///
        /// Double Q-learning, arXiv:1509.06461.
        double: bool = false;
        /// a value of the state and advantages of choices in place of values
        ///
        /// arXiv:1511.06581, eq. 9; both are read from the last hidden layer.
        dueling: bool = false;
        /// longer gradients are scaled down; 0: never
        max_grad_norm: f64 = 10.0, Range::NotNegative;
        /// The network.
        ..net: LayersConfig = LayersConfig { hidden: vec![64, 64], activation: Activation::Relu, orthogonal_init: false };
    }
}

impl DqnConfig {
    /// Every value on its own and in combination.
    ///
    /// # Errors
    /// [`Error::Config`] with the first setting that cannot work and what to do about it.
    pub fn validate(&self) -> Result<()> {
        self.check()?;
        if self.epsilon_final > self.epsilon_initial {
            let problem = format!("{} is more than epsilon_initial = {}", self.epsilon_final, self.epsilon_initial);
            return Err(Error::config("epsilon_final", problem));
        }
        self.net.validate()
    }
}
