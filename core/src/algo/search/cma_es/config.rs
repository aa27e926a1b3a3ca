//! CMA-ES's settings.

use crate::algo::search::Population;
use crate::policy::NetConfig;
use crate::settings::{Range, Settings as _};
use crate::{Error, Result};

crate::settings! {
    /// Hyper-parameters. Defaults are those of garage's CMAES, but for its number of candidates, which has none there, and its network.
    pub struct CmaEsConfig {
        /// Candidates and their episodes.
        ..population: Population;
        /// first deviation of all parameters
        sigma0: f64 = 1.0, Range::Positive;
        /// keep variances only, of any number of parameters; false: a matrix, of up to 1,000
        separable: bool = false;
        /// The policy, linear if there are no hidden layers.
        ..net: NetConfig = NetConfig::hidden(Vec::new());
    }
}

impl CmaEsConfig {
    /// Every value on its own and in combination.
    ///
    /// # Errors
    /// [`Error::Config`] with the first setting that cannot work and what to do about it.
    pub fn validate(&self) -> Result<()> {
        self.check()?;
        match self.population.n_samples {
            n @ ..4 => {
                Err(Error::config("n_samples", format!("{n} candidates are too few to adapt to; set it to 4 or more")))
            }
            _ => Ok(()),
        }
    }
}
