//! Counters of the costs of running a program, beside the device's work.

use std::time::Duration;

/// The host's costs of a program's runs so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Dispatches handed to the device; none on the CPU, which has no such thing.
    pub dispatches: u64,
    /// Bytes that work has moved: on the CPU those that operations outside of fused work have copied,
    /// read or written one by one, on a GPU those that its dispatches write. They show whether changing a
    /// few rows of a large array costs a few rows.
    pub moved: u64,
    /// Time spent on recording and submitting them. Waiting for the device, and the work of a device that is a part of
    /// the processor, are not included; zero where there is no clock.
    pub host: Duration,
}

impl std::ops::Sub for Counters {
    type Output = Counters;

    /// The costs that were added since `before`.
    fn sub(self, before: Counters) -> Counters {
        Counters {
            dispatches: self.dispatches.saturating_sub(before.dispatches),
            moved: self.moved.saturating_sub(before.moved),
            host: self.host.saturating_sub(before.host),
        }
    }
}
