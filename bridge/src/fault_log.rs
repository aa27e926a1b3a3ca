//! Counts faults of workers and environments, and fails once they are too many.

use std::rc::Rc;

use quickstudy_core::host::{Faults, Tolerance};
use quickstudy_core::{Error, Result};

use crate::failure::Failure;
use crate::pool::Pool;

/// Faults that are shown one by one; of later ones, each whose number is a power of two.
const SHOWN: u64 = 8;
/// From this many faults on, their share among all steps may not be above one in [`RARE`].
const MANY: u64 = 100;
/// Steps for each fault, where there are many.
const RARE: u64 = 20;

/// The faults of an executor. They are shown as they occur.
pub(crate) struct FaultLog {
    pool: Rc<Pool>,
    faults: Faults,
    /// Steps of all environments.
    steps: u64,
    /// Failures that are tolerated with no step in between.
    in_a_row: u32,
}

impl FaultLog {
    pub fn new(pool: &Rc<Pool>) -> FaultLog {
        let in_a_row = Tolerance::default().in_a_row;
        FaultLog { pool: Rc::clone(pool), faults: Faults::default(), steps: 0, in_a_row }
    }

    pub fn faults(&self) -> &Faults {
        &self.faults
    }

    /// Counts steps that were made.
    pub fn add_steps(&mut self, count: usize) {
        self.steps += count as u64;
    }

    /// Counts a fault of `which` environments, the one of this number with no step in between, and shows it. The one
    /// too many is an error.
    pub fn note(&mut self, in_a_row: u32, which: &str, failure: &Failure) -> Result<()> {
        let Failure { kind, problem, .. } = failure;
        let name = &self.pool.recipe().name;
        let error = |problem: String| Error::Environment { name: name.clone(), problem };
        self.faults.count(*kind, error(format!("{which}: {problem}")));
        let (total, steps) = (self.faults.total(), self.steps);
        if in_a_row > self.in_a_row {
            let problem = format!("{which} failed {in_a_row} times with no step in between, the last time: {problem}");
            return Err(error(problem));
        }
        if total > MANY && total * RARE > steps {
            let problem = format!("{total} failures in {steps} steps are too many; the last one, {which}: {problem}");
            return Err(error(problem));
        }
        if total <= SHOWN || total.is_power_of_two() {
            let line = problem.lines().next().unwrap_or_default();
            let count = if total == 1 { String::new() } else { format!(" ({total} faults so far)") };
            self.pool.say(&format!("{which}: {line}; replaced, and its episode counts as cut off{count}"));
        }
        Ok(())
    }

    /// Says how many faults there were, where not each was shown.
    pub fn end(&self) {
        if self.faults.total() > SHOWN {
            self.pool.say(&format!("{} faults in all", self.faults.total()));
        }
    }
}
