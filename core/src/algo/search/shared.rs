//! Parts that CEM, CMA-ES, OpenAI's evolution strategy, ARS and NOP share: search by populations.
//!
//! An iteration asks for candidates, n parameter vectors per seed, plays whole episodes by each, and tells the search
//! their mean returns, which are not discounted. Candidates × episodes are rows of one program, which steps until all
//! of its rows are done.

mod learner;
mod rank;

pub use learner::{Asked, CandidateSearch, PopulationLearner, Told};
pub use rank::{best_share, centred_ranks, order};

use crate::settings::Range;
use crate::{Error, Result};

/// The most steps that an iteration of one seed may take, so that f32 counts them exactly.
const MAX_STEPS: usize = 1 << 24;

crate::settings! {
    /// Settings of how candidates are played.
    #[derive(Copy)]
    pub struct Population {
        /// candidates of each iteration (n)
        n_samples: usize = 32, Range::Count(1, MAX_STEPS as u64);
        /// episodes of each candidate; their mean return is its score
        episodes: usize = 1, Range::Count(1, MAX_STEPS as u64);
        /// candidates take the action that they hold for the best; false: they draw
        ///
        /// The deviation of continuous actions is searched for only if candidates draw actions.
        deterministic: bool = true;
    }
}

impl Population {
    /// Checks that this number of candidates, the value of `key`, can be played in episodes of at most `horizon` steps.
    pub(super) fn validate(&self, candidates: usize, horizon: usize) -> Result<()> {
        let steps = candidates.saturating_mul(self.episodes).saturating_mul(horizon);
        if steps > MAX_STEPS {
            let problem = format!(
                "{candidates} candidates × {} episodes of up to {horizon} steps are more than {MAX_STEPS} steps in one \
                 iteration; lower it, episodes or time_limit",
                self.episodes
            );
            return Err(Error::config("n_samples", problem));
        }
        Ok(())
    }

    /// Checks that candidates come in pairs.
    pub(super) fn validate_pairs(&self) -> Result<()> {
        let n = self.n_samples;
        match n % 2 {
            0 => Ok(()),
            _ => Err(Error::config("n_samples", format!("{n} candidates are no pairs; set it to {}", n + 1))),
        }
    }
}
