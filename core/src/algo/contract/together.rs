//! Algorithms that several ranks train together.

use crate::{Error, Result};

/// The way in which several [ranks](crate::backend::ranks) train an algorithm together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Together {
    /// Each rank plays environments or tasks of its own, as many as the settings say, and all of them descend the mean
    /// of their gradients. Their parameters are the same at all times.
    Gradients,
    /// Each rank plays a part of the candidates, and all of them learn from all returns: training is the same as that
    /// of one rank, bit for bit.
    Candidates,
    /// Ranks cannot train it together, for this reason, which may be empty.
    No(&'static str),
}

impl Together {
    /// Checks that so many ranks can train `algorithm` together.
    ///
    /// # Errors
    /// [`Error::Config`] that says why they cannot.
    pub(crate) fn check(self, ranks: usize, algorithm: &str) -> Result<()> {
        match self {
            Together::No(why) if ranks > 1 => {
                let why = if why.is_empty() { String::new() } else { format!(": {why}") };
                let problem = format!("{ranks} ranks cannot train one run together{why}");
                Err(Error::config(algorithm, problem))
            }
            _ => Ok(()),
        }
    }
}
