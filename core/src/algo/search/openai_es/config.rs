//! Settings of OpenAI's evolution strategy.

use crate::Result;
use crate::algo::search::Population;
use crate::optim::AdamConfig;
use crate::policy::NetConfig;
use crate::settings::{Range, Settings as _};

/// The rule by which an evolution strategy's gradients become steps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EsOptimiser {
    /// Adam.
    #[default]
    Adam,
    /// Plain descent with momentum.
    Sgd,
}

crate::words!(EsOptimiser { Adam = "adam", Sgd = "sgd" });

crate::settings! {
    /// Hyper-parameters. Defaults are those of the authors' configuration for MuJoCo, but for the number of candidates and the network.
    pub struct OpenAiEsConfig {
        /// Candidates and their episodes.
        ..population: Population;
        /// deviation of candidates from the policy
        sigma: f64 = 0.02, Range::Positive;
        /// what makes the steps: adam, or sgd with momentum
        optimiser: EsOptimiser = EsOptimiser::Adam;
        /// The steps.
        ..adam: AdamConfig = AdamConfig { learning_rate: 0.01, adam_eps: 1e-8, ..AdamConfig::default() };
        /// share of the last steps in each of sgd
        momentum: f64 = 0.9, Range::Between(0.0, 0.999);
        /// weight of the squares of parameters in what is descended
        weight_decay: f64 = 0.005, Range::NotNegative;
        /// The policy, linear if there are no hidden layers.
        ..net: NetConfig = NetConfig::hidden(Vec::new());
    }
}

impl OpenAiEsConfig {
    /// Every value on its own and in combination.
    ///
    /// # Errors
    /// [`crate::Error::Config`] with the first setting that cannot work and what to do about it.
    pub fn validate(&self) -> Result<()> {
        self.check()?;
        self.population.validate_pairs()
    }
}
