//! Lengths of runs: environment steps, or iterations.

use std::rc::Rc;

use crate::algo::Algorithm;
use crate::{Error, Result};

/// The number of environment steps per seed if neither the caller nor a preset says.
pub const DEFAULT_STEPS: u64 = 100_000;

/// The most environment steps per seed: every whole number up to it is exact in f64.
pub(in crate::train) const MAX_STEPS: u64 = 1_000_000_000_000_000;

/// The length of a run: the steps or iterations that each of its seeds makes in all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Length {
    /// The environment steps of the preset, or [`DEFAULT_STEPS`].
    #[default]
    Preset,
    /// This many environment steps, to the end of the iteration in which they are made.
    Steps(u64),
    /// This many iterations, whatever the number of steps that they make.
    Iterations(u64),
}

impl From<Option<u64>> for Length {
    /// A number of environment steps; without a number those of the preset.
    fn from(steps: Option<u64>) -> Length {
        steps.map_or(Length::Preset, Length::Steps)
    }
}

impl Length {
    /// The length where a preset asks for so many steps.
    pub(super) fn or_steps(self, preset: Option<u64>) -> Length {
        match self {
            Length::Preset => Length::Steps(preset.unwrap_or(DEFAULT_STEPS)),
            given => given,
        }
    }

    /// The environment steps that a run of this length is planned to make on one rank, checked.
    pub(super) fn steps(self, algorithm: &dyn Algorithm) -> Result<u64> {
        let steps = match self.or_steps(None) {
            Length::Iterations(0) => {
                return Err(Error::config("iterations", "0 iterations train nothing; give at least 1"));
            }
            Length::Iterations(iterations) => {
                let (steps, batch) = (algorithm.planned(iterations), algorithm.batch());
                if steps > MAX_STEPS {
                    let near = algorithm.iterations(MAX_STEPS);
                    let most = if algorithm.planned(near) > MAX_STEPS { near.saturating_sub(1) } else { near };
                    let problem = format!(
                        "{iterations} iterations, each planned to make {batch} environment steps, make more than \
                         {MAX_STEPS}; at most {most} fit"
                    );
                    return Err(Error::config("iterations", problem));
                }
                steps
            }
            Length::Preset | Length::Steps(0) => 0,
            Length::Steps(steps) => steps,
        };
        check_steps(steps).map(|()| steps)
    }

    /// The algorithm for a run of this length, `made` steps of which are made.
    pub(super) fn fit(self, algorithm: Rc<dyn Algorithm>, made: u64) -> Result<Rc<dyn Algorithm>> {
        let steps = self.steps(&*algorithm)?;
        let fitted = match self {
            Length::Iterations(iterations) => {
                // Whole episodes may make more steps than planned: a memory has room for all that there can be.
                let most = algorithm.most(iterations).clamp(steps, MAX_STEPS);
                let planned = |error| match error {
                    Error::Config { key, problem, .. } => Error::config(
                        key,
                        format!("{problem} ({iterations} iterations are planned to make {steps} steps)"),
                    ),
                    other => other,
                };
                algorithm.for_steps(steps).map_err(planned)?;
                algorithm.for_steps(most)?
            }
            // The last iteration may make more steps than were asked for. Earlier versions allowed fewer than a run had
            // already made.
            _ => algorithm.for_steps(if algorithm.counts_steps() { steps } else { steps.max(made) })?,
        };
        Ok(fitted.map_or(algorithm, Rc::from))
    }
}

/// Checks that a run can have this number of environment steps.
pub(in crate::train) fn check_steps(steps: u64) -> Result<()> {
    match steps {
        1..=MAX_STEPS => Ok(()),
        0 => Err(Error::config("steps", "0 environment steps train nothing; give at least 1")),
        _ => Err(Error::config("steps", format!("{steps} is more than {MAX_STEPS}"))),
    }
}
