//! A policy whose observations are standardised.

use std::fmt::Debug;
use std::ops::Deref;

use super::{Act, Acting, Feedback, How, Outline, Policy};
use crate::Tensor;
use crate::credit::Moments;
use crate::dist::RowNoise;
use crate::tensor::Named;

/// The number of deviations that observations are limited to (as in Stable-Baselines3's `VecNormalize`).
pub const OBS_LIMIT: f64 = 10.0;

/// A policy whose observations are standardised by the statistics among its acting values, if there are such.
///
/// `P` points to the policy, as a reference or a box.
#[derive(Clone, Copy, Debug)]
pub struct Normalised<P>(pub P);

impl Normalised<()> {
    /// The name of the acting value with the means of observations, `[K, O]`.
    pub const MEAN: &'static str = "obs_mean";
    /// The name of the acting value with the variances of observations, `[K, O]`.
    pub const VARIANCE: &'static str = "obs_var";

    /// The acting values by which policies see observations standardised by these statistics.
    #[must_use]
    pub fn values(moments: &Moments) -> Named {
        [(Normalised::MEAN, moments.mean), (Normalised::VARIANCE, moments.var)].into()
    }

    /// Standardises observations `[K, N, O]` by these statistics.
    #[track_caller]
    #[must_use]
    pub fn standardised(moments: &Moments, observation: Tensor) -> Tensor {
        moments.standardise(observation, OBS_LIMIT)
    }

    /// Standardises observations `[K, N, O]` by the statistics among the acting values, if there are such.
    #[track_caller]
    pub fn seen(acting: &Acting, observation: Tensor) -> Tensor {
        match (acting.values.find(Normalised::MEAN), acting.values.find(Normalised::VARIANCE)) {
            (Some(mean), Some(var)) => {
                Normalised::standardised(&Moments { mean, var, count: Tensor::constant_f32(0.0) }, observation)
            }
            _ => observation,
        }
    }
}

impl<P: Deref<Target: Policy> + Debug> Policy for Normalised<P> {
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

    fn outline(&self) -> Option<Outline> {
        Some(Outline { standardised: true, ..self.0.outline()? })
    }
}
