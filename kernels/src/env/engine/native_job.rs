//! Jobs of environments as native twins of sub-graphs.

use std::fmt;
use std::sync::Arc;

use super::erased::Erased;
use super::job::{Block, Job};
use crate::backend::cpu::simd::isa::Isa;
use crate::env::EnvSpec;
use crate::program::NativeCall;

/// A job of an environment as the native twin of a sub-graph.
pub(in crate::env) struct NativeJob {
    pub env: Arc<dyn Erased>,
    pub spec: Arc<EnvSpec>,
    pub state_len: usize,
    pub job: Job<'static>,
}

impl NativeCall for NativeJob {
    fn run(&self, isa: Isa, lanes: usize, inputs: &[&[f32]], outputs: &mut [&mut [f32]]) {
        Block::with(&self.spec, self.job, [lanes, self.state_len], inputs, outputs, |block| self.env.run(isa, block));
    }
}

impl fmt::Debug for NativeJob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} of {}", self.job, self.spec.name)
    }
}
