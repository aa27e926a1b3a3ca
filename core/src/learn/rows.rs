//! The order in which steps become rows of data.

use crate::Tensor;

/// Puts steps `[T, S, N, D]` into rows `[S, T · N, D]`: all environments of a step, then those of the next step.
#[track_caller]
pub(crate) fn by_seed(steps: Tensor) -> Tensor {
    match steps.shape()[..] {
        [t, s, n, d] => steps.permute(&[1, 0, 2, 3]).reshape(&[s, t * n, d]),
        _ => Tensor::poison(),
    }
}

/// Puts steps `[T, S, N, D]` into rows `[S, N · T, D]`: all steps of an environment, then those of the next
/// environment.
#[track_caller]
pub(crate) fn by_environment(steps: Tensor) -> Tensor {
    match steps.shape()[..] {
        [t, s, n, d] => steps.permute(&[1, 2, 0, 3]).reshape(&[s, n * t, d]),
        _ => Tensor::poison(),
    }
}
