//! What meta-learners on environments of the host have in common.

use crate::host::{Chance, Fleet};
use crate::rng::{Key, fold_in, streams};
use crate::task::TaskSource;
use crate::{Error, Result};

/// What names the tasks of an iteration, `count` for each seed's key.
pub fn chances(source: TaskSource, keys: &[Key], iteration: u32, count: usize) -> Vec<Chance> {
    let pick = |key: &Key| source.pick(fold_in(*key, streams::TASK), iteration, count);
    keys.iter().flat_map(pick).map(|(key, element)| Chance { key, element }).collect()
}

/// An executor of `[tasks, environments each, steps]`.
///
/// # Errors
/// [`Error::Config`] if it has others.
pub fn expect_fleet(fleet: &Fleet, seeds: usize, want: [usize; 3]) -> Result<()> {
    let got = [fleet.tasks, fleet.envs_per_task, fleet.horizon];
    if got == want {
        return Ok(());
    }
    let ([tasks, each, steps], [t, e, h]) = (got, want);
    let problem = format!(
        "the executor plays {tasks} tasks on {each} environments each for at most {steps} steps; {seeds} seeds with these \
         settings need {t}, {e} and {h}"
    );
    Err(Error::config("executor", problem))
}
