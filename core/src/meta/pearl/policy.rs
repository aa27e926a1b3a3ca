//! The policy that acts by a belief.

use super::encoder::ContextEncoder;
use crate::Tensor;
use crate::dist::RowNoise;
use crate::env::{Dim, EnvSpec};
use crate::policy::{Act, Acting, Feedback, How, Outline, Policy, Squashed};
use crate::tensor::Named;

/// Acts by the observation and z, which is drawn from the belief at the beginning of each episode and kept to its end.
///
/// It is `ContextConditionedPolicy` of garage together with its `PEARLWorker`. Its acting values are the evidence for
/// its belief, `[K, 1, ·]` each; its parameters are its own and, behind these, the encoder's.
#[derive(Clone, Copy, Debug)]
pub struct ContextPolicy<'a> {
    /// The network from an observation beside z to an action.
    pub net: &'a Squashed,
    /// The encoder, which infers beliefs from transitions.
    pub encoder: &'a ContextEncoder,
    /// The number of slices that are the policy's own.
    pub slices: usize,
    /// Z, the numbers of z.
    pub latent: usize,
    /// The number of episodes after which the belief is inferred anew from all that was seen; none: the belief stays as
    /// it is.
    pub infers: Option<usize>,
}

/// The stream of a step's noise for draws of z.
const DRAW: u32 = 7;

/// An environment's spaces with z beside the observation, as the policy sees them; `augment_env_spec` of garage.
#[must_use]
pub fn augmented(spec: &EnvSpec, latent: usize) -> EnvSpec {
    let mut spec = spec.clone();
    spec.observation.extend((0..latent).map(|i| Dim::new(format!("z{i}"), -1.0, 1.0)));
    spec
}

impl ContextPolicy<'_> {
    fn evidence(&self, from: &Named, rows: [usize; 2]) -> Named {
        let wide = |(name, width)| (name, from.get(name).broadcast_to(&[rows[0], rows[1], width]));
        self.encoder.evidence().into_iter().map(wide).collect()
    }
}

impl Policy for ContextPolicy<'_> {
    fn begin(&self, acting: &Acting, rows: [usize; 2], before: Option<&Named>, noise: &RowNoise) -> Named {
        let encoder = &acting.parts[self.slices.min(acting.parts.len())..];
        let normal = noise.apart(DRAW).normal(self.latent).broadcast_to(&[rows[0], rows[1], self.latent]);
        let Some(every) = self.infers else {
            let belief = self.encoder.belief(encoder, &acting.values);
            return Named::from([("z", belief.draw(normal))]);
        };
        let evidence = self.evidence(before.unwrap_or(&acting.values), rows);
        // A belief is kept as the evidence for it.
        let (used, episodes) = match before {
            None => (evidence.clone(), Tensor::zeros(&[rows[0], rows[1], 1])),
            Some(before) => {
                let episodes = before.get("episodes") + 1.0;
                let due = episodes.lt(Tensor::constant_f32(every as f64)).not();
                let newer = |(name, new): (&'static str, Tensor)| (name, due.select(new, before.get(used(name))));
                (evidence.iter().map(newer).collect(), due.select(Tensor::constant_f32(0.0), episodes))
            }
        };
        let z = self.encoder.belief(encoder, &used).draw(normal);
        let mut memory = Named::from([("z", z), ("episodes", episodes)]);
        for name in ["obs", "action"] {
            let width = if name == "obs" { self.net.observations() - self.latent } else { self.net.actions() };
            memory = memory.and(name, Tensor::zeros(&[rows[0], rows[1], width]));
        }
        for (name, of) in evidence.iter() {
            memory = memory.and(name, of).and(self::used(name), used.get(name));
        }
        memory
    }

    /// Extras are the ones of [`Squashed`].
    fn act(
        &self,
        acting: &Acting,
        observation: Tensor,
        memory: &Named,
        lasting: Option<Tensor>,
        noise: &RowNoise,
        how: How,
    ) -> Act {
        let seen = Tensor::concat(&[observation, memory.get("z")], 2);
        let act = self.net.act(acting, seen, memory, lasting, noise, how);
        match self.infers {
            None => act,
            Some(_) => {
                let memory = memory.clone().and("obs", observation).and("action", act.action);
                Act { memory, ..act }
            }
        }
    }

    fn observe(&self, acting: &Acting, memory: &Named, outcome: &Feedback) -> Named {
        if self.infers.is_none() {
            return memory.clone();
        }
        let [obs, action] = ["obs", "action"].map(|name| memory.get(name));
        let transition = self.encoder.transitions(obs, action, outcome.reward, outcome.next_obs);
        let rows = [transition.size(0), transition.size(1)];
        let parts = &acting.parts[self.slices.min(acting.parts.len())..];
        let after = self.encoder.after_step(parts, &self.evidence(memory, rows), transition);
        after.iter().fold(memory.clone(), |memory, (name, of)| memory.and(name, of))
    }

    /// z is an input of it: beliefs are for the caller to infer.
    fn outline(&self) -> Option<Outline> {
        Some(self.net.outline()?.reading(&[("z", self.latent)]))
    }
}

/// The name of the part of memory that holds this part of the evidence for the belief in use.
fn used(name: &str) -> &'static str {
    match name {
        "units" => "used units",
        "seen" => "used seen",
        "precision" => "used precision",
        "weighted" => "used weighted",
        _ => "used sum",
    }
}
