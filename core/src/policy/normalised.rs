//! A policy that sees observations standardised.

use super::{Act, Acting, Feedback, How, Policy};
use crate::Tensor;
use crate::credit::Moments;
use crate::dist::RowNoise;
use crate::tensor::Named;

/// Observations are limited to this many deviations (as Stable-Baselines3's `VecNormalize`).
pub const OBS_LIMIT: f64 = 10.0;

/// A policy behind the statistics of observations that it acts by, where it has such: `obs_mean` and `obs_var`, `[K, O]`.
#[derive(Clone, Copy, Debug)]
pub struct Normalised<'a>(pub &'a dyn Policy);

impl Normalised<'_> {
    /// Observations `[K, N, O]` as the policy sees them.
    #[track_caller]
    pub fn seen(acting: &Acting, observation: Tensor) -> Tensor {
        match (acting.values.find("obs_mean"), acting.values.find("obs_var")) {
            (Some(mean), Some(var)) => {
                Moments { mean, var, count: Tensor::constant_f32(0.0) }.standardise(observation, OBS_LIMIT)
            }
            _ => observation,
        }
    }
}

impl Policy for Normalised<'_> {
    fn begin(&self, acting: &Acting, rows: [usize; 2], before: Option<&Named>, noise: &RowNoise) -> Named {
        self.0.begin(acting, rows, before, noise)
    }

    fn act(
        &self,
        acting: &Acting,
        observation: Tensor,
        memory: &Named,
        lasting: Option<Tensor>,
        noise: &RowNoise,
        how: How,
    ) -> Act {
        self.0.act(acting, Normalised::seen(acting, observation), memory, lasting, noise, how)
    }

    fn observe(&self, acting: &Acting, memory: &Named, outcome: &Feedback) -> Named {
        self.0.observe(acting, memory, outcome)
    }

    fn lasting(&self, acting: &Acting, noise: &RowNoise) -> Option<Tensor> {
        self.0.lasting(acting, noise)
    }
}
