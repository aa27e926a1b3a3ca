//! Amounts of play.

/// The amount of whole episodes that each environment plays, one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amount {
    /// This number of episodes.
    Episodes(usize),
    /// Episodes until this number of steps is made; the last one is played to its end.
    Steps(usize),
    /// Episodes until both numbers, of episodes and of steps, are reached; the last one is played to its end.
    AtLeast {
        /// The least number of episodes.
        episodes: usize,
        /// The least number of steps.
        steps: usize,
    },
}

impl Amount {
    /// Divides minima of episodes and of their steps among `envs` environments: the share of each, rounded up; none if
    /// both minima are 0.
    #[must_use]
    pub fn share([episodes, steps]: [usize; 2], envs: usize) -> Option<Amount> {
        let [episodes, steps] = [episodes, steps].map(|all| all.div_ceil(envs.max(1)));
        (episodes > 0 || steps > 0).then_some(Amount::AtLeast { episodes, steps })
    }

    /// The most steps that this amount can take, with the time limit `horizon`.
    #[must_use]
    pub fn most(self, horizon: usize) -> usize {
        match self {
            Amount::Episodes(episodes) => episodes.saturating_mul(horizon),
            Amount::Steps(0) => 0,
            Amount::Steps(steps) => (steps - 1).saturating_add(horizon),
            Amount::AtLeast { episodes, steps } => {
                Amount::Episodes(episodes).most(horizon).max(Amount::Steps(steps).most(horizon))
            }
        }
    }

    /// The steps that this amount takes if only the time limit `horizon` ends episodes.
    #[must_use]
    pub fn planned(self, horizon: usize) -> usize {
        match self {
            Amount::Episodes(episodes) => episodes.saturating_mul(horizon),
            Amount::Steps(steps) => steps.div_ceil(horizon.max(1)).saturating_mul(horizon),
            Amount::AtLeast { episodes, steps } => {
                Amount::Episodes(episodes).planned(horizon).max(Amount::Steps(steps).planned(horizon))
            }
        }
    }

    /// True if the amount is reached after `episodes` whole episodes with `steps` steps in all.
    pub(super) fn reached(self, episodes: usize, steps: usize) -> bool {
        match self {
            Amount::Episodes(enough) => episodes >= enough,
            Amount::Steps(enough) => steps >= enough,
            Amount::AtLeast { episodes: enough, steps: least } => episodes >= enough && steps >= least,
        }
    }
}
