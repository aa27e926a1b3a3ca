//! DQN's settings.

use crate::algo::off_policy::Replay;
use crate::algo::off_policy::q_learning::QConfig;
use crate::learn::PolyakConfig;
use crate::nn::Activation;
use crate::optim::AdamConfig;
use crate::policy::LayersConfig;
use crate::settings::{Range, Settings};
use crate::{Error, Result};

crate::settings! {
    /// Hyper-parameters. Defaults are those of Stable-Baselines3, but for the interval of the target, which counts
    /// updates here.
    pub struct DqnConfig {
        /// The network's steps.
        ..adam: AdamConfig = AdamConfig { learning_rate: 1e-4, adam_eps: 1e-8, ..AdamConfig::default() };
        /// The settings of playing, remembering and drawing.
        ..replay: Replay = Replay { batch_size: 32, train_freq: 4, ..Replay::default() };
        /// share of the run in which ε falls to its end, on a line
        exploration_fraction: f64 = 0.1, Range::Unit;
        /// The target.
        ..polyak: PolyakConfig = PolyakConfig { tau: 1.0 };
        /// the network chooses the action whose value the target gives
        ///
        /// Double Q-learning, arXiv:1509.06461.
        double: bool = false;
        /// a value of the state and advantages of actions in place of values
        ///
        /// arXiv:1511.06581, eq. 9; both are read from the last hidden layer.
        dueling: bool = false;
        /// The settings that DQL has too.
        ..shared: QConfig = QConfig {
            max_grad_norm: 10.0,
            net: LayersConfig { hidden: vec![64, 64], activation: Activation::Relu, orthogonal_init: false },
            ..QConfig::default()
        };
    }
}

impl DqnConfig {
    /// Every value on its own and in combination.
    ///
    /// # Errors
    /// [`Error::Config`] with the first setting that cannot work and what to do about it.
    pub fn validate(&self) -> Result<()> {
        self.check()?;
        let QConfig { epsilon_initial, epsilon_final, .. } = self.shared;
        if epsilon_final > epsilon_initial {
            let problem = format!("{epsilon_final} is more than epsilon_initial = {epsilon_initial}");
            return Err(Error::config("epsilon_final", problem));
        }
        self.shared.net.validate()
    }
}
