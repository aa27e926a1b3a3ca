//! Numbers of what a program was compiled to.

/// How many kernels for whole formulas a compiled program has, those in its loops once each; none on devices that have
/// no such kernels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Census {
    /// Steps of optimisers and of averages that one kernel makes.
    pub optimiser_steps: usize,
}

impl std::ops::AddAssign for Census {
    fn add_assign(&mut self, other: Census) {
        self.optimiser_steps += other.optimiser_steps;
    }
}
