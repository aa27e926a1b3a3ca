//! Columns that are looked for by name.

/// The column that orders rows: environment steps so far, summed over parallel environments.
pub(crate) const ENV_STEPS: &str = "time/env_steps";
/// Seconds of training so far.
pub(crate) const SECONDS: &str = "time/seconds";
/// Training return, as every algorithm reports it.
pub(crate) const EPISODE_RETURN: &str = "rollout/ep_return_mean";
/// Mean return of the evaluation in this iteration.
pub(crate) const EVAL_RETURN: &str = "eval/return_mean";
