//! What running a program costs beside the device's work.

use std::time::Duration;

/// What the runs of a program have cost the host so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Dispatches handed to the device; none on the CPU, which has no such thing.
    pub dispatches: u64,
    /// Bytes that work has moved: on the CPU those that operations outside of fused work have copied, read or written one by
    /// one, on a GPU those that its dispatches write. It tells whether what changes a few rows of a large array costs a few rows.
    pub moved: u64,
    /// Time spent on recording and submitting them. Waiting for the device, and the work of a device that is a part of
    /// the processor, are not included; zero where there is no clock.
    pub host: Duration,
}

impl std::ops::Sub for Counters {
    type Output = Counters;

    /// What came on top of `before`.
    fn sub(self, before: Counters) -> Counters {
        Counters {
            dispatches: self.dispatches.saturating_sub(before.dispatches),
            moved: self.moved.saturating_sub(before.moved),
            host: self.host.saturating_sub(before.host),
        }
    }
}
