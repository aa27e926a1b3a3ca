//! A worker's place in an executor, and the episodes of all of its environments.

use quickstudy_core::host::FaultKind;

use crate::failure::Failure;
use crate::worker::Worker;

/// A worker, and the numbers of its environments.
pub(crate) struct Member {
    /// None after an error, until the next reset.
    pub worker: Option<Worker>,
    /// The number of its first environment in the fleet.
    pub first: usize,
    pub count: usize,
    /// Failures since its last answer.
    pub failures: u32,
}

impl Member {
    /// The numbers of its environments, in messages.
    pub fn which(&self) -> String {
        match self.count {
            1 => format!("number {}", self.first),
            count => format!("numbers {} to {}", self.first, self.first + count - 1),
        }
    }
}

/// Where environments are in their episodes.
#[derive(Default)]
pub(crate) struct Episodes {
    /// The newest observations, `[M · E · O]`; empty before the first reset and after an error.
    pub seen: Vec<f64>,
    /// Steps of the running episodes.
    pub lengths: Vec<usize>,
    /// Failures of each environment since its last step.
    pub failures: Vec<u32>,
}

/// The failure of a worker that is not there.
pub(crate) fn ended() -> Failure {
    Failure::new(FaultKind::Died, "the process has ended")
}
