//! Native twins of sub-graphs.

use std::fmt::Debug;

/// A native implementation of a `call` node's sub-graph for blocks of rows, chosen by instruction set.
///
/// It must agree with the sub-graph bit for bit on the CPU; a test requires it.
pub trait NativeCall: Debug + Send + Sync {
    /// Compute `lanes` rows. Each operand and each result of trailing size M is a lane-major block `[M][lanes]`; u32
    /// values are bit-cast. `lanes` is a multiple of 16. `isa` is an instruction set that the processor has.
    fn run(
        &self,
        isa: crate::backend::cpu::simd::isa::Isa,
        lanes: usize,
        inputs: &[&[f32]],
        outputs: &mut [&mut [f32]],
    );
}
