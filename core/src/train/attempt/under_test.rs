//! Policies under test, as inputs of programs, with held-out tasks.

use crate::env::EnvDef;
use crate::rng::Key;
use crate::{Array, Context, DType, Device, Program, Result, State, Tensor};

/// The arrays of policies, stacked over seeds, which are inputs of evaluation programs.
#[derive(Clone, Debug)]
pub(in crate::train) struct PolicyArrays {
    /// The arrays with their names in [`Algorithm::policy_entries`], each with a leading axis of seeds.
    pub arrays: Vec<(&'static str, Array)>,
}

/// A policy and held-out tasks for it.
#[derive(Clone, Copy, Debug)]
pub(in crate::train) struct UnderTest<'a> {
    pub device: &'a Device,
    pub env: &'a EnvDef,
    pub policy: &'a PolicyArrays,
    /// The key that names episodes, and tasks if none are given.
    pub key: Key,
    /// The given tasks, `[M, D]`.
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

    /// Declares the given tasks, if any, as an input of a trace.
    pub fn declare(&self, cx: &mut Context) -> Option<Tensor> {
        self.given.map(|tasks| cx.input("given", &tasks.shape, DType::F32))
    }
}
