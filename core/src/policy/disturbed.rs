//! A deterministic policy that explores by noise on its actions: the actor of DDPG and TD3.

use super::squashed::vectors;
use super::{Act, Acting, ActionRule, Bounds, How, LayersConfig, Outline, Policy};
use crate::Result;
use crate::Tensor;
use crate::dist::RowNoise;
use crate::env::EnvSpec;
use crate::nn::{Layout, Mlp};
use crate::tensor::Named;

/// The kinds of noise on actions in −1 to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Noise {
    /// Gaussian noise, drawn anew at each step. Their deviation σ is the acting value `sigma`, `[]` or `[K, 1]`.
    Gaussian,
    /// A process that is drawn back to 0, where it begins each episode: x ← x − θ x dt + σ √dt z.
    ///
    /// Uhlenbeck and Ornstein 1930, doi:10.1103/PhysRev.36.823; σ is the acting value `sigma`.
    OrnsteinUhlenbeck {
        /// θ, the strength by which the process is drawn back.
        theta: f64,
        /// dt, the time of a step.
        dt: f64,
    },
}

impl Noise {
    /// The Ornstein–Uhlenbeck process with garage's defaults.
    pub const ORNSTEIN_UHLENBECK: Noise = Noise::OrnsteinUhlenbeck { theta: 0.15, dt: 1e-2 };
}

/// A network from observations to an action, squashed by tanh, which explores by noise.
///
/// Lillicrap et al. 2015, arXiv:1509.02971, algorithm 1; Fujimoto et al. 2018, arXiv:1802.09477.
#[derive(Clone, Debug)]
pub struct Disturbed {
    mlp: Mlp,
    bounds: Bounds,
    actions: usize,
    noise: Noise,
}

impl Disturbed {
    /// Makes a network whose slices are added to `layout` as `policy.…`; the first linear layer gets the number
    /// `first`.
    ///
    /// # Errors
    /// [`Error::Config`](crate::Error::Config) if the environment takes discrete actions.
    pub fn new(
        layout: &mut Layout,
        spec: &EnvSpec,
        config: &LayersConfig,
        first: usize,
        noise: Noise,
    ) -> Result<Disturbed> {
        let (bounds, actions) = (vectors(spec)?, spec.action.dim());
        let sizes = [&[spec.observation.len()], &config.hidden[..], &[actions]].concat();
        let gain = config.orthogonal_init.then_some(0.01);
        let mlp = Mlp::new(layout, "policy", first, &sizes, config.activation, gain);
        Ok(Disturbed { mlp, bounds, actions, noise })
    }

    /// Names and widths of the memory: the state of a noise process, if the noise is one.
    #[must_use]
    pub fn remembered(&self) -> Vec<(&'static str, usize)> {
        match self.noise {
            Noise::Gaussian => Vec::new(),
            Noise::OrnsteinUhlenbeck { .. } => vec![("disturbance", self.actions)],
        }
    }

    /// The action without noise at `obs: [K, N, O]`: `[K, N, A]` in −1 to 1.
    #[track_caller]
    pub fn action(&self, parts: &[Tensor], obs: Tensor) -> Tensor {
        self.mlp.forward(parts, obs).tanh()
    }
}

impl Policy for Disturbed {
    fn begin(&self, _: &Acting, [k, n]: [usize; 2], _: Option<&Named>, _: &RowNoise) -> Named {
        self.remembered().into_iter().map(|(name, width)| (name, Tensor::zeros(&[k, n, width]))).collect()
    }

    /// `action` of the result is in −1 to 1.
    fn act(
        &self,
        acting: &Acting,
        observation: Tensor,
        memory: &Named,
        _: Option<Tensor>,
        noise: &RowNoise,
        how: How,
    ) -> Act {
        let best = self.action(&acting.parts, observation);
        let mut memory = memory.clone();
        let action = match how {
            How::Explore => {
                let sigma = acting.values.get("sigma");
                let sigma = if sigma.shape().is_empty() { sigma } else { sigma.unsqueeze(2) };
                let z = noise.normal(self.actions);
                let disturbance = match self.noise {
                    Noise::Gaussian => z * sigma,
                    Noise::OrnsteinUhlenbeck { theta, dt } => {
                        let x = memory.get("disturbance");
                        let x = x - x * (theta * dt) + z * (sigma * dt.sqrt());
                        memory = memory.and("disturbance", x);
                        x
                    }
                };
                (best + disturbance).clamp(-1.0, 1.0)
            }
            How::Exploit => best,
            How::Uniform => self.bounds.uniform(noise),
            How::Recorded(action) => action,
        };
        let broken = action.non_finite().to_f32().max_keep(2);
        let extras = Named::from([("seen", observation), ("broken", broken)]);
        Act { action, played: self.bounds.scale(action), memory, extras }
    }

    fn outline(&self) -> Option<Outline> {
        Some(Outline::of(&self.mlp, ActionRule::Squashed { bounds: self.bounds.clone(), limit: None }))
    }
}
