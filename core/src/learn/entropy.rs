//! The use of the policy's entropy.

use crate::{Error, Result};

/// The ways in which algorithms use the policy's entropy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EntropyMethod {
    /// No use; `entropy_coef` must be 0.
    NoEntropy,
    /// The mean of the entropy is part of the objective.
    #[default]
    Regularized,
    /// The entropy is added to each reward, as a constant: the policy seeks states where it can stay
    /// undecided. Advantages must not be standardised.
    Max,
}

crate::words!(EntropyMethod { Regularized = "regularized", Max = "max", NoEntropy = "no_entropy" });

impl EntropyMethod {
    /// Checks that the entropy's weight has a use, and that advantages are not standardised where they must not be.
    /// `remedy` says what to set then, such as `normalise_advantages to false`.
    ///
    /// # Errors
    /// [`Error::Config`] if the weight has no use, or would be scaled away.
    pub fn validate(self, coef: f64, standardised: bool, remedy: &str) -> Result<()> {
        let problem = match self {
            EntropyMethod::NoEntropy if coef > 0.0 => {
                format!("no_entropy leaves entropy_coef = {coef} without a use; set it to 0")
            }
            EntropyMethod::Max if standardised => {
                format!("max rewards entropy, which standardised advantages would scale away; set {remedy}")
            }
            _ => return Ok(()),
        };
        Err(Error::config("entropy_method", problem))
    }
}
