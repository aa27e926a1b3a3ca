//! The ratio of an action's probabilities by two policies.

use crate::Tensor;

/// The largest |ln ratio|: e²⁰ is far outside of any clip range, and its square still finite.
const MAX_LOG_RATIO: f64 = 20.0;

/// The log-ratio of an action's probabilities, ln π_θ(a|s) − ln π_old(a|s), limited to ±20.
#[track_caller]
pub fn log_ratio(logp: Tensor, logp_old: Tensor) -> Tensor {
    (logp - logp_old).clamp(-MAX_LOG_RATIO, MAX_LOG_RATIO)
}
