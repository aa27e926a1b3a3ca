//! The first number of rows of environments that nothing can learn from.

use super::engine::lockstep::Lockstep;
use super::{Dim, EnvDef};

/// The remedy for numbers that are not finite.
pub(super) const FINITE: &str =
    "divide by nothing that can be 0, and give `sqrt`, `ln` and `exp` what `max`, `min` or `clamp` has limited";

/// A number that is not finite or leaves its range, and the environment of a block that has it.
pub(super) struct RowFault {
    /// The number of the environment in its block.
    pub lane: usize,
    /// The number in words: "the reward is NaN".
    pub number: String,
    /// The rest of the sentence, after the words for the moment: its range, if it has one, and the remedy.
    pub remedy: String,
}

impl RowFault {
    /// The fault of a step that was made: in a state, a reward, or an observation before or after a reset.
    pub fn of_step(env: &EnvDef, rows: &Lockstep) -> Option<RowFault> {
        let remedy = format!("; in `step`, {FINITE}");
        let count = rows.count();
        let finite = |numbers: &[f32], what: &dyn Fn(usize) -> String| {
            let at = numbers.iter().position(|x| !x.is_finite())?;
            let number = format!("{} {}", what(at / count), numbers[at]);
            Some(RowFault { lane: at % count, number, remedy: remedy.clone() })
        };
        finite(&rows.reward, &|_| "the reward is".to_owned())
            .or_else(|| finite(&rows.state, &|number| format!("number {number} of the state is")))
            .or_else(|| RowFault::of_observation(env, &rows.last_observation, count))
            .or_else(|| RowFault::of_observation(env, &rows.observation, count))
    }

    /// The fault of the observations of `count` environments.
    pub fn of_observation(env: &EnvDef, observation: &[f32], count: usize) -> Option<RowFault> {
        env.spec().observation.iter().zip(observation.chunks(count)).find_map(|(dim, lanes)| {
            let lane = lanes.iter().position(|x| !fits(dim, f64::from(*x)))?;
            let (name, low, high, bad) = (&dim.name, dim.low, dim.high, lanes[lane]);
            let remedy = match bad.is_finite() {
                true => format!("clamp it or use `Dim::unbounded(\"{name}\")`"),
                false => FINITE.to_owned(),
            };
            let remedy = format!(", and its range is {low} to {high}; {remedy}");
            Some(RowFault { lane, number: format!("observation `{name}` is {bad}"), remedy })
        })
    }
}

/// Tells whether a number is finite and in its range, to within rounding.
pub(super) fn fits(dim: &Dim, x: f64) -> bool {
    let slack = |bound: f64| if bound.is_finite() { 1e-5 * (1.0 + bound.abs()) } else { 0.0 };
    x.is_finite() && x >= dim.low - slack(dim.low) && x <= dim.high + slack(dim.high)
}
