//! A policy whose normal numbers are squashed into the action space: the actor of SAC.

use super::{Act, Acting, Bounds, How, NetConfig, Policy};
use crate::Tensor;
use crate::dist::{RowNoise, SquashedGaussian};
use crate::env::EnvSpec;
use crate::nn::{Layout, Mlp};
use crate::tensor::Named;
use crate::{Error, Result};

/// A network from observations to means and deviations of normal numbers, whose tanh is the action: −1 is the lowest number that the
/// environment takes, and 1 the highest.
///
/// Haarnoja et al. 2018, arXiv:1801.01290, appendix C; as garage's `TanhGaussianMLPPolicy`.
#[derive(Clone, Debug)]
pub struct Squashed {
    mlp: Mlp,
    bounds: Bounds,
    actions: usize,
}

impl Squashed {
    /// A network whose slices are added to `layout` as `policy.…`; its last layer gives A means, then A logarithms of deviations.
    ///
    /// # Errors
    /// [`Error::Config`] if the environment takes choices.
    pub fn new(layout: &mut Layout, spec: &EnvSpec, config: &NetConfig) -> Result<Squashed> {
        let bounds = vectors(spec)?;
        let sizes = [&[spec.observation.len()], &config.hidden[..], &[2 * spec.action.dim()]].concat();
        let gain = config.orthogonal_init.then_some(0.01);
        let mlp = Mlp::new(layout, "policy", 0, &sizes, config.activation, gain);
        Ok(Squashed { mlp, bounds, actions: spec.action.dim() })
    }

    /// A, how many numbers an action has.
    #[must_use]
    pub fn actions(&self) -> usize {
        self.actions
    }

    /// The policy at `obs: [K, N, O]`.
    #[track_caller]
    pub fn distribution(&self, parts: &[Tensor], obs: Tensor) -> SquashedGaussian {
        let out = self.mlp.forward(parts, obs);
        let actions = out.size(2) / 2;
        SquashedGaussian::new(out.slice(2, 0, actions), out.slice(2, actions, 2 * actions))
    }
}

/// The bounds of an environment whose actions are vectors.
pub(super) fn vectors(spec: &EnvSpec) -> Result<Bounds> {
    match Bounds::of(&spec.action) {
        Bounds::Choices(_) => {
            let problem = format!("`{}` takes choices, and this policy acts by vectors of numbers", spec.name);
            Err(Error::config("env", problem))
        }
        bounds => Ok(bounds),
    }
}

impl Policy for Squashed {
    /// `action` is in −1 to 1; extras are `pre_squash`, the number before tanh, and `log_prob`, that of `action`.
    fn act(
        &self,
        acting: &Acting,
        observation: Tensor,
        memory: &Named,
        _: Option<Tensor>,
        noise: &RowNoise,
        how: How,
    ) -> Act {
        let distribution = self.distribution(&acting.parts, observation);
        let drawn = distribution.sample(noise);
        let (action, log_prob) = match how {
            How::Explore => (drawn.tanh(), distribution.log_prob_before(drawn)),
            How::Exploit => (distribution.mode(), distribution.log_prob(distribution.mode())),
            How::Uniform => {
                let action = self.bounds.uniform(noise);
                (action, distribution.log_prob(action))
            }
            How::Recorded(action) => (action, distribution.log_prob(action)),
        };
        let extras = Named::from([
            ("seen", observation),
            ("pre_squash", drawn),
            ("log_prob", log_prob),
            ("broken", action.non_finite().to_f32().max_keep(2)),
        ]);
        Act { action, played: self.bounds.scale(action), memory: memory.clone(), extras }
    }
}
