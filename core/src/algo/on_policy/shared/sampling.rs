//! Settings of rollouts: a fixed number of steps, in episodes that run on, or whole episodes, as garage's and Pyrado's
//! samplers collect them.

use crate::learn::{Split, nearest_divisor};
use crate::play::Amount;
use crate::settings::Range;
use crate::{Error, Result};

/// The most environment steps of an iteration of one seed, for which a rollout takes memory.
pub const MAX_BATCH: usize = 1 << 24;

/// The unit of time limits, in steps. A rollout has a multiple of it, so that spans of time divide it.
const UNIT: usize = 32;

crate::settings! {
    /// Settings of rollouts, of their advantages, and of the parts into which they are divided.
    #[derive(Copy)]
    pub struct Sampling {
        /// steps per environment between updates (T)
        horizon: usize = 128, Range::Count(1, MAX_BATCH as u64);
        /// environments that run side by side (N)
        envs: usize = 8, Range::Count(1, MAX_BATCH as u64);
        /// whole episodes of an iteration at least; above 0: in place of horizon
        ///
        /// Each environment plays its share of both minima, rounded up, from the beginning of a new episode to the end
        /// of the last one. Memory is taken for episodes as long as the time limit allows.
        min_rollouts: usize = 0, Range::Count(0, MAX_BATCH as u64);
        /// steps of the whole episodes of an iteration at least; above 0: in place of horizon
        ///
        /// See `min_rollouts`.
        min_steps: usize = 0, Range::Count(0, MAX_BATCH as u64);
        /// parts that each pass is split into
        minibatches: usize = 4, Range::Shown(&Range::Count(1, MAX_BATCH as u64), "divides T · N");
        /// steps of a minibatch, the last of which has what is left; above 0: in place of minibatches
        ///
        /// 40 steps in minibatches of 32 are 32 and 8. Where policies remember, it counts environments, each with all
        /// of its steps. Of whole episodes only steps that were played count, so it fits any number of them.
        minibatch_size: usize = 0, Range::Count(0, MAX_BATCH as u64);
        /// discount of later rewards
        gamma: f64 = 0.99, Range::Unit;
        /// λ of the advantages; lower: less variance, more bias
        gae_lambda: f64 = 0.95, Range::Unit;
        /// by their running mean and deviation
        normalise_observations: bool = false;
        /// by the running deviation of the discounted return
        normalise_rewards: bool = false;
        /// state-dependent exploration of continuous actions
        ///
        /// arXiv:2005.05719.
        sde: bool = false;
        /// steps between its noise matrices; 0: one per rollout
        sde_sample_freq: usize = 0, Range::Shown(&Range::Count(0, MAX_BATCH as u64), "0, or divides T");
    }
}

impl Sampling {
    /// Environment steps per iteration and seed, T · N; with whole episodes, the steps that there is room for.
    pub fn batch(&self) -> usize {
        self.horizon * self.envs
    }

    /// How passes over a rollout are split.
    #[must_use]
    pub fn split(&self) -> Split {
        if self.minibatch_size > 0 { Split::Size(self.minibatch_size) } else { Split::Count(self.minibatches) }
    }

    /// The share of both minima that each environment plays in an iteration; none in rollouts of fixed length.
    #[must_use]
    pub fn whole_episodes(&self) -> Option<Amount> {
        Amount::share([self.min_rollouts, self.min_steps], self.envs)
    }

    /// The settings for an environment with the time limit `limit`. For whole episodes, `horizon` becomes the most
    /// steps that an environment may make until its share is played, and a few more, so that `minibatches` divides the
    /// steps of all environments.
    ///
    /// # Errors
    /// [`Error::Config`] if these are too many steps for a rollout, or noise is to last through episodes.
    pub fn fitted(&self, limit: usize) -> Result<Sampling> {
        let Some(amount) = self.whole_episodes() else { return Ok(*self) };
        let key = if self.min_rollouts > 0 { "min_rollouts" } else { "min_steps" };
        if self.sde {
            let problem =
                "state-dependent exploration goes through rollouts of a fixed horizon; set it to 0, or sde to false";
            return Err(Error::config(key, problem));
        }
        let horizon = self.with_steps(amount.most(limit), limit).horizon;
        if horizon.saturating_mul(self.envs) > MAX_BATCH {
            let problem = format!(
                "{} environments need room for {horizon} steps each to play their share, more than {MAX_BATCH} \
                 together; lower it or time_limit",
                self.envs
            );
            return Err(Error::config(key, problem));
        }
        Ok(Sampling { horizon, ..*self })
    }

    /// The settings of a rollout of whole episodes that has room for `least` steps, and a few more.
    pub(super) fn with_steps(&self, least: usize, limit: usize) -> Sampling {
        let unit = limit.clamp(1, UNIT);
        let least = least.div_ceil(unit).saturating_mul(unit);
        let divides = |horizon: &usize| match self.split() {
            Split::Count(count) => horizon.saturating_mul(self.envs).is_multiple_of(count),
            Split::Size(_) => true,
        };
        let horizon = (0..self.minibatches)
            .map(|more| least.saturating_add(more.saturating_mul(unit)))
            .find(divides)
            .unwrap_or(least);
        Sampling { horizon, ..*self }
    }

    /// Checks values in combination, with the number of passes over a rollout, the value of `key`.
    pub(in crate::algo) fn validate(&self, key: &str, passes: usize) -> Result<()> {
        let (t, n, m) = (self.horizon, self.envs, self.minibatches);
        let batch = t.saturating_mul(n);
        if batch > MAX_BATCH {
            return Err(Error::config("horizon", format!("horizon × envs ({t} × {n}) is more than {MAX_BATCH}")));
        }
        self.validate_passes(key, passes, self.split())?;
        if self.minibatch_size == 0 && batch % m != 0 && self.whole_episodes().is_none() {
            let near = nearest_divisor(batch, m);
            let problem = format!(
                "{m} must divide horizon × envs ({t} × {n} = {batch}); try {near}, or set minibatch_size, which need \
                 not"
            );
            return Err(Error::config_instead("minibatches", problem, near));
        }
        let freq = self.sde_sample_freq;
        if freq != 0 && t % freq != 0 && self.whole_episodes().is_none() {
            let near = nearest_divisor(t, freq);
            let problem = format!("{freq} must divide the horizon ({t}), or be 0; try {near}");
            return Err(Error::config_instead("sde_sample_freq", problem, near));
        }
        Ok(())
    }

    /// Checks the number of passes over a rollout, the value of `key`, that are split like this.
    pub(in crate::algo) fn validate_passes(&self, key: &str, passes: usize, split: Split) -> Result<()> {
        let parts = split.count(self.batch());
        if parts.saturating_mul(passes) > MAX_BATCH {
            let most = MAX_BATCH / parts.max(1);
            let parts = match split {
                Split::Count(_) => "minibatches".to_owned(),
                Split::Size(size) => format!("{parts} minibatches of up to {size} steps"),
            };
            let problem = format!("{key} × {parts} is more than {MAX_BATCH}; at most {most} fit");
            return Err(Error::config(key, problem));
        }
        Ok(())
    }

    /// Checks that the advantages of each minibatch can be standardised. Where policies `remember`, a row of a
    /// minibatch is an environment with all of its steps.
    pub(in crate::algo) fn validate_minibatches(&self, remember: bool) -> Result<()> {
        let batch = self.batch();
        let [rows, steps] = if remember { [self.envs, self.horizon] } else { [batch, 1] };
        match self.split() {
            Split::Count(m) if m == batch => {
                let problem = format!("{m} minibatches leave one step in each, whose advantage cannot be standardised");
                let fewer = (1..m).rev().find(|fewer| batch.is_multiple_of(*fewer));
                Err(match fewer {
                    Some(fewer) => Error::config_instead("minibatches", format!("{problem}; try {fewer}"), fewer),
                    None => Error::config("minibatches", problem),
                })
            }
            Split::Size(size) if steps == 1 && batch > 1 => {
                // How much is left of whole episodes, nobody knows before they are played.
                let one = |size: usize| size == 1 || (self.whole_episodes().is_none() && rows % size == 1);
                let fits = (size..=rows).find(|size| !one(*size));
                match fits.filter(|fits| *fits > size) {
                    None => Ok(()),
                    Some(fits) => {
                        let which = if size == 1 { "each minibatch" } else { "the last minibatch of a pass" };
                        let problem = format!(
                            "{size} leaves one step of {rows} (horizon × envs) in {which}, whose advantage cannot be \
                             standardised; {fits} fits"
                        );
                        Err(Error::config_instead("minibatch_size", problem, fits))
                    }
                }
            }
            _ => Ok(()),
        }
    }

    /// Checks that advantages can be standardised over a rollout, if `standardised` is true.
    pub(in crate::algo) fn validate_standardised(&self, standardised: bool) -> Result<()> {
        if standardised && self.batch() == 1 {
            let problem = "a rollout of one step has one advantage, which cannot be standardised";
            return Err(Error::config("horizon", problem));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rollouts_have_room_for_the_longest_episodes_and_are_divided_by_minibatches() {
        let fitted = |min_rollouts, min_steps, minibatches, limit| {
            Sampling { envs: 8, min_rollouts, min_steps, minibatches, ..Sampling::default() }.fitted(limit).unwrap()
        };
        // Each of 8 environments plays two episodes of 500 steps; the next multiple of 32 is 1024.
        assert_eq!(fitted(16, 0, 4, 500).horizon, 1024);
        assert_eq!(fitted(9, 0, 4, 500).horizon, 1024);
        // Each plays 256 steps, and an episode that begins with the last of them.
        assert_eq!(fitted(0, 2048, 4, 500).horizon, 768);
        assert_eq!(fitted(16, 2048, 4, 500).horizon, 1024);
        // The horizon is a multiple of 7, and 5 minibatches divide 8 times that.
        assert_eq!(fitted(8, 0, 5, 7).horizon, 35);
        assert_eq!(fitted(0, 0, 4, 500).horizon, Sampling::default().horizon);
    }

    #[test]
    fn too_many_episodes_and_lasting_noise_are_refused_by_name() {
        let refused = |sampling: Sampling| sampling.fitted(500).unwrap_err().to_string();
        let many = refused(Sampling { min_rollouts: 1 << 20, ..Sampling::default() });
        assert!(many.contains("min_rollouts") && many.contains("lower it"), "{many}");
        let sde = refused(Sampling { min_steps: 9, sde: true, ..Sampling::default() });
        assert!(sde.contains("min_steps") && sde.contains("sde"), "{sde}");
    }
}
