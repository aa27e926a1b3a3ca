//! ARS's settings.

use crate::algo::search::Population;
use crate::optim::{RateFall, Schedule};
use crate::policy::NetConfig;
use crate::settings::{Range, Settings as _};
use crate::{Error, Result};

crate::settings! {
    /// Hyper-parameters. Defaults are those of Stable-Baselines3's contributed ARS, but for the number of candidates and normalisation.
    pub struct ArsConfig {
        /// Candidates, two for each direction, and their episodes.
        ..population: Population = Population { n_samples: 16, ..Population::default() };
        /// directions that are learned from (b), the best ones; 0: all
        top_directions: usize = 0, Range::Count(0, 1 << 23);
        /// length of a step (α), in deviations of returns
        learning_rate: f64 = 0.02, Range::Positive;
        /// linear, cosine: towards 0 at the end of the run; exponential, step: to learning_rate_fall
        learning_rate_schedule: Schedule = Schedule::Constant;
        /// How far the rate falls.
        ..fall: RateFall;
        /// deviation of candidates from the policy (ν)
        sigma: f64 = 0.05, Range::Positive;
        /// by the running mean and deviation of all that were seen: V2; false: V1
        normalise_observations: bool = true;
        /// The policy, linear if there are no hidden layers.
        ..net: NetConfig = NetConfig::hidden(Vec::new());
    }
}

impl ArsConfig {
    /// N, the number of directions.
    pub(super) fn directions(&self) -> usize {
        self.population.n_samples / 2
    }

    /// b, the number of those that are learned from.
    pub(super) fn top(&self) -> usize {
        if self.top_directions == 0 { self.directions() } else { self.top_directions }
    }

    /// Every value on its own and in combination.
    ///
    /// # Errors
    /// [`Error::Config`] with the first setting that cannot work and what to do about it.
    pub fn validate(&self) -> Result<()> {
        self.check()?;
        self.population.validate_pairs()?;
        let (top, all) = (self.top_directions, self.directions());
        if top > all {
            let problem = format!(
                "{top} directions are more than the {all} pairs of {} candidates; set it to at most {all}, or n_samples to {}",
                self.population.n_samples,
                2 * top
            );
            return Err(Error::config("top_directions", problem));
        }
        Ok(())
    }
}
