//! CEM's settings.

use crate::algo::search::Population;
use crate::policy::NetConfig;
use crate::settings::{Range, Settings as _};
use crate::{Error, Result};

crate::settings! {
    /// Hyper-parameters. Defaults are those of garage's CEM, but for its number of candidates, which has none there, and its network.
    pub struct CemConfig {
        /// Candidates and their episodes.
        ..population: Population;
        /// share of the candidates that the next ones come from
        best_frac: f64 = 0.05, Range::Share;
        /// first deviation of each parameter
        init_std: f64 = 1.0, Range::NotNegative;
        /// deviation that is added to the best ones' at first, so that the search does not end early
        extra_std: f64 = 1.0, Range::NotNegative;
        /// iterations until none is added any more
        extra_decay_time: f64 = 100.0, Range::Positive;
        /// The policy, linear if there are no hidden layers.
        ..net: NetConfig = NetConfig::hidden(Vec::new());
    }
}

impl CemConfig {
    /// k, the number of best candidates.
    pub fn best(&self) -> usize {
        (self.population.n_samples as f64 * self.best_frac) as usize
    }

    /// Every value on its own and in combination.
    ///
    /// # Errors
    /// [`Error::Config`] with the first setting that cannot work and what to do about it.
    pub fn validate(&self) -> Result<()> {
        self.check()?;
        if self.best() == 0 {
            let (n, share) = (self.population.n_samples, self.best_frac);
            let problem = format!(
                "{share} of {n} candidates is less than one; raise it to {} or more, or n_samples to {}",
                1.0 / n as f64,
                (1.0 / share).ceil()
            );
            return Err(Error::config("best_frac", problem));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_without_a_candidate_is_named_with_what_to_do() {
        let mut config = CemConfig::default();
        config.validate().unwrap();
        assert_eq!(config.best(), 1);
        config.population.n_samples = 10;
        let problem = config.validate().unwrap_err().to_string();
        assert_eq!(
            problem,
            "best_frac: 0.05 of 10 candidates is less than one; raise it to 0.1 or more, or n_samples to 20"
        );
        config.best_frac = 0.1;
        assert_eq!(config.best(), 1);
    }
}
