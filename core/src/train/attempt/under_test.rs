//! Trained parameters as programs get them, and held-out tasks beside them.

use crate::env::EnvDef;
use crate::rng::Key;
use crate::{Array, Context, DType, Device, Program, Result, State, Tensor};

/// The arrays of policies, stacked over seeds: inputs of evaluation programs.
#[derive(Clone, Debug)]
pub(in crate::train) struct PolicyArrays {
    /// As [`Algorithm::policy_entries`] names them, with a leading axis of seeds.
    pub arrays: Vec<(&'static str, Array)>,
}

/// A policy and held-out tasks for it.
#[derive(Clone, Copy, Debug)]
pub(in crate::train) struct UnderTest<'a> {
    pub device: &'a Device,
    pub env: &'a EnvDef,
    pub policy: &'a PolicyArrays,
    /// Names episodes, and tasks where none are given.
    pub key: Key,
    /// Tasks `[M, D]`.
    pub given: Option<&'a Array>,
}

impl UnderTest<'_> {
    /// Runs a program on the policy, its key and the tasks.
    pub fn run(&self, program: &mut Program) -> Result<crate::program::Outputs> {
        let key = self.device.array_u32(&[1, 2], &self.key)?;
        let mut inputs = vec![("key", &key)];
        inputs.extend(self.policy.arrays.iter().map(|(name, array)| (*name, array)));
        inputs.extend(self.given.map(|tasks| ("given", tasks)));
        program.run(&State::new(), &inputs, &[])
    }

    /// The given tasks, if any, in a trace.
    pub fn declare(&self, cx: &mut Context) -> Option<Tensor> {
        self.given.map(|tasks| cx.input("given", &tasks.shape, DType::F32))
    }
}
