//! A policy that squashes a Gaussian into the action space: the actor of SAC.

use super::{Act, Acting, ActionRule, Bounds, How, LayersConfig, Outline, Policy};
use crate::Tensor;
use crate::dist::{RowNoise, SquashedGaussian, StateDependent};
use crate::env::EnvSpec;
use crate::nn::{Init, Layout, Mlp, SliceId};
use crate::tensor::Named;
use crate::{Error, Result};

/// A network from observations to means and deviations of a Gaussian. The tanh of a draw is the action: −1 is the
/// lowest number that the environment takes, and 1 the highest.
///
/// Haarnoja et al. 2018, arXiv:1801.01290, appendix C; as garage's `TanhGaussianMLPPolicy`.
#[derive(Clone, Debug)]
pub struct Squashed {
    mlp: Mlp,
    bounds: Bounds,
    observations: usize,
    actions: usize,
    /// ln σ of a noise matrix on features, if the policy explores by such.
    log_std: Option<SliceId>,
}

/// The limit ± of means where deviations come from a noise matrix (as in
/// Stable-Baselines3): beyond it, tanh has nearly no slope.
const FURTHEST_MEAN: f64 = 2.0;

impl Squashed {
    /// Makes a network whose slices are added to `layout` as `policy.…`; the first linear layer gets the number
    /// `first`. Its last layer gives A means, then A logarithms of deviations.
    ///
    /// # Errors
    /// [`Error::Config`] if the environment takes discrete actions.
    pub fn new(layout: &mut Layout, spec: &EnvSpec, config: &LayersConfig, first: usize) -> Result<Squashed> {
        let bounds = vectors(spec)?;
        let sizes = [&[spec.observation.len()], &config.hidden[..], &[2 * spec.action.dim()]].concat();
        let gain = config.orthogonal_init.then_some(0.01);
        let mlp = Mlp::new(layout, "policy", first, &sizes, config.activation, gain);
        let (observations, actions) = (spec.observation.len(), spec.action.dim());
        Ok(Squashed { mlp, bounds, observations, actions, log_std: None })
    }

    /// Makes a network as [`new`](Squashed::new), but with deviations that come from a noise matrix on the last
    /// features. The parameter `policy.log_std` begins at `log_std_init`, and the noise lasts for several steps.
    ///
    /// Raffin et al. 2021, arXiv:2005.05719.
    ///
    /// # Errors
    /// As [`new`](Squashed::new).
    pub fn state_dependent(
        layout: &mut Layout,
        spec: &EnvSpec,
        (config, first): (&LayersConfig, usize),
        log_std_init: f64,
    ) -> Result<Squashed> {
        let (bounds, actions) = (vectors(spec)?, spec.action.dim());
        let sizes = [&[spec.observation.len()], &config.hidden[..], &[actions]].concat();
        let gain = config.orthogonal_init.then_some(0.01);
        let mlp = Mlp::new(layout, "policy", first, &sizes, config.activation, gain);
        let features = config.hidden.last().copied().unwrap_or(spec.observation.len());
        let log_std = layout.add("policy.log_std", &[features, actions], Init::Constant(log_std_init));
        Ok(Squashed { mlp, bounds, observations: spec.observation.len(), actions, log_std: Some(log_std) })
    }

    /// O, the numbers of an observation.
    #[must_use]
    pub fn observations(&self) -> usize {
        self.observations
    }

    /// A, the numbers of an action.
    #[must_use]
    pub fn actions(&self) -> usize {
        self.actions
    }

    /// The policy's distribution at `obs: [K, N, O]`.
    #[track_caller]
    pub fn distribution(&self, parts: &[Tensor], obs: Tensor) -> SquashedGaussian {
        self.distribution_and_features(parts, obs).0
    }

    fn distribution_and_features(&self, parts: &[Tensor], obs: Tensor) -> (SquashedGaussian, Tensor) {
        let (out, features) = self.mlp.forward_features(parts, obs);
        let distribution = match self.log_std {
            None => SquashedGaussian::new(out.slice(2, 0, self.actions), out.slice(2, self.actions, 2 * self.actions)),
            Some(slot) => StateDependent::new(parts[slot]).squashed(out.clamp(-FURTHEST_MEAN, FURTHEST_MEAN), features),
        };
        (distribution, features)
    }
}

/// The bounds of an environment whose actions are vectors; an error if they are choices.
pub(super) fn vectors(spec: &EnvSpec) -> Result<Bounds> {
    match Bounds::of(&spec.action) {
        Bounds::Choices(_) => {
            let (name, kind) = (&spec.name, spec.action.kind());
            let problem = format!("`{name}` takes {kind}, and this policy needs continuous ones");
            Err(Error::config("env", problem))
        }
        bounds => Ok(bounds),
    }
}

impl Policy for Squashed {
    /// `action` of the result is in −1 to 1. Extras are `pre_squash`, the number before tanh, and `log_prob` of
    /// `action`.
    fn act(
        &self,
        acting: &Acting,
        observation: Tensor,
        memory: &Named,
        lasting: Option<Tensor>,
        noise: &RowNoise,
        how: How,
    ) -> Act {
        let (distribution, features) = self.distribution_and_features(&acting.parts, observation);
        let drawn = match (self.log_std, lasting) {
            (Some(slot), Some(matrix)) => {
                distribution.middle() + StateDependent::new(acting.parts[slot]).disturb(features, matrix)
            }
            _ => distribution.sample(noise),
        };
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

    /// Draws a noise matrix per row, `[K, N, A · L]`, if exploration is state-dependent.
    fn lasting(&self, acting: &Acting, noise: &RowNoise) -> Option<Tensor> {
        self.log_std.map(|slot| StateDependent::new(acting.parts[slot]).draw(noise))
    }

    fn outline(&self) -> Option<Outline> {
        let limit = self.log_std.map(|_| FURTHEST_MEAN);
        Some(Outline::of(&self.mlp, ActionRule::Squashed { bounds: self.bounds.clone(), limit }))
    }
}
