//! Steps of targets: one after every so many updates.

use crate::algo::{Numbers, StateEntry};
use crate::learn::PolyakConfig;
use crate::{DType, Tensor};

/// The steps of a target towards what is learned.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TargetSteps {
    /// Updates from one step to the next.
    pub interval: usize,
    /// The size of a step.
    pub polyak: PolyakConfig,
}

impl TargetSteps {
    /// The name of the entry that counts updates since the last step.
    pub const SINCE: &str = "updates_since_target";

    /// The entry that counts updates since the last step, u32 `[1]`.
    pub fn entry(&self) -> StateEntry {
        let most = self.interval.saturating_sub(1) as u64;
        StateEntry::new(Self::SINCE, &[1], DType::U32).holding(Numbers::up_to(most))
    }

    /// The target, and the count of updates since its last step, u32 `[S, 1]`, after one more update.
    #[track_caller]
    pub fn after(&self, target: Tensor, since: Tensor, learned: Tensor) -> [Tensor; 2] {
        let one = Tensor::constant_u32(1);
        let due = (since + one).lt(Tensor::constant_u32(self.interval as u32)).not();
        let moved = if self.polyak.tau == 1.0 { learned } else { self.polyak.step(target, learned) };
        [due.select(moved, target), due.select(Tensor::constant_u32(0), since + one)]
    }
}
