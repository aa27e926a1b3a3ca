//! Settings of OpenAI's evolution strategy.

use crate::algo::search::Population;
use crate::optim::AdamConfig;
use crate::policy::NetConfig;
use crate::settings::{Range, Settings as _};
use crate::{Error, Result};

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
    /// Hyper-parameters. Defaults are those of the authors' configuration for MuJoCo, but for the number of candidates
    /// and the network.
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
        let (rate, decay, momentum) = (self.adam.learning_rate, self.weight_decay, self.momentum);
        // θ by momentum, without a gradient, stays bounded if and only if this holds.
        if self.optimiser == EsOptimiser::Sgd && rate * decay * (1.0 - momentum) >= 2.0 * (1.0 + momentum) {
            let most = 2.0 * (1.0 + momentum) / (1.0 - momentum) / rate;
            let problem = format!(
                "{decay} × learning_rate ({rate}) takes more from the parameters in each step than there is, so that \
                 they grow without end; set it below {most:.3}, or optimiser to \"adam\""
            );
            return Err(Error::config("weight_decay", problem));
        }
        self.population.validate_pairs()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decay_that_would_make_parameters_grow_is_refused() {
        let config = |optimiser, weight_decay, momentum| {
            let adam = AdamConfig { learning_rate: 0.5, ..AdamConfig::default() };
            OpenAiEsConfig { optimiser, weight_decay, momentum, adam, ..OpenAiEsConfig::default() }
        };
        let message = config(EsOptimiser::Sgd, 4.0, 0.0).validate().unwrap_err().to_string();
        assert!(message.starts_with("weight_decay: 4 × learning_rate (0.5) takes more"), "{message}");
        assert!(message.contains("below 4.000"), "{message}");
        // With momentum m, 2 (1 + m) / (1 − m) is the limit of their product: here 38.
        assert!(config(EsOptimiser::Sgd, 75.0, 0.9).validate().is_ok());
        assert!(config(EsOptimiser::Sgd, 77.0, 0.9).validate().is_err());
        assert!(config(EsOptimiser::Adam, 4.0, 0.0).validate().is_ok());
    }
}
