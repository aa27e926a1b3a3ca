//! Policies whose deviation is not learned: ln σ is a slice of θ that keeps its first value.

use crate::env::EnvSpec;
use crate::nn::Layout;
use crate::{Error, Result, Tensor};

/// The number of the slice of θ that is ln σ.
pub(super) fn log_std(layout: &Layout) -> Option<usize> {
    layout.slices().position(|(name, _, _)| name == "policy.log_std")
}

/// The slices, with the gradient of slice `fixed` stopped.
#[track_caller]
pub(super) fn constant(parts: &[Tensor], fixed: Option<usize>) -> Vec<Tensor> {
    let one = |(i, part): (usize, &Tensor)| if fixed == Some(i) { part.stop_gradient() } else { *part };
    parts.iter().enumerate().map(one).collect()
}

/// Checks that the actions have a deviation, if it is not to be learned.
pub(super) fn std_fits(learn_std: bool, spec: &EnvSpec) -> Result<()> {
    if !learn_std && spec.action.counts().is_some() {
        let problem = format!("`{}` takes {}, which have no deviation; leave it true", spec.name, spec.action.kind());
        return Err(Error::config("learn_std", problem));
    }
    Ok(())
}
