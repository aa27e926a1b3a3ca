//! Networks of trained policies, as numbers, for programs that are none of this crate's.

use super::evaluator::Evaluator;
use crate::credit::Moments;
use crate::policy::{Normalised, OBS_LIMIT, Outline};
use crate::{Error, Program, Result, State};

/// The networks by which a trained policy takes its most probable actions: their outline, and its numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct PolicyNetworks {
    /// The outline, whose slices are places in `slices`.
    pub outline: Outline,
    /// The slices of the parameters.
    pub slices: Vec<SliceNumbers>,
    /// What observations are standardised by, if they are.
    pub scale: Option<ObservationScale>,
}

/// A slice of parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct SliceNumbers {
    /// Its shape; weights are `[inputs, outputs]`.
    pub shape: Vec<usize>,
    /// Its numbers, row by row.
    pub numbers: Vec<f32>,
}

/// The scale of observations: networks read (x − mean) / deviation, limited to ±limit.
#[derive(Clone, Debug, PartialEq)]
pub struct ObservationScale {
    /// The mean of each number.
    pub mean: Vec<f32>,
    /// The deviation of each number.
    pub deviation: Vec<f32>,
    /// The limit.
    pub limit: f32,
}

impl Evaluator {
    /// The networks by which the policy, or the particle that was chosen, takes its most probable actions before it has
    /// seen anything of a task.
    ///
    /// # Errors
    /// [`Error::Config`] if it acts by no networks that it could name, as a policy of another crate may; or if the
    /// device fails.
    pub async fn networks(&self) -> Result<PolicyNetworks> {
        let Some(outline) = self.fitted().policy().outline() else {
            let problem = format!("a policy of {} names no networks that it acts by", self.algorithm());
            return Err(Error::config("policy", problem));
        };
        let (mut shapes, mut has_scale) = (Vec::new(), false);
        let mut program = Program::new(self.on(), |cx| {
            let held = self.fitted().declare_policy(cx, 1);
            let acting = self.fitted().start(&held, 1);
            for (at, part) in acting.parts.iter().enumerate() {
                cx.output(&name(at), *part);
            }
            shapes = acting.parts.iter().map(|part| part.shape()[1..].to_vec()).collect();
            let [mean, variance] = [Normalised::MEAN, Normalised::VARIANCE].map(|name| acting.values.find(name));
            if let (true, Some(mean), Some(variance)) = (outline.standardised, mean, variance) {
                has_scale = true;
                cx.output(Normalised::MEAN, mean);
                cx.output(Normalised::VARIANCE, variance);
            }
        })?;
        let inputs: Vec<_> = self.policy().arrays.iter().map(|(name, array)| (*name, array)).collect();
        let out = program.run(&State::new(), &inputs, &[])?;
        let mut slices = Vec::with_capacity(shapes.len());
        for (at, shape) in shapes.into_iter().enumerate() {
            slices.push(SliceNumbers { shape, numbers: self.on().read_f32(out.get(&name(at))?).await? });
        }
        let scale = match has_scale {
            false => None,
            true => {
                let mean = self.on().read_f32(out.get(Normalised::MEAN)?).await?;
                let variance = self.on().read_f32(out.get(Normalised::VARIANCE)?).await?;
                let deviation = variance.into_iter().map(Moments::deviation).collect();
                Some(ObservationScale { mean, deviation, limit: OBS_LIMIT as f32 })
            }
        };
        Ok(PolicyNetworks { outline, slices, scale })
    }
}

fn name(slice: usize) -> String {
    format!("slice {slice}")
}
