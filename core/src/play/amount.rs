//! Amounts of play.

/// How much each environment plays of whole episodes, one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amount {
    /// Each environment plays this number of episodes.
    Episodes(usize),
    /// Each plays episodes until it has made this number of steps, and the last one to its end.
    Steps(usize),
    /// Each plays episodes until it has played this many and made this number of steps, and the last one to its end.
    AtLeast {
        /// Episodes.
        episodes: usize,
        /// Steps.
        steps: usize,
    },
}

impl Amount {
    /// Shares minima of episodes and of their steps among so many environments: what each plays, rounded up; none if
    /// both are 0.
    #[must_use]
    pub fn share([episodes, steps]: [usize; 2], envs: usize) -> Option<Amount> {
        let [episodes, steps] = [episodes, steps].map(|all| all.div_ceil(envs.max(1)));
        (episodes > 0 || steps > 0).then_some(Amount::AtLeast { episodes, steps })
    }

    /// Most steps that it can take, with this time limit.
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

    /// Steps that it takes where only the time limit ends episodes.
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

    /// True after this many whole episodes with so many steps together.
    pub(super) fn reached(self, episodes: usize, steps: usize) -> bool {
        match self {
            Amount::Episodes(enough) => episodes >= enough,
            Amount::Steps(enough) => steps >= enough,
            Amount::AtLeast { episodes: enough, steps: least } => episodes >= enough && steps >= least,
        }
    }
}
