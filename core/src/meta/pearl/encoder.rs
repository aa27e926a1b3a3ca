//! The encoder of contexts, and the beliefs that follow from them.

use super::config::{EncoderKind, PearlConfig};
use crate::Tensor;
use crate::env::EnvSpec;
use crate::nn::{Gru, Layout, Mlp, RecurrentInit, Reset};
use crate::tensor::{Named, scan_tree};

/// A belief about the task: a normal distribution of z, with Z independent numbers.
#[derive(Clone, Copy, Debug)]
pub struct Belief {
    /// The mean μ, `[K, E, Z]`.
    pub mean: Tensor,
    /// The variance σ², `[K, E, Z]`; none for beliefs that are one point.
    pub variance: Option<Tensor>,
}

impl Belief {
    /// The product of normal densities, from the sum of their precisions 1/σ² and that of their means times their
    /// precisions; where nothing was summed, the standard normal density.
    #[track_caller]
    #[must_use]
    pub fn of_product(precision: Tensor, weighted: Tensor) -> Belief {
        let none = Tensor::constant_f32(0.0);
        let variance = none.lt(precision).select(precision, Tensor::constant_f32(1.0)).recip();
        Belief { mean: weighted * variance, variance: Some(variance) }
    }

    /// Draws z by standard normal numbers that broadcast to `[K, E, Z]`.
    #[track_caller]
    #[must_use]
    pub fn draw(&self, normal: Tensor) -> Tensor {
        match self.variance {
            Some(variance) => self.mean + variance.sqrt() * normal,
            None => self.mean.broadcast_to(&normal.shape()),
        }
    }

    /// The divergence from the standard normal distribution, KL(q ‖ N(0, I)) = ½ Σ (μ² + σ² − 1 − ln σ²), summed over
    /// tasks and dimensions: `[K, 1]`; 0 for points.
    #[track_caller]
    #[must_use]
    pub fn divergence(&self) -> Tensor {
        let of = |x: Tensor| x.sum_keep(2).sum_keep(1).reshape(&[self.mean.size(0), 1]) * 0.5;
        match self.variance {
            Some(variance) => of(self.mean.square() + variance - variance.log() - 1.0),
            None => of(self.mean * 0.0),
        }
    }
}

/// Reads contexts, which are transitions `(o, a, r)` or `(o, a, r, o')` of a task.
///
/// Rakelly et al. 2019, arXiv:1903.08254, section 4.1. It turns transitions into *evidence*, a few numbers that each
/// transition adds to, and evidence into a belief. So a belief can follow its context step by step.
#[derive(Clone, Debug)]
pub struct ContextEncoder {
    /// The network before the recurrent units, and these, if there are such.
    recurrent: Option<(Mlp, Gru)>,
    /// The network from a transition, or from the recurrent units, to the numbers of a belief.
    head: Mlp,
    config: PearlConfig,
    inputs: usize,
}

/// The least σ² of a transition's vote, as in garage.
const LEAST_VARIANCE: f64 = 1e-7;

impl ContextEncoder {
    /// Makes an encoder for an environment. Its slices are added to `layout` as `encoder.…`.
    #[must_use]
    pub fn new(layout: &mut Layout, config: &PearlConfig, spec: &EnvSpec) -> ContextEncoder {
        let inputs = ContextEncoder::inputs(config, spec);
        let outputs = if config.use_information_bottleneck { 2 } else { 1 } * config.latent_dim;
        let (hidden, activation) = (&config.encoder_hidden_sizes, config.net.activation);
        let gain = config.net.orthogonal_init.then_some(1.0);
        let (recurrent, head) = match (config.encoder, hidden.last()) {
            (EncoderKind::Gru, Some(units)) => {
                let features = Mlp::new(layout, "encoder", 0, &[&[inputs], &hidden[..]].concat(), activation, gain);
                let gru = Gru::new(layout, "encoder.gru", *units, *units, Reset::After, RecurrentInit::Orthogonal);
                let head = Mlp::new(layout, "encoder", hidden.len(), &[*units, outputs], activation, gain);
                (Some((features, gru)), head)
            }
            _ => {
                let sizes = [&[inputs], &hidden[..], &[outputs]].concat();
                (None, Mlp::new(layout, "encoder", 0, &sizes, activation, gain))
            }
        };
        ContextEncoder { recurrent, head, config: config.clone(), inputs }
    }

    /// I, the numbers of a transition: O + A + 1, or 2 O + A + 1 with the observation that the step led to.
    #[must_use]
    pub fn inputs(config: &PearlConfig, spec: &EnvSpec) -> usize {
        let seen = if config.use_next_obs_in_context { 2 } else { 1 };
        seen * spec.observation.len() + spec.action.dim() + 1
    }

    /// Transitions in the encoder's form, `[…, I]`, from observations, actions, rewards and next observations.
    #[track_caller]
    #[must_use]
    pub fn transitions(&self, [obs, action, reward, next_obs]: [Tensor; 4]) -> Tensor {
        let axis = obs.rank().saturating_sub(1);
        match self.config.use_next_obs_in_context {
            true => Tensor::concat(&[obs, action, reward, next_obs], axis),
            false => Tensor::concat(&[obs, action, reward], axis),
        }
    }

    /// Names and widths of the parts of evidence.
    #[must_use]
    pub fn evidence(&self) -> [(&'static str, usize); 2] {
        let latent = self.config.latent_dim;
        match (&self.recurrent, self.config.use_information_bottleneck) {
            (Some((_, gru)), _) => [("units", gru.hidden()), ("seen", 1)],
            (None, true) => [("precision", latent), ("weighted", latent)],
            (None, false) => [("sum", latent), ("seen", 1)],
        }
    }

    /// The evidence before any transition, `[K, E, ·]` each.
    #[must_use]
    pub fn nothing(&self, [k, e]: [usize; 2]) -> Named {
        self.evidence().into_iter().map(|(name, width)| (name, Tensor::zeros(&[k, e, width]))).collect()
    }

    /// The evidence of single transitions `[K, B, I]`, `[K, B, ·]` each, for encoders to which their order does not
    /// matter.
    #[track_caller]
    fn votes(&self, parts: &[Tensor], transitions: Tensor) -> Named {
        let out = self.head.forward(parts, transitions);
        let latent = self.config.latent_dim;
        if !self.config.use_information_bottleneck {
            return Named::from([("sum", out), ("seen", out.slice(2, 0, 1) * 0.0 + 1.0)]);
        }
        let precision = variance(out.slice(2, latent, 2 * latent)).recip();
        Named::from([("precision", precision), ("weighted", out.slice(2, 0, latent) * precision)])
    }

    /// The state of the recurrent units after one more transition of each row, `[K, B, ·]`.
    #[track_caller]
    fn read(&self, parts: &[Tensor], (features, gru): &(Mlp, Gru), transition: Tensor, units: Tensor) -> Tensor {
        let seen = self.config.net.activation.apply(features.forward(parts, transition));
        gru.step(parts, seen, units)
    }

    /// The evidence, `[K, N, ·]` each, after one more transition of each row, `[K, N, I]`.
    #[track_caller]
    #[must_use]
    pub fn after_step(&self, parts: &[Tensor], evidence: &Named, transition: Tensor) -> Named {
        match &self.recurrent {
            None => {
                let votes = self.votes(parts, transition);
                evidence.iter().map(|(name, old)| (name, old + votes.get(name))).collect()
            }
            Some(recurrent) => {
                let units = self.read(parts, recurrent, transition, evidence.get("units"));
                Named::from([("units", units), ("seen", evidence.get("seen") + 1.0)])
            }
        }
    }

    /// The evidence, `[K, E, ·]` each, after C more transitions of each of E tasks, `[K, E, C, I]`; only those where
    /// `valid`, u32 `[K, E, C, 1]`, is 1 count.
    #[track_caller]
    #[must_use]
    pub fn after(&self, parts: &[Tensor], evidence: &Named, transitions: Tensor, valid: Option<Tensor>) -> Named {
        let shape = transitions.shape();
        let [k, e, c, width] = shape[..] else { return evidence.clone() };
        let Some(recurrent) = &self.recurrent else {
            let votes = self.votes(parts, transitions.reshape(&[k, e * c, width]));
            let one = |(name, old): (&'static str, Tensor)| {
                let width = old.size(2);
                let votes = votes.get(name).reshape(&[k, e, c, width]);
                let counted = valid.map_or(votes, |valid| valid.select(votes, Tensor::constant_f32(0.0)));
                (name, old + counted.sum_keep(2).reshape(&[k, e, width]))
            };
            return evidence.iter().map(one).collect();
        };
        let by_step = |x: Tensor| x.permute(&[2, 0, 1, 3]);
        let xs = (by_step(transitions), valid.map(by_step));
        let first = [evidence.get("units"), evidence.get("seen")];
        let ([units, seen], _) = scan_tree(c, &first, &xs, |_, [units, seen]: [Tensor; 2], (x, valid)| {
            let next = [self.read(parts, recurrent, x, units), seen + 1.0];
            let kept = match valid {
                Some(valid) => [valid.select(next[0], units), valid.select(next[1], seen)],
                None => next,
            };
            (kept, ())
        });
        Named::from([("units", units), ("seen", seen)])
    }

    /// The belief that follows from evidence; the prior before any transition.
    #[track_caller]
    #[must_use]
    pub fn belief(&self, parts: &[Tensor], evidence: &Named) -> Belief {
        let (latent, bottleneck) = (self.config.latent_dim, self.config.use_information_bottleneck);
        let none = Tensor::constant_f32(0.0);
        let seen = evidence.find("seen");
        if self.recurrent.is_none() {
            return match seen {
                None => Belief::of_product(evidence.get("precision"), evidence.get("weighted")),
                Some(seen) => {
                    let mean = evidence.get("sum") / seen.max(Tensor::constant_f32(1.0));
                    Belief { mean, variance: None }
                }
            };
        }
        let out = self.head.forward(parts, evidence.get("units"));
        let seen = none.lt(seen.unwrap_or(Tensor::poison()));
        let mean = seen.select(out.slice(2, 0, latent), none);
        let spread = || seen.select(variance(out.slice(2, latent, 2 * latent)), Tensor::constant_f32(1.0));
        Belief { mean, variance: bottleneck.then(spread) }
    }

    /// I, the numbers of a transition.
    #[must_use]
    pub fn width(&self) -> usize {
        self.inputs
    }
}

/// σ² = softplus ρ, but at least the least variance.
fn variance(rho: Tensor) -> Tensor {
    rho.softplus().max(Tensor::constant_f32(LEAST_VARIANCE))
}
