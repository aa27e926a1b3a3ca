//! The use that algorithms make of the entropy of their policy.

use crate::{Error, Result};

/// The use of the policy's entropy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EntropyMethod {
    /// Nothing; `entropy_coef` must be 0.
    NoEntropy,
    /// Its mean is part of the objective.
    #[default]
    Regularized,
    /// It is added to each reward, as a constant: the policy looks for states where it can stay undecided.
    /// Advantages must not be standardised.
    Max,
}

crate::words!(EntropyMethod { Regularized = "regularized", Max = "max", NoEntropy = "no_entropy" });

impl EntropyMethod {
    /// Checks it together with the entropy's weight and with whether advantages are standardised; `remedy` is what to set if they must not
    /// be, such as `normalise_advantages to false`.
    ///
    /// # Errors
    /// [`Error::Config`] if a weight has no use, or would be scaled away.
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
