//! Numbers of what a program was compiled to.

/// How many kernels of some kinds a compiled program has, those in its loops once each; none on devices that have no
/// such kernels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Census {
    /// Steps of optimisers and of averages that one kernel makes.
    pub optimiser_steps: usize,
    /// Sums of squares, such as the norm of all gradients, that the kernel makes that completes what it squares.
    pub gradient_norms: usize,
    /// Products of 16 outputs or more in tiles, computed row by row.
    pub row_layers: usize,
    /// Products of as many outputs that stay on lanes, the slower way: outputs that fill no registers, or results of
    /// which other work wants parts.
    pub lane_layers: usize,
    /// Loops that play environments in a tile: all that their steps share, such as turned weights, is made once.
    pub plays_in_tiles: usize,
    /// Loops that play environments step by step, each by kernels of its own.
    pub plays_by_steps: usize,
}

impl std::ops::AddAssign for Census {
    fn add_assign(&mut self, other: Census) {
        self.optimiser_steps += other.optimiser_steps;
        self.gradient_norms += other.gradient_norms;
        self.row_layers += other.row_layers;
        self.lane_layers += other.lane_layers;
        self.plays_in_tiles += other.plays_in_tiles;
        self.plays_by_steps += other.plays_by_steps;
    }
}
